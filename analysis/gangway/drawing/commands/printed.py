"""Counts, experiment by experiment, which printed values are met, missed, inputs or open: the table of experiments/papers.md."""
from collections import Counter
from pathlib import Path

from gangway.drawing import command, results
from gangway.whole_file import write_whole

BEGIN, END = '<!-- made by ./dev printed -->\n', '<!-- end -->\n'
_PAPERS = {'frs': 'FRS', 'effisha': 'EffiSha', 'neon': 'NEON', 'share-a-gpu': 'Share-a-GPU', 'yang-anderson': 'Yang and Anderson'}
_HEAD = '| paper | experiment | file | met | missed | input | open |\n|---|---|---|---|---|---|---|\n'


def table(folders):
    """The table of the folders that have published values, in the order of the papers above; a folder's parent is named
    like its paper. Every row is of one experiment, the last of all."""
    rows, sums = [], Counter()
    for folder in sorted(map(Path, folders), key=lambda folder: (_place(folder), _key(folder.name))):
        published = results.read_published(folder / 'published.csv') if _place(folder) < len(_PAPERS) else []
        if not published:
            continue
        counts = Counter(row.verdict for row in published)
        paper = folder.resolve().parent.name
        new = not any(f"({paper}/" in row for row in rows)
        rows.append(f'| {f"[{_PAPERS[paper]}]({paper}/README.md)" if new else ""} | {_about(folder)} | '
                    f'`{paper}/{folder.name}.yaml` | {_cells(counts)} |\n')
        sums.update(counts)
    return _HEAD + ''.join(rows) + f'| all | | | {_cells(sums)} |\n'


def page_with(page, made):
    """The text of a page with the table in the place of its own."""
    text = page.read_text(encoding='utf-8')
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise results.InputError(page, 'no place for the table', f'lines {BEGIN.strip()} and {END.strip()}')
    return before + begin + made + end + after


def _place(folder):
    paper = folder.resolve().parent.name
    return list(_PAPERS).index(paper) if paper in _PAPERS else len(_PAPERS)


def _key(name):
    """Figures by number, before what is named after something else."""
    digits = ''.join(letter for letter in name.partition('-')[0] if letter.isdigit())
    return (not name.startswith('fig'), int(digits or 0), name)


def _about(folder):
    title = results.read(folder).title
    first, separator, _ = title.partition(': ')
    return title.partition(', ')[2] if separator and ', ' in first else title


def _cells(counts):
    return ' | '.join(str(counts[verdict]) if counts[verdict] else '' for verdict in results.VERDICTS)


def _main(arguments):
    made = table(arguments.folders)
    command.note_changes(arguments.folders)
    if arguments.page is None:
        print(made, end='')
        return
    page = Path(arguments.page)
    text = page_with(page, made)
    if arguments.write:
        write_whole(page, text)
    elif text != page.read_text(encoding='utf-8'):
        raise results.InputError(page, 'a table of printed values that differs from the results', './dev printed, which makes it')


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser(__doc__.splitlines()[0])
    parser.add_argument('--page', metavar='FILE', help='hold the table of this page against the results')
    parser.add_argument('--write', action='store_true', help='replace it instead')
    return command.run(_main, parser.parse_args(arguments))
