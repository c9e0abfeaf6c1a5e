"""Prints what a result folder measured, and how that compares with what was published."""
import math
from collections import Counter
from pathlib import Path

from gangway.drawing import command, names, results
from gangway.notes import notes_on
from gangway.whole_file import write_whole


def text(found):
    """The report of a result folder: Markdown that reads well as it is."""
    parts = [f'# {found.title}', markdown_table(*_measured(found))]
    starved = sum(bool(row.starved) for row in found.summary)
    if starved:
        parts.append(f'{starved} of {len(found.summary)} starved: there a client finished no job in some run, and nothing that is averaged '
                     'over clients has a value.')
    understated = sum(bool(row.understated) for row in found.summary)
    if understated:
        parts.append(f'{understated} of {len(found.summary)} with bounds: there unfinished or killed jobs of the clients named count with their '
                     'age. ≥: at least, ≤: at most, ~: more or less.')
    if found.services:
        parts.append(markdown_table(*_services(found)))
    if ranges(found):
        parts.append(ranges(found))
    if found.published:
        parts += [markdown_table(*_published(found)), tally(found.published)]
    parts += [f'Note: {note}.' for note in notes_on(Path(found.path))]
    return '\n\n'.join(parts) + '\n'


_RANGES = '[low, high]: 95 % interval of the mean over replications, where the value beside it is of all jobs together'
_FROM_0 = 'An interval of a time ends at 0 where it would reach below, as no time is negative.'


def ranges(found):
    """What [low, high] is, where such an interval is printed; else empty."""
    times = [row.metrics[metric] for row in found.summary for metric in found.chosen if names.unit(metric) == 'ms']
    times += [value for row in found.services for name, value in row.latency.items() if name in _SHOWN]
    others = [row.metrics[metric] for row in found.summary for metric in found.chosen if names.unit(metric) != 'ms']
    pooled = any(value.centre is not None and value.half_width for value in [*times, *others])
    cut = any(value.half_width > value.middle for value in times)
    return ' '.join([*([_RANGES + '.'] if pooled else ['[low, high]: 95 % interval.'] if cut else []), *([_FROM_0] if cut else [])])


def tex(found):
    """The tables of a result folder for LaTeX (package booktabs), and what is to be known of them as comments."""
    tables = [_measured(found)]
    if found.services:
        tables.append(_services(found))
    if found.published:
        tables.append(_published(found))
    notes = [f'% Note: {note}.' for note in notes_on(Path(found.path))]
    return '\n\n'.join([*(_tex_table(*table) for table in tables), *notes]) + '\n'


def tally(published):
    """'12 pass, 1 miss, 2 input, 3 shown'"""
    counts = Counter(row.verdict for row in published)
    return ', '.join(f'{counts[verdict]} {verdict}' for verdict in results.VERDICTS)


def _measured(found):
    shown = found.chosen or results.METRICS

    def cells(row):
        if isinstance(row, results.Failed):
            return [*('failed' for _ in shown), '', '', '', row.error]
        return [*('starved' if row.starves(metric) else results.SIGNS[row.bound(metric)] + _interval(row.metrics[metric], names.unit(metric) == 'ms')
               for metric in shown),
                str(row.unfinished or ''), ', '.join(row.starved), ', '.join(row.understated), '']

    rows = [*found.summary, *found.failed]
    places = {policy: place for place, policy in enumerate(names.in_order(row.policy for row in rows))}
    rows.sort(key=lambda row: (row.point, places[row.policy]))
    optional = ('unfinished jobs', 'starved', 'bounds because of', 'error')
    head = [*map(names.parameter, found.swept), 'policy', *map(_titled, shown), *optional]
    return _without_empty(head, [[*row.swept, row.policy, *cells(row)] for row in rows], optional)


def _titled(metric):
    return names.metric_name(metric) + (f' in {names.unit(metric)}' if names.unit(metric) == 'ms' else '')


_SHOWN = {'p50': ('p50 in ms', 1), 'p99': ('p99 in ms', 100), 'p999': ('p99.9 in ms', 1000)}  # title, jobs from which on it is not the largest


def _services(found):
    """What each client is judged by; '≥' where unfinished jobs make a percentile a lower bound, 'max' where so few jobs finished
    that it is the largest latency. '≤': it was killed or refused."""
    places = {policy: place for place, policy in enumerate(names.in_order(row.policy for row in found.services))}
    head = [*map(names.parameter, found.swept), 'policy', 'client', 'jobs', *(title for title, _ in _SHOWN.values()), 'objective in ms',
            'attained', 'jobs/s']
    rows = [[*row.swept, row.policy, row.client, str(row.jobs),
             *('starved' if row.starved_runs else ('≥ ' if name in row.bounds else 'max ' if row.jobs < least else '')
               + _interval(row.latency[name].scaled(1e-6), True) for name, (_, least) in _SHOWN.items()),
             _number(row.slo_ns / 1e6) if row.slo_ns else '', results.SIGNS[row.bound('attainment')] + _share(row.attainment) if row.slo_ns else '',
             results.SIGNS[row.bound('throughput')] + _interval(row.throughput)]
            for row in sorted(found.services, key=lambda row: (row.point, places[row.policy]))]
    return _without_empty(head, rows, ('objective in ms', 'attained'))


def _share(measured):
    return '-' if math.isnan(measured.mean) else f'{100 * measured.mean:.1f} %'


def _without_empty(head, rows, optional):
    """Head and rows without the optional columns in which nothing stands."""
    used = [column for column, name in enumerate(head) if name not in optional or any(row[column] for row in rows)]
    return [head[column] for column in used], [[row[column] for column in used] for row in rows]


def _published(found):
    swept = {row.point: list(row.swept) for row in found.summary}
    unknown = [''] * len(found.swept)
    head = ['figure', *map(names.parameter, found.swept), 'policy', 'metric', 'published', 'measured', 'error',
            'class', 'verdict', 'note']
    rows = [[row.figure, *swept.get(row.point, unknown), row.policy, _metric(row), _value(row),
             results.SIGNS[row.bound] + _in_unit(row, row.measured), _percent(row.relative_error), row.kind, row.verdict, row.note]
            for row in found.published]
    return _without_empty(head, rows, ('note',))


def _metric(row):
    change = f'{row.change} by ' if row.change == 'speedup' else f'{row.change} of ' if row.change else ''
    return (change + names.metric_name(row.metric, 'client' if row.client else 'point') + (f' of {row.client}' if row.client else '')
            + (f' / {row.relative_to}' if row.relative_to else '') + (f', {row.over.take} to point {row.over.to}' if row.over else ''))


def _value(row):
    if row.relation == 'in':
        return f'{_number(_scaled(row, row.published))} to {_in_unit(row, row.printed_to)}'
    return (f'{row.relation} ' if row.relation in ('<', '>') else '') + _in_unit(row, row.published)


def _is_time(row):
    """Else it is a ratio, if not a plain number."""
    return not row.relative_to and not row.change and names.unit(row.metric.split(' ')[0], 'client' if row.client else 'point') == 'ms'


def _scaled(row, value):
    return value * 1e-6 if _is_time(row) else value


def _in_unit(row, value):
    return _number(_scaled(row, value)) + (' ms' if _is_time(row) and not math.isnan(value) else '')


def _interval(measured, time=False):
    """With its interval; of values of all jobs that is of another number. That of a time ends at 0."""
    if math.isnan(measured.middle + measured.ci95):
        return _number(measured.mean)
    low, high = measured.interval
    if measured.centre is None and not (time and low < 0):
        return f'{_number(measured.mean)} ± {_number(measured.ci95)}'
    return f'{_number(measured.mean)} [{_number(max(low, 0) if time else low)}, {_number(high)}]'


def _number(number):
    return '-' if math.isnan(number) else f'{number:.0f}' if abs(number) >= 999.5 else f'{number:.3g}' \
        if abs(number) >= 100 else f'{number:.2f}'


def _percent(share):
    return '-' if math.isnan(share) else f'{100 * share:+.1f} %'


def markdown_table(head, rows):
    """A table in Markdown that reads well as it is."""
    cells = [[cell.replace('|', '\\|') for cell in row] for row in [head, *rows]]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(head))]
    lines = ['| ' + ' | '.join(cell.ljust(width) for cell, width in zip(row, widths)) + ' |' for row in cells]
    return '\n'.join([lines[0], '|' + '|'.join('-' * (width + 2) for width in widths) + '|', *lines[1:]])


_TEX = {'\\': r'\textbackslash{}', '~': r'\textasciitilde{}', '^': r'\textasciicircum{}', '±': r'$\pm$', '≥': r'$\geq$',
        '≤': r'$\leq$', '<': r'$<$', '>': r'$>$',
        **{letter: '\\' + letter for letter in '&%$#_{}'}}


def _tex_table(head, rows):
    """Columns of which all cells are numbers are set flush right."""
    def is_number(cell):
        return (cell[:1].isdigit() or cell[:1] in ('-', '+', '≥', '≤', '~') or cell in ('', 'starved', 'failed')
                or cell.startswith('max '))
    columns = ''.join('r' if rows and all(is_number(row[column]) for row in rows) else 'l' for column in range(len(head)))
    lines = [' & '.join(''.join(_TEX.get(letter, letter) for letter in cell) for cell in row) + r' \\' for row in [head, *rows]]
    return '\n'.join([rf'\begin{{tabular}}{{{columns}}}', r'\toprule', lines[0], r'\midrule', *lines[1:], r'\bottomrule', r'\end{tabular}'])


def _main(arguments):
    found = [results.read(folder, arguments.metric) for folder in arguments.folders]
    command.note_changes(arguments.folders)
    for each in found:
        content = tex(each) if arguments.tex else text(each)
        print(content)
        if arguments.write:
            write_whole(Path(each.path) / ('report.tex' if arguments.tex else 'report.md'), content)
    if any(each.published for each in found) and len(found) > 1 and not arguments.tex:
        print('all: ' + tally([row for each in found for row in each.published]))


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser(__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true', help='also write report.md (with --tex: report.tex) into each folder')
    command.add_metric(parser)
    parser.add_argument('--tex', action='store_true', help='the tables for LaTeX, with the package booktabs')
    return command.run(_main, parser.parse_args(arguments))
