"""Ranks policies over result folders, one for each workload: a table for each metric, and fairness against throughput.

Writes rankings.md, rankings.csv and the figure `fairness` and prints the mean ranks.
"""
import csv
import io
from pathlib import Path

from gangway.drawing import command

command.need_matplotlib()

from gangway.drawing import fairness, ranking, results, style
from gangway.whole_file import write_whole

_TITLE = 'Fairness against throughput of every policy'


def write(workloads, out):
    """Yields the paths of the files."""
    made = ranking.tables(workloads)
    lines = io.StringIO()
    csv.writer(lines, lineterminator='\n').writerows(ranking.csv_rows(made))
    out.mkdir(parents=True, exist_ok=True)
    for name, text in (('rankings.md', ranking.markdown(made)), ('rankings.csv', lines.getvalue())):
        write_whole(out / name, text)
        yield out / name
    style.prepare()
    yield from style.save(fairness.draw(workloads, _TITLE), out, 'fairness')


def _main(arguments):
    workloads = [ranking.Workload(results.read(folder)) for folder in arguments.folders]
    command.note_changes(arguments.folders)
    for workload in workloads:
        if [other.name for other in workloads].count(workload.name) > 1:
            raise results.InputError(workload.name, 'two folders of that name', 'different names')
    written = list(write(workloads, arguments.out))
    print(written[0].read_text(encoding='utf-8').split('\n# ')[0].rstrip())
    for path in written:
        print(path)


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser(__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, required=True, help='where the tables and the figure go')
    return command.run(_main, parser.parse_args(arguments))
