"""Reads a result folder: summary.csv, clients.csv, published.csv and what manifest.json says about the run."""
import gzip
import json
import math
import operator
import sys
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from gangway import metrics
from gangway.drawing import csv_file, load, names, together
from gangway.drawing.csv_file import InputError, Measured, Row, read_table

METRICS = metrics.ranked()
_EFFICIENCY = 'concurrency_efficiency'
_P99 = 'p99_response_ns'
_DEFINITIONS = {'sigma': 'population', 'standalone': 'transformed'}  # what they are if an experiment does not say
_JOB_KEY = ('point', 'policy', 'replication', 'permutation', 'client', 'job')
TIE = 0.01  # values that differ by less than this share of them count as the same
SIGNS = {'': '', 'at least': '≥ ', 'at most': '≤ ', 'rough': '~ '}  # before values that unfinished jobs make bounds
KINDS = ('tight', 'moderate', 'order', 'input', 'open')  # the classes of published values
VERDICTS = ('pass', 'miss', 'input', 'shown')


@dataclass(frozen=True)
class Summary:
    point: int
    policy: str
    swept: tuple  # texts, in the order of Results.swept
    metrics: dict  # name -> Measured
    evictions: float
    jain: float
    p99: Measured  # response time in ns, of all jobs
    makespan_ns: float
    starved: tuple = ()  # clients that finished no job in some run: what is averaged over clients is NaN then
    unfinished: int = 0  # jobs, in all runs
    percentiles: str = ''  # 'exact', 'rounded', or 'lower-bound' where unfinished jobs would have made them larger
    understated: tuple = ()  # clients whose unfinished jobs raise their means: what is averaged over clients is a bound then
    p99_most_ns: float = math.nan  # the largest value that p99 could have; NaN where nothing limits it

    def starves(self, metric):
        """Whether it has no value because clients finished no job: other metrics than averages over clients have one all the same."""
        known = metrics.find(metric)
        return bool(self.starved) and (not known or bool(known.if_understated))

    def bound(self, metric):
        """What the real value is beside the one here: a key of SIGNS."""
        if metric in ('p50_response_ns', _P99):
            known = metric == _P99 and is_known(self.p99.mean, self.p99_most_ns)
            return 'at least' if self.percentiles == 'lower-bound' and not known else ''
        known = metrics.find(metric)
        if known and known.if_unfinished and self.unfinished:
            return known.if_unfinished
        return known.if_understated if known and self.understated and not self.starved else ''


@dataclass(frozen=True)
class Failed:
    """A point and policy that could not be played."""
    point: int
    policy: str
    swept: tuple  # as in Summary
    error: str


@dataclass(frozen=True)
class Slices:
    share: float  # of all time slices, while all clients were there
    in_a_row: float


@dataclass(frozen=True)
class Client:
    point: int
    policy: str
    client: str
    ntt: Measured
    standalone_ns: float
    slices: object = None  # Slices, where the folder tells of them
    unfinished: int = 0  # jobs, in all runs
    starved_runs: int = 0  # in which it finished no job: if any, its means and percentiles are NaN
    percentiles: str = ''  # as in Summary
    bounds: tuple = ()  # metrics that are lower bounds, as jobs are unfinished

    def bound(self, metric):
        """As that of Summary."""
        return 'at least' if metric in self.bounds else ''


@dataclass(frozen=True)
class Service:
    """What one client is judged by; experiments/README.md defines it."""
    point: int
    policy: str
    client: str
    swept: tuple  # as in Summary
    jobs: int  # finished, in all runs
    starved_runs: int
    latency: dict  # p50, p90, p95, p99, p999 -> Measured, in ns; NaN where the client starved
    bounds: tuple  # those of them that are lower bounds, and not known well enough all the same
    slo_ns: float  # 0 where it has none
    attainment: Measured
    throughput: Measured  # jobs finished per second
    upper: tuple = ()  # of attainment and throughput those that are upper bounds, as it was killed or refused

    def bound(self, name):
        """Of a latency, attainment or throughput, as that of Summary."""
        return 'at least' if name in self.bounds else 'at most' if name in self.upper else ''


@dataclass(frozen=True)
class Over:
    """The points that a published value is of: from its own to the last one."""
    to: int
    take: str  # mean, median, min or max


@dataclass(frozen=True)
class Published:
    figure: str
    point: int
    policy: str
    client: str
    metric: str
    relation: str
    published: float
    measured: float
    relative_error: float
    kind: str  # one of KINDS
    verdict: str
    relative_to: str
    note: str
    over: object  # Over, where it is the mean, median, least or largest of several points
    change: str = ''  # overhead, loss or speedup: what is compared in the place of the metric
    printed_to: float = math.nan  # of a range: its other end
    bound: str = ''  # what the real value is beside `measured`: a key of SIGNS

    def of_several_clients(self):
        return ' of ' in self.client


@dataclass(frozen=True)
class Results:
    path: Path
    title: str
    replications: int  # 0 where the manifest does not say
    swept: tuple  # the paths of the swept parameters
    summary: list
    clients: list
    published: list = field(default_factory=list)
    world: str = ''  # where the manifest says it
    endless: bool = False  # runs end at a horizon
    services: list = field(default_factory=list)  # Service, where the folder has them
    chosen: tuple = ()  # metrics that somebody asked for, in the place of the usual ones
    experiment: str = ''  # its name, where the manifest says it
    failed: tuple = ()  # Failed
    runs: int = 0  # of each point and policy; 0 where the manifest does not say
    busy: bool = False  # whether, as the manifest says, every client always has a job
    definitions: dict = field(default_factory=dict)  # of metrics: key of the experiment -> which it is

    def starved(self, point, policy):
        """The clients that finished no job in some run of that point and policy."""
        return next((row.starved for row in self.summary if (row.point, row.policy) == (point, policy)), ())

    def bounds(self, metrics):
        """What unfinished jobs make of values of these metrics: keys of SIGNS."""
        return {row.bound(metric) for row in self.summary for metric in metrics} - {''}

    def title_of_first_runs(self):
        """Of a figure that shows only the first run of each point and policy."""
        return self.title if self.runs == 1 else f'{self.title} – the first ' + (f'of {self.runs} runs' if self.runs else 'run')

    def interval_label(self, shown, cut=False):
        """What legends call the intervals of these values; empty where none has one. cut: whether a panel cuts some of them off."""
        pooled = {value.centre is not None for value in shown if value.half_width}
        label = (names.interval_of_mean if True in pooled else names.interval)(self.replications) if pooled else ''
        return f'{label} (some cut off)' if label and cut else label

    def alone(self):
        """Whether each point has a single client."""
        return len({(row.point, row.client) for row in self.clients}) == len({row.point for row in self.clients})

    def metrics(self):
        """Of all clients together, those that figures show: the efficiency only where published values speak of it."""
        if self.chosen:
            return list(self.chosen)
        return [*METRICS, *([_EFFICIENCY] if any(row.metric == _EFFICIENCY for row in self.published) else [])]

    def label(self, point, policy):
        """What tells a run from the others: the policy if there are several, and the swept parameters that differ."""
        several = len({row.policy for row in self.summary}) > 1
        return ', '.join(filter(None, [policy if several else '', self.setting(point, policy)]))

    def setting(self, point, policy):
        """What tells a point from the others: the swept parameters that differ."""
        rows = {(row.point, row.policy): row for row in self.summary}
        varying = [index for index in range(len(self.swept)) if len({row.swept[index] for row in self.summary}) > 1]
        swept = [names.setting(self.swept[index], rows[point, policy].swept[index]) for index in varying
                 if (point, policy) in rows]
        return ', '.join(swept)

    def published_metrics(self):
        """The published values that stand beside a bar or line: absolute, for all clients together, of one point. A
        value that should be met and is ranked too comes once, as one to be met."""
        return [in_figures(row) for row in self._published_absolute() if row.metric in self.metrics() and not row.client]

    def published_ntts(self):
        """Published NTTs of clients: of one point or of several, bounds too. A value that is compared with another
        policy's or client's is left out."""
        return [row for row in self._published_absolute(bounds=True) if row.metric == 'ntt' and row.client]

    def _published_absolute(self, bounds=False):
        def value(row):
            return row.point, row.policy, row.client, row.metric, row.published, row.over

        relations = ('=', 'order', '<', '>') if bounds else ('=', 'order')

        shown = {(row.point, row.policy) for row in self.summary}
        relative = {value(row) for row in self.published if row.relative_to}  # which may be ranked as they are, too
        once = {}
        for row in sorted(self.published, key=lambda row: KINDS.index(row.kind)):
            if (row.relation in relations and value(row) not in relative and (bounds or not row.over) and not row.of_several_clients()
                    and row.change in ('', 'overhead') and (row.point, row.policy) in shown):
                once.setdefault(value(row), replace(row, published=row.published + 1) if row.change else row)
        return once.values()


def read(path, chosen=()):
    """The result folder at `path`. `chosen`: columns of summary.csv that figures are to show."""
    path = Path(path)
    if not path.is_dir():
        raise InputError(path, 'a file' if path.exists() else 'nothing', 'a result folder')
    manifest = read_json(path / 'manifest.json') if (path / 'manifest.json').exists() else {}
    configuration = _find_experiment(manifest)
    swept, summary, failed = _read_summary(path / 'summary.csv', configuration, chosen)
    return Results(
        path, _title(manifest, configuration, path),
        _count(configuration.get('replications')), swept, summary,
        _read_clients(path / 'clients.csv'), read_published(path / 'published.csv'),
        str(manifest.get('world') or '') if isinstance(manifest, dict) else '',
        'horizon' in configuration, _read_services(path, configuration), tuple(chosen),
        str(manifest.get('experiment') or '') if isinstance(manifest, dict) else '', failed,
        _count(configuration.get('replications', 1)) * _count(configuration.get('permutations', 1)) if configuration else 0,
        load.is_full(configuration, swept), {key: str(configuration.get(key, usual)) for key, usual in _DEFINITIONS.items()})


def _title(manifest, configuration, path):
    """The experiment's; with the policies whose results are better than a chip's, as kernels do not wait for room there."""
    best = manifest.get('best_cases') if isinstance(manifest, dict) else None
    title = str(configuration.get('title') or configuration.get('name') or path.resolve().name)
    return f"{title} ({', '.join(map(str, best))}: a best case)" if isinstance(best, list) and best else title


def read_all_responses(path):
    """The same over all runs of each, numbered through."""
    file, found = Path(path) / 'jobs.csv', {}
    for line, cells in _read_jobs(file, ['response_ns']):
        point, policy, _, _, client, _, response = cells
        row = Row(file, line, {'point': point, 'response_ns': response})
        jobs = found.setdefault((row.index('point'), policy), {}).setdefault(client, {})
        jobs[len(jobs)] = row.number('response_ns') / 1e6
    return dict(sorted(found.items()))


def read_responses(path):
    """(point, policy) -> client -> {job: response time in ms}, of the first run of each; NaN for jobs that did not
    finish; empty where the folder has no jobs.csv."""
    file, found = Path(path) / 'jobs.csv', {}
    for line, cells in _read_jobs(file, ['response_ns']):
        point, policy, replication, permutation, client, job, response = cells
        if (replication, permutation) == ('0', '0'):
            row = Row(file, line, {'point': point, 'job': job, 'response_ns': response})
            jobs = found.setdefault((row.index('point'), policy), {}).setdefault(client, {})
            jobs[row.index('job')] = row.number('response_ns') / 1e6
    return dict(sorted(found.items()))


def read_evictions(path):
    """(point, policy) -> {priority: evictions of all jobs that had it}, where jobs of one client had several; else empty."""
    file, found, levels = Path(path) / 'jobs.csv', {}, {}
    if 'priority' not in csv_file.columns(file):  # a folder from before there was one
        return {}
    for line, cells in _read_jobs(file, ['evictions', 'priority']):
        point, policy, _, _, client, _, evictions, priority = cells
        row = Row(file, line, {'point': point, 'evictions': evictions, 'priority': priority})
        counts, level = found.setdefault((row.index('point'), policy), {}), int(row.number('priority'))
        counts[level] = counts.get(level, 0) + row.index('evictions')
        levels.setdefault(client, set()).add(level)
    return dict(sorted(found.items())) if any(len(of_client) > 1 for of_client in levels.values()) else {}


def read_launches(path):
    """(policy, client) -> overhead in ms of each launch, over all finished jobs: response less standalone time."""
    sums = {}
    for line, cells in _read_jobs(Path(path) / 'jobs.csv', ['response_ns', 'standalone_ns', 'launches']):
        _, policy, _, _, client, _, response, standalone, launches = cells
        row = Row(path, line, {'response_ns': response, 'standalone_ns': standalone, 'launches': launches})
        if response:
            overhead, count = sums.get((policy, client), (0, 0))
            sums[policy, client] = (overhead + row.number('response_ns') - row.number('standalone_ns'),
                                    count + row.index('launches'))
    return {key: overhead / 1e6 / count for key, (overhead, count) in sums.items()}


def _read_jobs(file, columns):
    """(line, cells) of jobs.csv: what names the job, then the columns; none where there is no such file."""
    if not file.exists():
        return
    with csv_file.lines(file, [*_JOB_KEY, *columns]) as (header, lines):
        chosen = operator.itemgetter(*map(header.index, [*_JOB_KEY, *columns]))
        for line, cells in lines:
            yield line, chosen(cells)


def read_job_ntts(path):
    """(point, policy, replication, permutation, client, job), as texts, -> NTT, NaN of a job that did not finish; None
    where the folder has no jobs.csv."""
    file = Path(path) / 'jobs.csv'
    if not file.exists():
        return None
    ntts = {}
    for line, (*key, ntt) in _read_jobs(file, ['ntt']):  # without a Row for each: there may be a million
        try:
            value = float(ntt) if ntt else math.nan
        except ValueError:
            value = 0
        if ntt and not 0 < value < math.inf:
            raise InputError(file, f"'{ntt}'", 'a number above 0', line, 'ntt')
        ntts[tuple(key)] = value
    return ntts


def open_text(file, **options):
    """Opens a file, compressed (.gz) or not."""
    return (gzip.open if str(file).endswith('.gz') else open)(file, 'rt', encoding='utf-8', **options)


def read_json(file):
    if not Path(file).is_file():
        raise InputError(file, 'no such file', 'JSON')
    try:
        with open_text(file) as stream:
            return json.load(stream)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(file, 'no whole gzip file', 'compressed JSON') from None
    except json.JSONDecodeError as error:
        raise InputError(file, error.msg, 'JSON', error.lineno) from None
    except UnicodeDecodeError:
        raise InputError(file, 'bytes that are not UTF-8', 'JSON') from None


def in_figures(published):
    """A published value in the unit that figures show."""
    scale = names.scale(published.metric)
    return replace(published, published=published.published * scale, printed_to=published.printed_to * scale) if scale != 1 else published


def _read_summary(file, configuration, chosen):
    usual = [name + suffix for name in METRICS for suffix in ('', '_ci95')]
    columns, rows = read_table(file, ['point', 'policy', *usual, 'evictions'])
    begin = metrics.first('point')
    for name in chosen:
        if name not in columns[columns.index(begin):] or any(row.text(name) and math.isnan(row.number(name)) for row in rows):
            raise InputError(file, f"no metric '{name}'", 'a column of numbers behind the swept parameters', 1, name)
    _refuse_empty(file, rows)
    swept = _Swept(columns, 'policy', begin, rows, configuration)
    key = ('point', 'policy')
    means = _means_over_replications(file.with_name('replications.csv'), key, [_P99] if any(row.text(_P99 + '_ci95') for row in rows) else [])

    def measured(row, name):
        return _of_all_jobs(row, name, means, key) if name == _P99 else row.measured(name)

    summary = [Summary(row.index('point'), row.text('policy'), swept.texts(row),
                       {name: measured(row, name).scaled(names.scale(name)) for name in (*METRICS, _EFFICIENCY, *chosen)},
                       row.number('evictions'), row.number('jain'), measured(row, _P99), row.number('makespan_ns'), _names(row.text('starved')),
                       row.index('unfinished'), row.text('percentiles'), _names(row.text('understated')), row.number(_P99 + '_most'))
               for row in _without_failed(file, rows)]
    failed = [Failed(row.index('point'), row.text('policy'), swept.texts(row), row.text('error')) for row in rows if row.text('error')]
    return swept.paths, summary, tuple(failed)


_BASE_UNITS = ('_ns', '_bytes', '_bytes_per_second', '_per_second', '_share')


def swept_paths(columns, after, before):
    """The swept paths among a table's columns: those between two others, without what repeats the one before it in a
    base unit."""
    found = columns[columns.index(after) + 1:columns.index(before)]
    return tuple(name for last, name in zip(['', *found], found) if name not in [last + unit for unit in _BASE_UNITS])


class _Swept:
    """The swept parameters among a table's columns, as figures have them."""

    def __init__(self, columns, after, before, rows, configuration):
        self._columns = swept_paths(columns, after, before)
        self._parameters = together.OneOfEach(self._columns, map(self._cells, rows), configuration)
        self.paths = self._parameters.paths

    def _cells(self, row):
        return tuple(row.text(path) for path in self._columns)

    def texts(self, row):
        return self._parameters.texts(self._cells(row))


def _without_failed(file, rows):
    """Rows of runs that could not be played have an error and nothing else."""
    left = [row for row in rows if not row.text('error')]
    if len(left) < len(rows):
        print(f'note: {file}: {len(rows) - len(left)} of {len(rows)} results failed and are left out', file=sys.stderr)
    return left


def _read_clients(file):
    _, rows = read_table(file, ['point', 'policy', 'client', 'ntt', 'ntt_ci95', 'standalone_ns'])
    _refuse_empty(file, rows)
    return [Client(row.index('point'), row.text('policy'), row.text('client'), row.measured('ntt'),
                   row.number('standalone_ns'), _read_slices(row), row.index('unfinished'),
                   row.index('starved_runs'), row.text('percentiles'), _names(row.text('lower_bounds'))) for row in rows]


_PERCENTILES = ('p50', 'p90', 'p95', 'p99', 'p999')


def _read_services(path, configuration):
    file = path / 'services.csv'
    if not file.exists():
        return []
    latencies = {name: f'latency_ns_{name}' for name in _PERCENTILES}
    pooled = [*latencies.values(), 'attainment']
    columns, rows = read_table(file, ['point', 'policy', 'client', *pooled, 'throughput_per_s'])
    swept, key = _Swept(columns, 'policy', 'client', rows, configuration), ('point', 'policy', 'client')
    means = _means_over_replications(path / 'service_replications.csv', key, pooled)

    def measured(row, column):
        return _of_all_jobs(row, column, means, key)

    return [Service(row.index('point'), row.text('policy'), row.text('client'), swept.texts(row),
                    row.index('jobs'), row.index('starved_runs'), {name: measured(row, column) for name, column in latencies.items()},
                    _bounds_of_service(row), row.index('slo_ns'), measured(row, 'attainment'),
                    row.measured('throughput_per_s'),
                    tuple(name.removesuffix('_per_s') for name in _names(row.text('upper_bounds')))) for row in rows]


def _of_all_jobs(row, column, means, key):
    return replace(row.measured(column), centre=means.get(tuple(map(row.text, key)), {}).get(column, math.nan))


def _means_over_replications(file, key, columns):
    """Texts of the key's columns -> {column: mean over replications that have a value}: what the intervals of values of all jobs are around."""
    if not columns or not file.exists():
        return {}
    found = {}
    with csv_file.lines(file, [*key, *columns]) as (header, lines):
        of_key, chosen = ([header.index(name) for name in names_of] for names_of in (key, columns))
        for line, cells in lines:
            row = Row(file, line, {header[place]: cells[place] for place in chosen})
            found.setdefault(tuple(cells[place] for place in of_key), []).append([row.number(column) for column in columns])
    return {key: {column: _mean([value for value in values if not math.isnan(value)]) for column, values in zip(columns, zip(*rows))}
            for key, rows in found.items()}


def _mean(values):
    return sum(values) / len(values) if values else math.nan


def _bounds_of_service(row):
    known = is_known(row.number('latency_ns_p99'), row.number('latency_ns_p99_most'))
    return tuple(name for name in _names(row.text('lower_bounds')) if name in _PERCENTILES and (name != 'p99' or not known))


def is_known(value, most):
    """Whether a lower bound counts as exact, as the largest possible value (NaN: unlimited) hardly differs from it."""
    return most - value < TIE * value


def _names(text):
    return tuple(text.split('|')) if text else ()


def _read_slices(row):
    return Slices(row.number('slice_share'), row.number('slices_in_a_row')) if 'slice_share' in row.cells else None


def read_published(file):
    """The published values of a result folder, beside what was measured."""
    if not file.exists():
        return []  # not every experiment reproduces a paper
    _, rows = read_table(file, ['figure', 'point', 'policy', 'client', 'metric', 'relation', 'published',
                                 'measured', 'relative_error', 'class', 'verdict'])
    return [_published(row) for row in rows]


def _published(row):
    metric, _, relative_to = row.text('metric').partition('/')  # 'antt/sjf': as a multiple of another policy's
    return Published(
        *(row.text('figure'), row.index('point'), row.text('policy'), row.text('client'), metric),
        row.choice('relation', ('=', '<', '>', 'in', 'order')),
        *(row.number(key) for key in ('published', 'measured', 'relative_error')),
        row.choice('class', KINDS),
        row.choice('verdict', VERDICTS),
        relative_to, row.text('note'), Over(row.index('last_point'), row.text('take')) if row.text('take') else None,
        row.text('as'), row.number('published_to'), row.choice('bound', tuple(SIGNS)))


def _refuse_empty(file, rows):
    if not rows:
        raise InputError(file, 'no rows', 'one for each point and policy', 1)


def _find_experiment(value):
    """The resolved experiment within the manifest; empty where there is none: only titles come from it."""
    if not isinstance(value, dict) or 'policies' in value:
        return value if isinstance(value, dict) else {}
    return next(filter(None, map(_find_experiment, value.values())), {})


def _count(value):
    return int(value) if str(value).isdecimal() else 0
