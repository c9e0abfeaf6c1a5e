"""One Markdown page of everything that ./dev hw left in its folder: report.md there.

Parts, calibrations beside what a paper prints of its kernels, and each experiment printed, predicted and measured. What is not there
yet is left out.
"""
import math
import re
import statistics
from collections import Counter
from pathlib import Path

from gangway.drawing import command, names, results
from gangway.drawing.commands.report import markdown_table, tally
from gangway.drawing.percentiles import nearest_rank
from gangway.whole_file import write_whole

_PRINTED = Path(__file__).resolve().parents[4] / 'experiments' / 'frs' / 'printed.yaml'
_GOALS = {'antt': 0.02, 'stp': 0.02, 'dntt': 0.05}  # how near predictions are to be


def text(folder):
    """The page about the folder, as Markdown."""
    folder = Path(folder)
    if not folder.is_dir():
        raise results.InputError(folder, 'a file' if folder.exists() else 'nothing', 'a folder of ./dev hw')
    calibrations = [_Calibration(path.parent) for path in sorted(folder.glob('*/calibration.json'))]
    pairs = [path.parents[1] for path in sorted(folder.glob('*/sim/summary.csv')) if (path.parents[1] / 'cuda' / 'summary.csv').is_file()]
    machines = Counter(found.gpu for found in calibrations)
    parts = [f'# Gangway on {" and ".join(machines) or "a GPU"}', _parts(folder)]
    for found in calibrations:
        parts += _calibration(found)
    for pair in pairs:
        parts += _experiment(pair)
    parts += _bounds(folder / 'bound')
    log = folder / 'rules.log'
    if (folder / 'rules.done').exists() and log.is_file():
        parts += ['## The rules of its queues', '```\n' + log.read_text(encoding='utf-8').rstrip() + '\n```']
    if not calibrations and not pairs and not (folder / 'bound' / 'sets.csv').is_file():
        parts.append('Nothing has been measured yet.')
    return '\n\n'.join(filter(None, parts)) + '\n'


# ---- parts

def _parts(folder):
    file = folder / 'parts.csv'
    if not file.is_file():
        return ''
    _, rows = results.read_table(file, ['part', 'result', 'seconds'], 'a folder of ./dev hw')
    last = {row.text('part'): row for row in rows}
    return '## Parts\n\n' + markdown_table(['part', 'result', 'seconds'],
                                           [[name, row.choice('result', ('done', 'failed')), row.text('seconds')] for name, row in last.items()])


# ---- kernels alone

class _Calibration:
    """calibration.json, by what the tables ask of it."""

    def __init__(self, folder):
        self.name, self.file = folder.name, folder / 'calibration.json'
        about = results.read_json(self.file)
        if not isinstance(about, dict) or about.get('kind') != 'calibration':
            raise results.InputError(self.file, 'no calibration', 'kind calibration', key='kind')
        self.gpu = str(about.get('gpu') or about.get('device'))
        try:
            self.facts = f'{about["gpu"]}, {about["driver"]}; gangway {about["gangway"]} {about["commit"]}: `{about["command"]}`'
            self.useful = float(about['useful'])
            self.expected = {key: float(value) for key, value in about.get('expected_error', {}).items()}
            self.slower = {kernel: float(share) for kernel, share in about.get('slower_for_a_while', {}).items()}
            self._found = {(q['quantity'], q['kernel'], q['parameter'], q['mechanism']): q for q in about['quantities']}
            self.forms = {kernel['kernel']: kernel for kernel in about.get('kernels', [])}
            self.mechanism = next(how for what, _, _, how in self._found if what == 'original')
        except (KeyError, TypeError, ValueError, StopIteration) as error:
            raise results.InputError(self.file, f'{type(error).__name__} {error}', 'what gangway calibrate writes') from None
        self.kernels = [kernel for what, kernel, _, _ in self._found if what == 'original']

    def quantity(self, what, kernel='', parameter=0):
        """Median and 99th percentile in ns; NaN where it was not measured."""
        found = self._found.get((what, kernel, parameter, self.mechanism))
        return (found['median']['value'], found['p99']) if found else (math.nan, math.nan)

    def of_shortest(self, what):
        """Likewise, of the shortest block-tasks that it was measured of, and before that their nominal length in ns."""
        found = [(parameter, kernel) for known, kernel, parameter, how in self._found if (known, how) == (what, self.mechanism)]
        parameter, kernel = min(found, default=(math.nan, ''))
        return parameter, *self.quantity(what, kernel, parameter)

    def overhead(self, kernel):
        return self.quantity('transformed', kernel)[0] / self.quantity('original', kernel)[0]


def _calibration(found):
    yield f'## Kernels alone: {found.name}'
    yield found.facts
    printed = _printed_of(found)
    yield from _table_one(found, printed)
    yield from _table_two(found, printed)


def _table_one(found, printed):
    applications = {}
    for kernel in found.kernels:
        applications.setdefault(kernel.partition('.')[0], []).append(kernel)
    if printed:
        yield '### FRS paper, Table I: time in ms'
        yield markdown_table(['application', 'kernels', 'printed', 'measured'],
                             [[name, str(len(own)), _number(printed['times'].get(name)),
                               _number(sum(found.quantity('original', kernel)[0] for kernel in own) / 1e6)] for name, own in applications.items()])
    if found.forms:
        yield '### What kernels take, in their original and their preemptible form'
        both = ('original', 'transformed')
        yield markdown_table(['kernel', 'ms', 'block-tasks', 'threads', 'registers', 'shared memory (B)', 'blocks an SM'],
                             [[kernel, _number(found.quantity('original', kernel)[0] / 1e6), f'{forms["block_tasks"]:,}', str(forms['threads']),
                               *(' / '.join(str(forms[form][key]) for form in both) for key in ('registers', 'shared_memory', 'blocks_per_sm'))]
                              for kernel, forms in ((kernel, found.forms[kernel]) for kernel in found.kernels if kernel in found.forms)])


def _table_two(found, printed):
    yield ('### FRS paper, Table II: transformation overhead, eviction delay in µs' if printed else
           '### Transformation overhead, eviction delay in µs')
    rows = []
    for kernel in found.kernels:
        name = kernel.rpartition('.')[2]
        delay, late = found.quantity('eviction', kernel)
        rows.append([name, *([_number(printed['overheads'].get(name))] if printed else []), f'{found.overhead(kernel):.3f}',
                     *([_number(printed['delays'].get(name))] if printed else []),
                     *(_number(value / 1e3) for value in (delay, late, found.quantity('block-task', kernel)[0]))])
    said = ['printed'] if printed else []
    yield markdown_table(['kernel', *(f'overhead, {word}' for word in [*said, 'measured']), *(f'delay, {word}' for word in said),
                          'delay, median', '99th percentile', 'block-task, median'], rows)
    overheads = [found.overhead(kernel) for kernel in found.kernels]
    mean = math.exp(sum(map(math.log, overheads)) / len(overheads))
    length, beside, late = found.of_shortest('eviction beside its block-task')
    yield (f'Overhead: geometric mean {mean:.3f} (goal 1.00), worst {max(overheads):.3f} (goal 1.02). Eviction beyond the running block-task, '
           f'not of these kernels but of a throttle kernel with block-tasks of {_number(length / 1e3)} µs: '
           f'median {_number(beside / 1e3)} µs (goal 7), 99th percentile {_number(late / 1e3)} µs (goal 25). '
           f'Useful share of a drain: {found.useful:g}.')
    if found.slower:
        told = ', '.join(f'{kernel} ({100 * share:.0f} %)' for kernel, share in sorted(found.slower.items()))
        yield f'Kernels that took up to so much longer for a while, which predictions leave out: {told}.'
    if found.expected:
        yield (f'Expected error of predictions: NTT of single jobs {100 * found.expected["ntt_p50"]:.1f} % (median), '
               f'{100 * found.expected["ntt_p90"]:.1f} % (90th percentile), by {found.expected["jobs"]:.0f} jobs of '
               f'{found.expected["pairs"]:.0f} pairs to which nothing was fitted.')


def _printed_of(found):
    """What the FRS paper prints of these kernels, if they are its kernels."""
    if not _PRINTED.is_file():
        return None
    statements = _statements(_PRINTED.read_text(encoding='utf-8'))
    printed = {'times': {**statements['table1-times'], **statements['table1-of-several-kernels']},
               'overheads': statements['table2-overheads'], 'delays': statements['table2-delays']}
    kernels = {kernel.rpartition('.')[2] for kernel in found.kernels}
    return printed if set(printed['overheads']) <= kernels else None


def _statements(page):
    """id -> {name: number} of the statements with values: the units are those of the tables. Without a package for YAML, which
    machines with a GPU may lack; of that file each is a line."""
    found = {}
    for ident, values in re.findall(r'^  - id: ([\w-]+)\n(?:    .*\n)*?    values: \{(.*)\}$', page, re.MULTILINE):
        found[ident] = {name.strip(): float(value.split()[0]) for name, _, value in (part.partition(':') for part in values.split(','))}
    return found


# ---- experiments

def _experiment(folder):
    predicted, measured = results.read(folder / 'sim'), results.read(folder / 'cuda')
    yield f'## {folder.name}: {measured.title}'
    yield _metrics(predicted, measured)
    yield from _together(predicted, measured)
    yield from _delays(predicted, measured)
    yield from _agreement(folder)
    yield _clients(predicted, measured)
    yield from _published(measured)
    yield from _late(folder / 'cuda' / 'summary.csv')
    figures = [name for name in ('compare-printed', 'compare-clients', 'compare-jobs') if (folder / f'{name}.png').is_file()]
    yield ' '.join(f'![{name}]({folder.name}/{name}.png)' for name in figures)


def _metrics(predicted, measured):
    """Every policy: printed, predicted, measured, and by how much the prediction is off, which of bounds nobody knows."""
    rows = {(row.point, row.policy): row for row in predicted.summary}
    printed = {(row.point, row.policy, row.metric): row.published for row in measured.published_metrics()}
    says = any(metric in _GOALS for _, _, metric in printed)
    head, lines = [*map(names.parameter, measured.swept), 'policy'], []
    for metric in _GOALS:
        head += [*([f'{names.metric_name(metric)} printed'] if says else []), f'{names.metric_name(metric)} predicted', 'measured', 'off']
    order = {policy: place for place, policy in enumerate(names.in_order(row.policy for row in measured.summary))}
    for row in sorted(measured.summary, key=lambda row: (row.point, order[row.policy])):
        other = rows.get((row.point, row.policy))
        line = [*row.swept, row.policy]
        for metric in _GOALS:
            mine, said = row.metrics[metric], other.metrics[metric] if other else results.Measured(math.nan, math.nan)
            bounds = [other.bound(metric) if other else '', row.bound(metric)]
            line += [*([_number(printed.get((row.point, row.policy, metric)))] if says else []),
                     *(results.SIGNS[bound] + _interval(value) for bound, value in zip(bounds, (said, mine))),
                     _percent(math.nan if any(bounds) or not mine.mean else said.mean / mine.mean - 1)]
        lines.append(line)
    return markdown_table(head, lines)


def _together(predicted, measured):
    """Where a paper prints how much longer all jobs together take under one policy than under another: of all policies and points, but for bounds."""
    printed = {(row.relative_to, row.point, row.policy): row for row in measured.published
               if (row.metric, row.change) == ('makespan_ns', 'overhead') and row.relative_to and not row.client}
    sides = [{(row.point, row.policy): math.nan if row.bound('makespan_ns') else row.makespan_ns for row in found.summary}
             for found in (predicted, measured)]
    for other in dict.fromkeys(other for other, _, _ in printed):
        lines = []
        for row in sorted(measured.summary, key=lambda row: row.point):
            if row.policy == other:
                continue
            said = printed.get((other, row.point, row.policy))
            lines.append([*row.swept, row.policy, f'{_sign(said)}{100 * said.published:.1f} %' if said else '-',
                          *(_percent(side.get((row.point, row.policy), math.nan) / side.get((row.point, other), math.nan) - 1) for side in sides)])
        yield f'How much longer all jobs together take than under `{other}`:\n\n' + markdown_table(
            [*map(names.parameter, measured.swept), 'policy', 'printed', 'predicted', 'measured'], lines)


def _delays(predicted, measured):
    """Where a paper prints how long evictions take: of each client under each policy, predicted / measured."""
    metric = 'eviction_delay_ns_mean'
    printed = {(row.point, row.policy): row for row in measured.published if row.metric == metric and not row.client and not row.relative_to}
    if not printed:
        return
    sides = [_delays_of(found.path) for found in (predicted, measured)]
    clients = list(dict.fromkeys(client for side in sides for _, _, client in side if client))
    lines = []
    for row in sorted(measured.summary, key=lambda row: (row.point, row.policy)):
        found = [[side.get((row.point, row.policy, client), math.nan) / 1e3 for side in sides] for client in ('', *clients)]
        if all(map(math.isnan, sum(found, []))):
            continue
        said = printed.get((row.point, row.policy))
        lines.append([*row.swept, row.policy, _sign(said) + _number(said.published / 1e3) if said else '-',
                      *(' / '.join(map(_number, pair)) for pair in found)])
    yield 'Eviction delay in µs, predicted / measured, of all evictions and of each client:\n\n' + markdown_table(
        [*map(names.parameter, measured.swept), 'policy', 'printed', 'all', *clients], lines)


def _delays_of(folder):
    """(point, policy, client) -> mean eviction delay in ns, where something was evicted; of no client: of all."""
    found = {}
    for name in ('summary', 'clients'):
        _, rows = results.read_table(folder / f'{name}.csv', ['point', 'policy', 'eviction_delay_ns_mean'])
        found.update({(row.index('point'), row.text('policy'), row.text('client')): row.number('eviction_delay_ns_mean')
                      for row in rows if row.text('eviction_delay_ns_mean')})
    return found


def _sign(printed):
    return f'{printed.relation} ' if printed.relation in ('<', '>') else ''


def _agreement(folder):
    """What gangway compare found, against what predictions are to reach."""
    file, again = folder / 'compare.json', folder / 'again.json'
    if file.is_file():
        yield _errors(file, 'is off by')
    if again.is_file():
        yield _errors(again, 'differs from a second measurement by')


def _errors(file, by):
    """In words: what gangway compare found of single jobs, policies, rankings and clients."""
    found = results.read_json(file)
    try:
        error = found['ntt_error']
        worst = {metric: max((abs(group[metric]['relative_error']) for group in found['groups']
                              if group[metric]['relative_error'] is not None), default=math.nan) for metric in _GOALS}
        clients = sorted(abs(client['response_ns_mean']['relative_error']) for client in found.get('clients', [])
                         if client['response_ns_mean']['relative_error'] is not None)
        rankings = [ranking['equal'] for ranking in found.get('rankings', [])]
        return (f'NTT of {error["jobs"]:,} single jobs {by} {100 * error["p50"]:.1f} % (median; goal 1 %), {100 * error["p90"]:.1f} % '
                '(90th percentile; goal 5 %); at worst '
                + ', '.join(f'{names.metric_name(metric)} by {_share(worst[metric])} (goal {100 * goal:.0f} %)' for metric, goal in _GOALS.items())
                + (f'; the mean response of a client under a policy by {_share(statistics.median(clients))} (median; goal 2 %), '
                   f'{_share(clients[-1])} at most (goal 8 %)' if clients else '')
                + (f'. Equal rankings of the policies: {sum(rankings)} of {len(rankings)}.' if rankings else '.'))
    except (KeyError, TypeError) as error:
        raise results.InputError(file, f'{type(error).__name__} {error}', 'what gangway compare --json writes') from None


def _clients(predicted, measured):
    """NTT, predicted / measured, of each client under each policy, with the signs of bounds."""
    if measured.swept or measured.alone():
        return ''
    policies = names.in_order(row.policy for row in measured.clients)
    sides = [{(row.policy, row.client): results.SIGNS[row.bound('ntt')] + _number(row.ntt.mean) for row in found.clients}
             for found in (predicted, measured)]
    clients = list(dict.fromkeys(row.client for row in sorted(measured.clients, key=lambda row: (-row.standalone_ns, row.client))))
    return 'NTT of each client, predicted / measured:\n\n' + markdown_table(
        ['client', *policies], [[client, *(' / '.join(side.get((policy, client), '-') for side in sides) for policy in policies)]
                                for client in clients])


def _published(measured):
    """What the paper prints, on the chip."""
    if not measured.published:
        return
    missed = [row for row in measured.published if row.verdict == 'miss']
    yield f'What is printed, on the chip: {tally(measured.published)}.' + ''.join(
        f'\n- missed: {row.figure}, {names.metric_name(row.metric, "client" if row.client else "point")}'
        f'{f" of {row.client}" if row.client else ""} under {row.policy}: '
        f'measured {_number(row.measured)}, printed {_sign(row)}{_number(row.published)}'
        f'{f" times that under {row.relative_to}" if row.relative_to else ""}' for row in missed)


def _late(file):
    """Rows that say more about the machine than about the policy."""
    _, rows = results.read_table(file, ['policy'])
    late = [row.text('policy') for row in rows if row.text('too_late') == 'yes']
    if late:
        yield f'The scheduler was too late under {", ".join(dict.fromkeys(late))}: these rows say more about the machine than about the policy.'


# ---- bounds

_FORMS = {'fixed-priority': 'fixed priorities', 'round-robin': 'round robin', 'queue': 'queues'}


def _bounds(folder):
    """How near the largest responses came to their bounds, of the sets in which every assumption held."""
    if not (folder / 'sets.csv').is_file():
        return
    _, sets = results.read_table(folder / 'sets.csv', ['set', 'form', 'jobs', 'assumptions', 'violated'], 'a folder of gangway bound')
    _, tasks = results.read_table(folder / 'tasks.csv', ['set', 'ratio'], 'a folder of gangway bound')
    _, assumptions = results.read_table(folder / 'assumptions.csv', ['set', 'assumption', 'measured_ns', 'allowed_ns'], 'a folder of gangway bound')
    held = {row.index('set') for row in sets if row.text('assumptions') == 'held'}
    lines = []
    for form in [*_FORMS, '']:
        own = [row for row in sets if form in ('', row.text('form'))]
        of = {row.index('set') for row in own}
        ratios = sorted(row.number('ratio') for row in tasks if row.index('set') in of & held and row.text('ratio'))
        above = [row.index('set') in held for row in own if row.text('violated') == 'yes']
        if own:
            lines.append([_FORMS.get(form, 'all'), str(len(own)), str(sum(row.index('jobs') for row in own)), str(len(of & held)), str(len(ratios)),
                          *(_number(nearest_rank(ratios, share)) for share in (0.5, 0.9, 0.99, 1)), str(sum(above)), str(len(above) - sum(above))])
    yield '## Response times against their bounds'
    yield ('Observed over bound, of the tasks of sets in which every assumption held; *above*: sets with a response above its bound, '
           'which refutes a theorem only if the assumptions held.')
    yield markdown_table(['sets', 'number', 'jobs', 'all held', 'tasks of these', 'median', '90th percentile', '99th', 'largest',
                          'above', 'above, others'], lines)
    failed = Counter(name for _, name in {(row.index('set'), row.text('assumption')) for row in assumptions
                                          if row.number('measured_ns') > row.number('allowed_ns')})
    if failed:
        told = (f'`{name}` in {count} set{"s" if count > 1 else ""}' for name, count in failed.most_common())
        yield f'Assumptions that did not hold: {", ".join(told)}.'


# ---- numbers

def _number(value):
    if value is None or math.isnan(value):
        return '-'
    return f'{value:.0f}' if abs(value) >= 1000 else f'{value:.3g}' if abs(value) >= 100 else f'{value:.2f}'


def _interval(measured):
    return _number(measured.mean) + ('' if math.isnan(measured.ci95) else f' ± {_number(measured.ci95)}')


def _share(value):
    return '-' if math.isnan(value) else f'{100 * value:.1f} %'


def _percent(share):
    return '-' if math.isnan(share) else f'{100 * share:+.1f} %'


def _main(arguments):
    page = text(arguments.folder)
    command.note_changes(file.parent for file in sorted(Path(arguments.folder).glob('*/*/manifest.json')))
    path = Path(arguments.folder) / 'report.md'
    write_whole(path, page)
    print(path)


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser_of_nothing(__doc__.splitlines()[0])
    parser.add_argument('folder', metavar='DIR', help='the folder of ./dev hw')
    return command.run(_main, parser.parse_args(arguments))
