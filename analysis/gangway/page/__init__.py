"""A result, or a comparison of two, as one HTML page that needs nothing else."""

import base64
import html
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from gangway.drawing import command

command.need_matplotlib()

from gangway import metrics  # noqa: E402  (matplotlib's lack is told first)
from gangway.changed_tables import changed_tables, note_on  # noqa: E402
from gangway.drawing import agreement, names, results, studies, style  # noqa: E402
from gangway.drawing.commands import compare as comparing  # noqa: E402
from gangway.drawing.commands import figures as drawing  # noqa: E402
from gangway.drawing.commands import report  # noqa: E402
from gangway.notes import notes_on  # noqa: E402
from gangway.whole_file import write_whole  # noqa: E402

_MOST_ROWS = 2000      # of a table; the file has the rest
_MOST_SVG = 250_000    # bytes of one figure; a larger one becomes a picture
_MOST_FIGURES = 60
_MOST_NAMED = 10         # results or clients that a note names
_MOST_BYTES = 2_900_000  # of the page
_MOST_TRACES = 600_000   # bytes of all timelines that the page carries

_WHAT = {  # what a figure shows, for those who cannot see it
    'clients': 'NTT of each client under each policy', 'metrics': 'ANTT, DNTT and STP of each policy',
    'sweep': 'Metrics against the swept parameter', 'heat-map': 'Metrics against two swept quantities',
    'speedups': 'Speedup of each client on several GPUs', 'clients-sweep': 'NTT of each client against the swept quantity',
    'gantt': 'Who waited, ran and was evicted, under each policy', 'responses': 'Response time of each job of the first run',
    'response-distribution': "Share of each client's jobs against response time", 'latency': 'Latency of services against load',
    'attainment': 'Share of jobs that met their objective, against load',
    'latency-distribution': "Share of each service's jobs that took longer, against latency",
    'throughput-tail': "99th percentile of services against the others' throughput",
    'compare-jobs': 'NTT of each job, one side against the other', 'compare-errors': 'How many jobs have at most so large an error',
    'compare-metrics': 'ANTT, DNTT and STP, side by side', 'compare-printed': 'ANTT, DNTT and STP: printed, predicted and measured',
    'compare-clients': 'NTT of each client, side by side'}


def page(folders):
    """The HTML of a page about result folders; of two of one experiment, also about how they differ. InputError."""
    from jinja2 import Environment, PackageLoader
    folders = [Path(folder) for folder in folders]
    runs = [_run(folder, f'run-{number}') for number, folder in enumerate(folders, 1)]
    pair = _pair(folders, runs[1]['notes']) if len(folders) == 2 else None
    title = ' and '.join(dict.fromkeys(run['title'] for run in runs))
    template = Environment(loader=PackageLoader('gangway.page', '.'), autoescape=True, trim_blocks=True, lstrip_blocks=True).get_template(
        'page.html')
    text = template.render(title=title, runs=runs, pair=pair)
    figures = [figure for shown in [*runs, *([pair] if pair else [])] for figure in shown['figures']]
    excess = len(text.encode()) - _MOST_BYTES
    for figure in reversed(figures):  # the first ones tell most
        if excess > 0:
            excess -= len(figure['body'])
            figure['body'] = ''
    return template.render(title=title, runs=runs, pair=pair)


def _run(folder, place):
    style.prepare(titles=False)  # the page has them
    if studies.is_study(folder):
        return _study(folder, place)
    found = results.read(folder)
    manifest = results.read_json(folder / 'manifest.json') if (folder / 'manifest.json').is_file() else {}
    tables = [_table('Summary', *report._measured(found))]
    if found.services:
        tables.append(_table('Services', *report._services(found), report.ranges(found)))
    tables.append(_file_table('Clients', folder / 'clients.csv', metrics.first('client'), 'client'))
    if found.published:
        tables.append(_table('Published values', *report._published(found)))
    return {'title': found.title, 'path': str(folder), 'facts': _facts(manifest), 'tables': tables, 'tally': report.tally(found.published),
            'notes': _notes(folder), 'figures': _figures(drawing.kinds(folder), place), 'again': _again(folder, manifest),
            'traces': _traces(folder),
            'configuration': json.dumps(manifest.get('configuration', {}), indent=1)}


def _study(folder, place):
    manifest = results.read_json(folder / 'manifest.json') if (folder / 'manifest.json').is_file() else {}
    return {'title': studies.read(folder).title, 'path': str(folder), 'facts': _facts(manifest),
            'tables': [_file_table('Summary', folder / 'summary.csv', 'sets')], 'tally': '', 'notes': _notes(folder),
            'figures': _figures(drawing.kinds(folder), place),
            'again': _again(folder, manifest), 'traces': [], 'configuration': json.dumps(manifest.get('configuration', {}), indent=1)}


def _facts(manifest):
    """What tells where results come from: (name, value)."""
    host = manifest.get('host') if isinstance(manifest.get('host'), dict) else {}
    known = {'world': manifest.get('world'), 'machine': manifest.get('machine'), **host, 'Gangway': manifest.get('gangway'),
             'commit': manifest.get('commit'), 'compiler': manifest.get('compiler'), 'seed': manifest.get('seed'),
             'replications': manifest.get('replications'), 'begun': manifest.get('start'),
             'took': f"{manifest['seconds']:.1f} s" if isinstance(manifest.get('seconds'), (int, float)) else None}
    return [(name, str(value)) for name, value in known.items() if value not in (None, '')]


def _notes(folder):
    """What readers must know of the folder; whoever makes the page is told of changes, too."""
    for name in changed_tables(folder):
        print(f'note: {note_on(folder / name)}', file=sys.stderr)
    return notes_on(folder)


def _again(folder, manifest):
    """The commands that make the results anew."""
    world = manifest.get('world', 'sim')
    lines = [f"gangway run {shlex.quote(str(folder / 'manifest.json'))}{' --verify' if world == 'sim' else ''} --out again"]
    if manifest.get('command'):
        lines.append(f"# made by: {manifest['command']}")
    return '\n'.join(lines)


def _table(name, head, rows, about=''):
    shown = [[_cell(text) for text in row] for row in rows[:_MOST_ROWS]]
    return {'name': name, 'about': about, 'head': head, 'rows': shown, 'left_out': max(0, len(rows) - _MOST_ROWS)}


def _file_table(name, file, first, level=''):
    """The whole file. first: its first column of values; those before it, and texts, stand as they are, such as a client called 007.
    level: of its metrics, of which those that mean something else at another level have their label as the head."""
    columns, rows = results.read_table(file, [])
    texts = {*columns[:columns.index(first)], *(metric.name for metric in metrics.ALL if metric.kind == 'text')}
    chosen = [column for column in columns if any(row.text(column) for row in rows) and not column.endswith('_ci95')]
    heads = [names.parameter(column) if '.' in column else _head(column, level) for column in chosen]
    in_ns = [column not in texts and _is_time(column, columns) for column in chosen]
    heads = [re.sub(r' ns\b', '', head) + ' (ms)' if is_time else head for head, is_time in zip(heads, in_ns)]
    return _table(name, heads, [[row.text(column) if column in texts else _short(row.text(column), 1e-6 if is_time else 1)
                                 for column, is_time in zip(chosen, in_ns)] for row in rows])


def _head(column, level):
    counts = {metric.label for metric in metrics.ALL if metric.name == column and metric.unit == 'count'}
    return names.metric_name(column, level) if level and len(counts) > 1 else column.replace('_', ' ')


def _is_time(column, columns):
    """Whether a column of values is to be shown in ms: not what repeats one in base units."""
    repeats = column.endswith('_ns') and column.removesuffix('_ns') in columns
    return bool(re.search(r'_ns(_|$)', column)) and not repeats


def _short(text, factor=1):
    """A number with as many digits as people read."""
    try:
        number = float(text) * factor
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    if number == int(number):
        return str(int(number))
    return f'{number:.4g}' if abs(number) < 1e6 else f'{number:.0f}'


def _cell(text):
    """What is shown, and by what it is sorted: a number where it begins with one."""
    match = re.match(r'[-+≥≤~< ]*([0-9][0-9.]*(?:e[-+]?[0-9]+)?)', text)
    return {'text': text, 'key': (('-' if text.startswith('-') else '') + match[1]) if match else ''}


def _figures(kinds, place):
    """The figures that apply, each as SVG, or as a picture where that would be too much. place: of the page, for ids."""
    shown = []
    for name, pages in kinds:
        for number, figure in enumerate(pages(), 1):
            if len(shown) < _MOST_FIGURES:
                called = name if number == 1 else f'{name}-{number}'
                shown.append({'name': called, 'about': _WHAT.get(name, name.replace('-', ' ')), 'body': _body(figure, called, place)})
            style.pyplot.close(figure)
    return shown


def _body(figure, name, place):
    import matplotlib
    about = html.escape(_WHAT.get(name, name.replace('-', ' ')), quote=True)
    out = io.StringIO()
    with matplotlib.rc_context({'svg.hashsalt': name, 'svg.fonttype': 'none'}):
        figure.savefig(out, format='svg', metadata={'Date': None, 'Creator': None})
    svg = out.getvalue()[out.getvalue().index('<svg'):]
    if len(svg) <= _MOST_SVG:
        # Parts of several figures have the same names, also those of one figure of two results.
        svg = re.sub(r'(\bid="|href="#|url\(#)', lambda found: f'{found[1]}{place}-{name}-', svg)
        return re.sub(r'<svg ', f'<svg role="img" aria-label="{about}" ', svg, count=1)
    picture = io.BytesIO()
    figure.savefig(picture, format='png', dpi=110, metadata={'Software': None})
    return f'<img alt="{about}" src="data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}">'


def _traces(folder):
    """Timelines that the page can hand to Perfetto: the smallest first, as many as there is room for."""
    found, room = [], _MOST_TRACES
    for file in sorted((folder / 'trace').glob('*.json*'), key=lambda file: (file.stat().st_size, file.name)):
        size = file.stat().st_size
        found.append({'name': file.name, 'data': base64.b64encode(file.read_bytes()).decode() if size <= room else ''})
        room -= size if size <= room else 0
    return sorted(found, key=lambda trace: trace['name'])


def _differences(folders):
    """What `gangway compare --json` says of two results of one world, by the program or, without it, by the package's compiled half."""
    program = os.environ.get('GANGWAY_PROGRAM')
    if program is None:
        try:
            from gangway.comparison import compare
        except ImportError:
            sys.exit('error: gangway._core: found no such module, expected it, or the program: run `gangway report`')
        return compare(*folders).told['differences']
    told = subprocess.run([program, 'compare', *folders, '--json'], capture_output=True, text=True)
    if told.returncode != 0:
        print(told.stderr, end='', file=sys.stderr)
        sys.exit(told.returncode)
    return json.loads(told.stdout)['differences']


def _difference_table(told, swept):
    """A row for each difference, those that are none last. swept: of each point, the values, by path."""
    paths = list(next(iter(swept.values()), {}))
    head = [*map(names.parameter, paths), 'policy', 'client', 'metric', 'A', 'B', 'B − A', '95 % interval', 'p', 'p (Holm)', 'finding', 'in words']
    rows = [[*(swept.get(row['point'], {}).get(path, '') for path in paths), *_difference(row)]
            for row in sorted(told['rows'], key=lambda row: row['finding'] == 'equal')]
    return _table('Differences', *report._without_empty(head, rows, ('client',)))


def _difference(row):
    """The cells of one; times are in ms."""
    in_ns = bool(re.search(r'_ns(_|$)', row['metric']))

    def shown(value):
        return '-' if value is None else f'{value * (1e-6 if in_ns else 1):.4g}'

    def probability(value):
        return '-' if value is None else '< 0.0001' if value < 0.0001 else f'{value:.4f}'
    return [row['policy'], row['client'] or '', re.sub(r'_ns(?=_|$)', '', row['metric']) + (' (ms)' if in_ns else ''),
            *(results.SIGNS[side['is']] + shown(side['mean']) for side in (row['a'], row['b'])),
            results.SIGNS[('at most' if row['difference'] < 0 else 'at least') if row['at_least'] else ''] + shown(row['difference']),
            '-' if row['low'] is None else f"{shown(row['low'])} to {shown(row['high'])}",
            probability(row['p']), probability(row['p_holm']), row['finding'], row['words']]


def _pair_of_one_world(folders, both):
    """Whether two simulations, or two measurements, differ by more than chance."""
    told = _differences(folders)
    swept = {row.point: dict(zip(both.measured.swept, row.swept)) for row in both.measured.summary}
    style.prepare(titles=False)
    return {'title': 'A and B', 'folders': [str(folder) for folder in folders], 'conclusions': told['conclusions'],
            'notes': [*_in_one_only(both)],
            'tables': [_difference_table(told, swept)], 'figures': _figures(comparing.kinds(*folders), 'pair'), 'worlds': []}


def _in_one_only(both):
    """Notes on what one of two results lacks, as a comparison says nothing of it."""
    named = {'predicted': 'the prediction', 'measured': 'the measurement'}
    results_of, clients_of = [], []
    for found in (both.predicted, both.measured):
        results_of.append({(row.point, row.policy): found.label(row.point, row.policy) or row.policy for row in found.summary})
        clients_of.append({(row.point, row.policy, row.client): f'{row.client} under {found.label(row.point, row.policy) or row.policy}'
                           for row in found.clients})
    for side, name in enumerate(agreement.sides(both.predicted, both.measured)):
        name, other = named.get(name, name), 1 - side
        alone = [label for key, label in results_of[side].items() if key not in results_of[other]]
        if alone:
            yield f'only {name} has results of {_some(alone)}'
        alone = [label for key, label in clients_of[side].items() if key[:2] in results_of[other] and key not in clients_of[other]]
        if alone:
            yield f'only {name} has {_some(alone)}; what is averaged or summed over clients is of other clients there'


def _some(texts):
    return ', '.join(texts[:_MOST_NAMED]) + (f' and {len(texts) - _MOST_NAMED} more' if len(texts) > _MOST_NAMED else '')


def _of_both(one, two, metric):
    """A metric in the prediction and the measurement, and its error, of which bounds say nothing."""
    words = [_without_value(row, metric) for row in (one, two)]
    values = [math.nan if word else row.metrics[metric].mean for row, word in zip((one, two), words)]
    bounds = ['' if word else row.bound(metric) for row, word in zip((one, two), words)]
    shown = [word or f'{results.SIGNS[bound]}{value:.3f}' for word, bound, value in zip(words, bounds, values)]
    return [*shown, '-' if any(words) or any(bounds) or not values[1] else f'{100 * (values[0] / values[1] - 1):+.1f} %']


def _without_value(row, metric):
    """Why a side has no value; empty where it has one."""
    if row is None:
        return 'missing'
    if isinstance(row, results.Failed):
        return 'failed'
    return 'starved' if row.starved else '-' if math.isnan(row.metrics[metric].mean) else ''


def _pair(folders, notes):
    """How two results of one experiment differ, such as a prediction and a measurement; None, and a note, where they cannot be compared."""
    try:
        both = agreement.read_pair(*folders)
    except results.InputError as error:
        notes.append(f'not compared with the other result: {error}')
        return None
    if agreement.sides(both.predicted, both.measured) == ('A', 'B'):
        return _pair_of_one_world(folders, both)
    sides = [{(row.point, row.policy): row for row in [*side.summary, *side.failed]} for side in (both.predicted, both.measured)]
    rows = []
    for key in sorted(sides[0].keys() | sides[1].keys()):
        one, two = (side.get(key) for side in sides)
        rows += [[*(two or one).swept, key[1], names.metric_name(metric), *_of_both(one, two, metric)] for metric in results.METRICS]
    head = [*map(names.parameter, both.measured.swept), 'policy', 'metric', 'predicted', 'measured', 'error']
    style.prepare(titles=False)
    return {'title': 'Predicted and measured', 'conclusions': [], 'notes': [*_in_one_only(both)],
            'tables': [_table('Predicted and measured', head, rows)],
            'figures': _figures(comparing.kinds(*folders), 'pair'),
            'worlds': [both.predicted.world, both.measured.world]}


def _main(arguments):
    out = Path(arguments.out) if arguments.out else Path(arguments.folders[0]) / 'report.html'
    text = page(arguments.folders)
    write_whole(out, text)
    print(f'{out}: {len(text.encode()) / 1e6:.2f} MB')


def cli(arguments=None):
    """The command line: the exit code."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        print(f'error: {sys.executable} has no jinja2: try the package python3-jinja2', file=sys.stderr)
        return 1
    parser = command.parser('One HTML page about a result, or about a prediction and a measurement.')
    parser.add_argument('--out', help='the page (default: report.html in the first folder)')
    return command.run(_main, parser.parse_args(arguments))
