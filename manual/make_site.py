#!/usr/bin/env python3
"""The manual as a site, from the repository's pages where they are and from a reference that the program gives.

    manual/make_site.py [--out build/manual]      pages in OUT/pages, the site in OUT/site

Needs mkdocs and mkdocs-material; `./dev manual` installs them. A broken link or anchor ends it with exit code 1."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r'(?<!!)\[([^\]]*)\]\(([^)\s]+)\)')
PICTURE = re.compile(r'!\[[^\]]*\]\((\S+\.png)\)')
SEPARATOR = r'[\s\-,;:!=|/`"\[\](){}]+|\.(?!\d)|&[lg]t;'  # of words that the search finds
LOOK = ROOT / 'manual/site'  # what the site has beside its pages
FIRST = {'Home': 'README.md', 'Tutorial': 'manual/tutorial.md', 'How to': 'manual/how-to.md'}
EXPLANATION = ['manual/explanation.md', 'models/bounds/README.md', 'manual/related-work.md', 'manual/glossary.md']
METRICS = 'experiments/metrics/README.md'  # in place of reference/metrics.md, which would repeat it
DEFINITIONS = ['experiments/README.md', 'models/policy/README.md', 'sim/README.md', 'sim/blocks/README.md', 'sim/channels/README.md',
               'sim/memory/README.md', 'sim/recorded/README.md', 'models/recording/README.md', 'analysis/README.md']
EXPERIMENTS = ['experiments/papers.md']  # and then all others
HARDWARE = ['hw/README.md', 'hw/cuda/README.md', 'hw/record/README.md', 'workloads/profile/README.md', 'hw/live/README.md',
            'hw/transform/README.md', 'hw/live/memory/README.md', 'hw/live/checkpoint/README.md', 'hw/live/gpus/README.md',
            'hw/intercept/README.md']  # and then all others
PROJECT = ['CONTRIBUTING.md', 'CHANGELOG.md', 'packaging/README.md', 'tests/README.md', 'tests/standin/README.md',
           'tests/corpus/README.md']


def tracked():
    """The repository's pages and the pictures that they may show."""
    done = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard', '*.md', '*.png'], cwd=ROOT, capture_output=True,
                          text=True, check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def with_links(page, text, names):
    """The page's text with links to pages only: one to a folder goes to its page, one to another file becomes its name. A
    picture is a link to itself, where it is as large as it was drawn."""
    def target(match):
        words, goal = match.groups()
        path, _, anchor = goal.partition('#')
        if re.match(r'\w+:', goal) or not path:
            return match[0]
        resolved = (ROOT / page).parent.joinpath(path).resolve()
        name = str(resolved.relative_to(ROOT))
        if name in names:
            return match[0]
        if f'{name}/README.md' in names:
            return f'[{words}]({path.rstrip("/")}/README.md{"#" + anchor if anchor else ""})'
        if '`' in words:
            return words
        return f'`{words}`' if re.search('[./]', words) else f'{words} (`{name}`)'
    return PICTURE.sub(r'[\g<0>](\1)', LINK.sub(target, text))


def title(folder, name):
    first = next(line for line in (folder / name).read_text(encoding='utf-8').splitlines() if line.startswith('# '))
    return first[2:].replace('`', '')


def navigation(pages, names, made):
    """What stands beside every page: every page is in it once."""
    def entries(chosen):
        return [{title(pages, name): name} for name in chosen]
    said = [*FIRST.values(), METRICS, *EXPLANATION, *DEFINITIONS, *EXPERIMENTS, *HARDWARE, *PROJECT]
    rest = sorted(name for name in names if name.endswith('.md') and name not in said)
    groups = {'Experiments': EXPERIMENTS + [name for name in rest if name.startswith('experiments/')],
              'Hardware and recordings': HARDWARE + [name for name in rest if not name.startswith('experiments/')]}
    return [{key: name} for key, name in FIRST.items()] + [
        {'Reference': entries(made) + entries([METRICS]) + [{'Definitions': entries(DEFINITIONS)}]},
        {'Explanation': entries(EXPLANATION)}, *({group: entries(chosen)} for group, chosen in groups.items()),
        {'Project': entries(PROJECT)}]


def assemble(out):
    """Writes OUT/pages and OUT/mkdocs.yml."""
    import yaml
    pages = out / 'pages'
    shutil.rmtree(pages, ignore_errors=True)
    names = set(tracked())
    for name in names:
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith('.md'):
            (pages / name).write_text(with_links(name, (ROOT / name).read_text(encoding='utf-8'), names), encoding='utf-8')
        else:
            shutil.copyfile(ROOT / name, pages / name)
    for name in ('site.css', 'iframe-worker.js'):
        shutil.copyfile(LOOK / name, pages / name)
    made = reference.write(pages / 'reference')
    configuration = {
        'site_name': 'Gangway', 'docs_dir': 'pages', 'site_dir': 'site', 'use_directory_urls': False,
        'theme': {'name': 'material', 'font': False,
                  'features': ['navigation.tabs', 'navigation.tabs.sticky', 'navigation.top', 'content.code.copy', 'toc.follow'],
                  'palette': [{'media': '(prefers-color-scheme: light)', 'scheme': 'default', 'primary': 'blue grey',
                               'toggle': {'icon': 'material/weather-night', 'name': 'Dark'}},
                              {'media': '(prefers-color-scheme: dark)', 'scheme': 'slate', 'primary': 'blue grey',
                               'toggle': {'icon': 'material/weather-sunny', 'name': 'Light'}}]},
        'plugins': [{'search': {'separator': SEPARATOR}}, 'offline'], 'extra_css': ['site.css'], 'hooks': [str(LOOK / 'hooks.py')],
        'extra': {'polyfills': ['iframe-worker.js']},  # else the plugin `offline` takes one from the net
        'markdown_extensions': ['tables', 'sane_lists', 'attr_list', 'pymdownx.highlight', 'pymdownx.superfences',
                                {'toc': {'permalink': True, 'toc_depth': 3}}],
        'validation': {'links': {'not_found': 'warn', 'anchors': 'warn', 'absolute_links': 'warn', 'unrecognized_links': 'warn'},
                       'nav': {'omitted_files': 'warn'}},
        'nav': navigation(pages, names, [f'reference/{name}' for name in made]),
    }
    (out / 'mkdocs.yml').write_text(yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True), encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, default=ROOT / 'build/manual')
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    assemble(out)
    done = subprocess.run([sys.executable, '-m', 'mkdocs', 'build', '--strict', '--config-file', out / 'mkdocs.yml'], capture_output=True,
                          text=True, env=dict(os.environ, NO_MKDOCS_2_WARNING='1'))
    if done.returncode:
        print(done.stderr, end='', file=sys.stderr)
        return 1
    print(out / 'site/index.html')
    return 0


if __name__ == '__main__':
    sys.exit(main())
