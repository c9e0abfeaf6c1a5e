"""Reference pages that the program and the Python package give: what `gangway list` lists, every command's help, every
public name of the package. Nothing here is written by hand, so nothing here can be out of date."""

import ast
import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'analysis/gangway'


def _gangway(*arguments):
    program = os.environ.get('GANGWAY', ROOT / 'build/release/gangway')
    return subprocess.run([Path(program).resolve(), *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def kinds():
    """What `gangway list` knows."""
    return re.search(r'\{([a-z,]+)\}', _gangway('list', '--help'))[1].split(',')


def commands():
    """{name: what it does}, in the program's order."""
    listed = _gangway('--help').split('Subcommands:\n')[1]
    return dict(re.findall(r'^  (\S+) +(.+)$', listed, re.MULTILINE))


def _cell(value):
    return str(value).replace('|', '\\|').replace('\n', ' ')


def _plain(text):
    """Text in which a star, as in the bound M*, is no emphasis."""
    return re.sub(r'`[^`]*`|\*', lambda found: '\\*' if found[0] == '*' else found[0], text)


def _docstring(node):
    """A docstring; a paragraph with a class in it is code."""
    paragraphs = (ast.get_docstring(node) or '').split('\n\n')
    return '\n\n'.join(f'```python\n{each}\n```' if re.match(r'class \w+\(.*:', each) else each for each in paragraphs)


def _about(path):
    """A file of the repository: where it is, its title and its source."""
    if not path:
        return ''
    import yaml
    content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    said = ' '.join(str(content[key]) for key in ('title', 'source') if content.get(key))
    return f'`{Path(path).resolve().relative_to(ROOT)}`{": " if said else ""}{said}'


def kind_page(kind):
    """One kind of `gangway list`: a heading for each name, and its parameters."""
    lines = [f'# {kind.capitalize()}', '', f'From `gangway list {kind}`.', '']
    for each in json.loads(_gangway('list', kind, '--json')):
        lines += [f'## `{each["name"]}`', '', _plain(each.get('summary') or _about(each.get('path'))), '']
        if each.get('parameters'):
            lines += ['| parameter | default | range | meaning |', '|---|---|---|---|']
            lines += [f'| `{_cell(p["name"])}` | {_cell(p.get("default", ""))} | {_cell(p.get("range", ""))} | {_cell(p.get("summary", ""))} |'
                      for p in each['parameters']] + ['']
    return '\n'.join(lines)


def commands_page():
    lines = ['# Commands', '']
    for name in commands():
        lines += [f'## `gangway {name}`', '', '```', _gangway(name, '--help').strip(), '```', '']
    return '\n'.join(lines)


def _definitions():
    """{name: node} of the functions and classes in the package's own modules."""
    found = {}
    for path in sorted(PACKAGE.glob('*.py')):
        for node in ast.parse(path.read_text(encoding='utf-8')).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.setdefault(node.name, node)
    return found


def _signature(node, method=False):
    arguments = ast.unparse(node.args)
    return f'{node.name}({re.sub("^(self|cls)(, )?", "", arguments) if method else arguments})'


def figures_page():
    """Every figure of `gangway.figures`, with its docstring."""
    lines = ['# Figures', '', 'From the docstrings of `gangway.figures`.', '', '| function | shows |', '|---|---|']
    for node in ast.parse((PACKAGE / 'figures.py').read_text(encoding='utf-8')).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith('_'):
            lines.append(f'| `{node.name}` | {_cell(ast.get_docstring(node) or "")} |')
    return '\n'.join(lines)


def python_page():
    """Every name of `gangway.__all__`, with its docstring."""
    tree = ast.parse((PACKAGE / '__init__.py').read_text(encoding='utf-8'))
    assigned = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    public = []
    for element in assigned['__all__'].elts:
        if isinstance(element, ast.Starred):
            public += ast.literal_eval(assigned[element.value.id])
        else:
            public.append(element.value)
    known, lines = _definitions(), ['# Python package', '', 'From the docstrings of `import gangway`.', '']
    for name in public:
        node = known.get(name)
        lines += [f'## `{name}`' if node is None or isinstance(node, ast.ClassDef) else f'## `{_signature(node)}`', '']
        if node is None:
            continue
        lines += [_docstring(node), '']
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and (method.name == '__init__' or not method.name.startswith('_')):
                    lines += [f'**`{_signature(method, True)}`**', '', _docstring(method), '']
    return '\n'.join(lines)


def write(folder):
    """Writes every page into the folder; the names of the files, in the order in which they should be listed."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {'commands.md': commands_page(),
             **{f'{kind}.md': kind_page(kind) for kind in kinds() if kind != 'metrics'},  # experiments/metrics has more of them
             'figures.md': figures_page(), 'python.md': python_page()}
    for name, text in pages.items():
        (folder / name).write_text(text + '\n', encoding='utf-8')
    return list(pages)
