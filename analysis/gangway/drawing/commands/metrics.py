"""The reference of all metrics, made from the table of `gangway list metrics --json`: experiments/metrics/README.md."""
import json
from pathlib import Path

from gangway import metrics
from gangway.drawing import command, results

_HEAD = """# Metrics

What result folders measure, column by column; `gangway list metrics` prints the same. A column `NAME_ci95` is the half-width of the 95 % Student-t
interval over replications. An empty cell has no value. This page is made by `./dev metrics` from the table in this folder.
"""
_OF = {'point': 'of all clients of a point under a policy; `replications.csv` has them of each replication',
       'client': 'of one client', 'service': 'of one client as a service; `service_replications.csv` has them of each replication',
       'job': 'of one job'}
_USES = (('ranked', 'ranks policies'), ('compared', 'compared'), ('tested', 'tested'))


def page(entries):
    """The whole page; entries: as `gangway list metrics --json` has them."""
    every = [metrics.Metric(**entry) for entry in entries]
    lines = [_HEAD]
    for level in metrics.LEVELS:
        mine = [metric for metric in every if metric.level == level]
        lines += [f'## `{mine[0].file}`: {_OF[level]}', '', '| column | unit | better | what it is | use |', '|---|---|---|---|---|']
        lines += [f'| `{metric.name}`{", `_ci95`" if metric.interval else ""} | {metric.unit} '
                  f'| {metric.better if metric.better != "neither" else ""} | {_cell(metric.summary)} '
                  f'| {", ".join(word for use, word in _USES if getattr(metric, use))} |' for metric in mine]
        lines.append('')
    return '\n'.join(lines)


def _cell(text):
    return text.replace('|', '\\|')


def _main(arguments):
    table = Path(arguments.table).read_text(encoding='utf-8')
    file, made = Path(arguments.page), page(json.loads(table))
    if arguments.write:
        file.write_text(made, encoding='utf-8')
    for kept, expected in ((metrics.FILE, table), (file, made)):
        if not kept.is_file() or expected != kept.read_text(encoding='utf-8'):
            raise results.InputError(kept, 'another table than the program has', './dev metrics, which makes it')


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser_of_nothing(__doc__.splitlines()[0])
    parser.add_argument('table', metavar='JSON', help='what gangway list metrics --json prints')
    parser.add_argument('--page', metavar='FILE', required=True, help='hold this page and the package\'s own table against it')
    parser.add_argument('--write', action='store_true', help='replace the page first')
    return command.run(_main, parser.parse_args(arguments))
