"""Every command that the manual shows is run; every command that any page shows has options and files that there are."""

import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

import pages

GANGWAY = Path(os.environ.get('GANGWAY', 'build/release/gangway')).resolve()

# What is played with less, so that the tests are soon done; all of it with GANGWAY_LONG=1.
LESS = {} if os.environ.get('GANGWAY_LONG') else {
    'frs/fig4': '--set replications=2 --set permutations=10',
    'colocation/load': "--set policies='[passthrough, piv]'"}


def lay_out(folder):
    """What a reader has: the repository, a program in build/release, and results that stay out of the checkout."""
    for path in pages.ROOT.iterdir():
        if path.name not in ('build', 'out') and not path.name.startswith('.'):
            (folder / path.name).symlink_to(path)
    (folder / 'build/release').mkdir(parents=True)
    program = folder / 'build/release/gangway'
    program.write_text('#!/bin/sh\ncase "$1 $2" in\n' + ''.join(
        f'"run {name}") exec {GANGWAY} "$@" {options} ;;\n' for name, options in LESS.items()) + f'esac\nexec {GANGWAY} "$@"\n')
    program.chmod(0o755)


class Run(unittest.TestCase):
    def play(self, page):
        """Runs the page's blocks, one after the other, in one shell and folder."""
        blocks = pages.shell_blocks(pages.read(page))
        played = [block for need, block in blocks if not need]
        self.assertTrue(played, page)
        with tempfile.TemporaryDirectory() as folder:
            lay_out(Path(folder))
            path = f'{folder}/build/release:{os.environ["PATH"]}'
            done = subprocess.run(['bash', '-euo', 'pipefail', '-c', '\n'.join(played)], cwd=folder, capture_output=True, text=True,
                                  env=dict(os.environ, PATH=path, GANGWAY_DATA=str(pages.ROOT)), timeout=600)
        self.assertEqual(done.returncode, 0, f'{page}: {done.stderr[-2000:]}')
        skipped = [need for need, _ in blocks if need]
        if skipped:
            print(f'{page}: {len(played)} blocks run, {len(skipped)} skipped ({", ".join(sorted(set(skipped)))})')

    def test_readme(self):
        self.play('README.md')

    def test_tutorial(self):
        self.play('manual/tutorial.md')

    def test_how_to(self):
        self.play('manual/how-to.md')

    def test_a_command_that_fails_is_found(self):
        self.assertEqual(pages.shell_blocks('<!-- needs a GPU -->\n```sh\na\n```\n```sh\nfalse\n```\n'), [('needs a GPU', 'a\n'), ('', 'false\n')])


def shown(line):
    """The words of a call of gangway in a line of code, without the program's own; None where there is none."""
    line = re.sub(r'^(\$ |\(|for .*; do )', '', line.strip())
    line = re.split(r'(?:\s#\s)|\s&&|\s\||;|\s>', line + ' ')[0].rstrip(' &')
    found = re.match(r'(?:mine=\S+ )?(?:build/release/)?gangway (.+)', line)
    if not found or '[' in found[1].split("'")[0] or '...' in found[1]:  # a synopsis
        return None
    return shlex.split(found[1])


class Shown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        help_text = subprocess.run([GANGWAY, '--help'], capture_output=True, text=True, check=True).stdout
        def offered(name):
            told = subprocess.run([GANGWAY, name, '--help'], capture_output=True, text=True).stdout
            return set(re.findall(r'(?<![\w-])(--[\w-]+|-\w)\b', told))
        cls.options = {name: offered(name)
                       for name in re.findall(r'^  ([a-z-]+) {2,}', help_text.split('Subcommands:')[1], re.MULTILINE)}

    def faults(self, words):
        """What is wrong with a call."""
        if words[0] not in self.options:
            return [] if words[0].startswith('-') else [f'no command {words[0]}']
        own = words[1:words.index('--')] if '--' in words else words[1:]
        wrong = [word for word in own if re.match(r'--?[a-z]', word) and word.split('=')[0] not in self.options[words[0]]]
        missing = [word for word in own if re.match(r'experiments/[\w/.-]+\.yaml$', word) and not (pages.ROOT / word).is_file()]
        return [f'no option {word}' for word in wrong] + [f'no file {word}' for word in missing]

    def test_commands_options_and_files_are_there(self):
        calls = 0
        for name in pages.names():
            for line in pages.code_lines(pages.read(name)):
                words = shown(line)
                if words:
                    calls += 1
                    self.assertEqual(self.faults(words), [], f'{name}: {line}')
        self.assertGreater(calls, 100)

    def test_faults_are_found(self):
        self.assertEqual(self.faults(['run', 'experiments/frs/fig44.yaml', '--wrold', 'sim']),
                         ['no option --wrold', 'no file experiments/frs/fig44.yaml'])
        self.assertEqual(self.faults(['runn']), ['no command runn'])


if __name__ == '__main__':
    unittest.main()
