"""The repository's pages, and what stands in them."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ['README.md', 'manual/tutorial.md', 'manual/how-to.md']  # whose commands are run


def names():
    """Every page, as a path seen from the repository; in a copy without git, all that lie there."""
    done = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '*.md'], cwd=ROOT, capture_output=True, text=True)
    found = done.stdout.split() if done.returncode == 0 else [
        str(path.relative_to(ROOT)) for path in ROOT.rglob('*.md') if path.relative_to(ROOT).parts[0] not in ('build', 'out')]
    return sorted(name for name in found if (ROOT / name).is_file())


def read(name):
    return (ROOT / name).read_text(encoding='utf-8')


def shell_blocks(text):
    """(what it needs, commands) of each block of commands; what it needs is empty where it can be run here."""
    return [(need or '', block) for need, block in re.findall(r'(?:<!-- (needs [\w ]+|takes minutes) -->\n)?```sh\n(.*?)```', text, re.DOTALL)]


def without_code(text):
    """The text with fenced and indented code blanked, line by line."""
    lines, fenced = [], False
    for line in text.split('\n'):
        fence = line.startswith('```')
        lines.append('' if fenced or fence or line.startswith('    ') else line)
        fenced ^= fence
    return '\n'.join(lines)


def code_lines(text):
    """Lines of fenced shell blocks and of indented code, and calls of gangway in the text."""
    yield from re.findall(r'`((?:build/release/)?gangway [^`]+)`', text)
    for _, block in shell_blocks(text):
        yield from block.splitlines()
    text = re.sub(r'```.*?```', '', text, flags=re.DOTALL)
    yield from (line.strip() for line in text.splitlines() if line.startswith('    '))
