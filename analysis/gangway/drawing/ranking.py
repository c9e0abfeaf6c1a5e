"""Policies ranked on several workloads: rows of result folders in, a table for each metric out."""
import math
from dataclasses import dataclass

from gangway import metrics
from gangway.drawing import names, results

_EFFICIENCY = 'concurrency_efficiency'


@dataclass(frozen=True)
class Metric:
    name: str
    title: str
    lower: bool  # is better
    about: str
    absolute_tie: float = 0  # values that differ by less are as good, as are
    tie: float = results.TIE  # those that differ by less than this share of them; where there are no intervals


def _measured(column, name=None, more=''):
    """A metric of summary.csv; `more`: what this page adds to what it is."""
    found = metrics.named(column)
    return Metric(name or column, found.label, found.better == 'lower', found.summary.rstrip('.') + more + '.')


METRICS = [
    *map(_measured, metrics.ranked()),
    _measured('p99_response_ns', 'p99'),
    _measured('jain'),
    Metric('overhead', 'overhead', True,
           'Where every client ends, by how much the makespan exceeds the shortest of any policy on this workload, since all do the same '
           'work (policies under which jobs are killed or refused do less: they come after those that do all, and before those that let '
           'clients starve); where clients loop (*), how much of the best efficiency is lost, the sum over clients of time alone over time when '
           'sharing, per job.', absolute_tie=0.005, tie=0)]


@dataclass(frozen=True)
class Entry:
    """One policy's value on one workload."""
    value: results.Measured  # NaN where a client starves
    starved: tuple  # the clients that do: not every run finished a job of theirs
    bound: str = ''  # a key of results.SIGNS
    less_work: bool = False  # jobs were killed or refused, and the value would be better for it

    @property
    def sign(self):
        return results.SIGNS[self.bound].strip()


class Workload:
    """A result folder of one point, as a column of the tables."""

    def __init__(self, found):
        if len({row.point for row in found.summary}) > 1:
            raise results.InputError(found.path, 'several points', 'an experiment without a sweep')
        self.name, self.title, self.endless = found.path.resolve().name, found.title, found.endless
        self._summary = {row.policy: row for row in found.summary}

    @property
    def policies(self):
        return list(self._summary)

    def starved(self, policy):
        """The clients that starve under it."""
        return self._summary[policy].starved

    def entry(self, metric, policy):
        row = self._summary[policy]
        if row.starved:
            return Entry(_plain(math.nan), row.starved)
        return Entry(self._value(metric.name, row), (), self._bound(metric.name, row), metric.name == 'overhead' and self._did_less(row))

    def _did_less(self, row):
        """Whether its makespan is of fewer jobs than the workload has; where clients loop, that is no measure."""
        return not self.endless and bool(row.bound('makespan_ns'))

    def _bound_of_makespans(self, row):
        """Of one over the shortest, which is a bound itself if all are."""
        bound = row.bound('makespan_ns')
        return 'rough' if bound and all(self._did_less(each) for each in self._summary.values() if not each.starved) else bound

    def _bound_of_lost_efficiency(self, row):
        """Where the best, to which all are compared, is a bound, so is what any other loses against it."""
        best = max((each for each in self._summary.values() if not each.starved), key=lambda each: each.metrics[_EFFICIENCY].mean)
        return 'rough' if row.bound(_EFFICIENCY) or best.bound(_EFFICIENCY) else ''

    def _bound(self, metric, row):
        if metric == 'overhead':
            return self._bound_of_lost_efficiency(row) if self.endless else self._bound_of_makespans(row)
        return row.bound('p99_response_ns' if metric == 'p99' else metric)

    def _value(self, metric, row):
        if metric in results.METRICS:
            return row.metrics[metric]
        if metric == 'p99':
            return row.p99
        if metric == 'jain':
            return _plain(row.jain)
        every = [each for each in self._summary.values() if not each.starved]
        if self.endless:
            return _plain(1 - row.metrics[_EFFICIENCY].mean / max(each.metrics[_EFFICIENCY].mean for each in every))
        shortest = min(each.makespan_ns for each in [each for each in every if not self._did_less(each)] or every)
        return _plain(row.makespan_ns / shortest - 1)

    def ranks(self, metric):
        """policy -> 1 + how many are better than it: by more than both intervals together, or, where there are none, by more
        than what counts as a tie. Whoever lets a client starve comes after all that do not; where all do nobody has a rank."""
        entries = {policy: self.entry(metric, policy) for policy in self._summary}
        if all(entry.starved for entry in entries.values()):
            return {}
        return {policy: 1 + sum(_better(other, entry, metric) for other in entries.values())
                for policy, entry in entries.items()}


def _plain(mean):
    return results.Measured(mean, math.nan)


def _better(one, other, metric):
    less_work = one.less_work, other.less_work
    one, other = one.value, other.value
    if math.isnan(one.mean) or math.isnan(other.mean):
        return not math.isnan(one.mean) and math.isnan(other.mean)
    if any(less_work) and not all(less_work):
        return less_work[1]
    # Of values of all jobs the intervals are of their means over replications: these are what they can tell apart.
    first, second = one.middle, other.middle
    if math.isnan(first + one.ci95 + second + other.ci95):
        first, second = one.mean, other.mean
    gain = second - first if metric.lower else first - second
    tie = max(metric.absolute_tie, metric.tie * max(abs(one.mean), abs(other.mean)))
    return gain > (one.half_width + other.half_width or tie)


def digits(value, count=3):
    """So many of them: 0.0493, 1.76, 28.4, 622."""
    if value == 0:
        return '0'
    rounded = float(f'{value:.{count}g}')
    return f'{rounded:.{max(0, count - 1 - math.floor(math.log10(abs(rounded))))}f}'


class Table:
    """A metric: cells and ranks by policy and workload, policies by mean rank."""

    def __init__(self, metric, workloads):
        self.metric, self.workloads = metric, workloads
        self.ranks = {workload.name: workload.ranks(metric) for workload in workloads}
        self.mean_rank = mean_ranks(self.ranks.values())
        every = {policy for workload in workloads for policy in workload.policies}
        self.policies = sorted(every, key=lambda policy: (self.mean_rank.get(policy, math.inf), policy))

    def entry(self, policy, workload):
        return workload.entry(self.metric, policy) if policy in workload.policies else None

    def signs(self):
        """What those before values mean; empty where there are none."""
        bounds = {workload.entry(self.metric, policy).bound for workload in self.workloads for policy in workload.policies}
        said = ', '.join(f'{sign}{bound}' for bound, sign in results.SIGNS.items() if bound and bound in bounds)
        return f' Unfinished jobs make values bounds: {said}.' if said else ''

    def scale(self, workload):
        """What values are divided by, and their unit."""
        if self.metric.name == 'overhead':
            return 0.01, '%'
        if self.metric.name != 'p99':
            return 1, ''
        largest = max((entry.value.mean for entry in map(lambda policy: workload.entry(self.metric, policy), workload.policies)
                       if not math.isnan(entry.value.mean)), default=0)
        return (1e9, 's') if largest >= 1e10 else (1e6, 'ms')


def mean_ranks(rankings):
    """policy -> its mean rank over those of the rankings that have it."""
    found = {}
    for ranks in rankings:
        for policy, rank in ranks.items():
            found.setdefault(policy, []).append(rank)
    return {policy: sum(ranks) / len(ranks) for policy, ranks in found.items()}


def tables(workloads):
    return [Table(metric, workloads) for metric in METRICS]


def markdown(made):
    """All tables as a page."""
    overview = mean_ranks([table.mean_rank for table in made])
    policies = sorted({policy for table in made for policy in table.policies},
                      key=lambda policy: (overview.get(policy, math.inf), policy))
    lines = ['# Mean ranks', '', 'Over the workloads that a policy can play; 1 is best. A rank is 1 + how many policies are better by more than both '
             '95 % intervals (±) together; where there is none, by more than 1 %, and of overheads by more than half a percentage point. Of p99, '
             'which is of all jobs, the interval [low, high] is of the mean over replications, and these means are compared. A policy '
             'under which a client starves (finishes no job in some run) comes after all others; where clients starve under all, none has a '
             'rank.' + _said_of_bounds(made), '',
             *_rows(['policy', 'decides', *(table.metric.title for table in made), 'mean'],
                    [[policy, names.family(policy), *(_rank(table.mean_rank, policy) for table in made), _rank(overview, policy)]
                     for policy in policies])]
    for table in made:
        direction = 'lower' if table.metric.lower else 'higher'
        lines += ['', f'# {table.metric.title} ({direction} is better)', '', table.metric.about + table.signs(), '',
                  *_rows(['policy', *(_heading(table, workload) for workload in table.workloads), 'mean rank'],
                         [[policy, *(_cell(table, policy, workload) for workload in table.workloads),
                           _rank(table.mean_rank, policy)] for policy in table.policies])]
    return '\n'.join(lines) + '\n'


def _said_of_bounds(made):
    bounded = any(table.signs() for table in made)
    return ' Values that unfinished jobs make bounds (≥, ≤, ~) are ranked as they stand, so real ranks may differ.' if bounded else ''


def _rank(ranks, policy):
    return f'{ranks[policy]:.1f}' if policy in ranks else '-'


def _heading(table, workload):
    _, unit = table.scale(workload)
    return workload.name + (f' ({unit})' if unit else '') + ('\\*' if table.metric.name == 'overhead' and workload.endless else '')


def _cell(table, policy, workload):
    """Value, its interval, rank."""
    entry = table.entry(policy, workload)
    if entry is None:
        return ''
    divisor, _ = table.scale(workload)
    ranks = table.ranks[workload.name]
    rank = f'**{ranks[policy]}**' if policy in ranks else ''
    if entry.starved:
        return f"starved: {', '.join(entry.starved)} {rank}".rstrip()
    value, interval = entry.value.mean / divisor, ''
    if entry.value.half_width and entry.value.centre is None:
        interval = f' ±{digits(entry.value.ci95 / divisor, 2)}'
    elif entry.value.half_width:
        interval = f' [{", ".join(digits(end / divisor) for end in entry.value.interval)}]'
    return f"{entry.sign}{f'{value:.1f}' if table.metric.name == 'overhead' else digits(value)}{interval} {rank}"


def _rows(heading, rows):
    return ['| ' + ' | '.join(cells) + ' |' for cells in (heading, ['---'] * len(heading), *rows)]


def csv_rows(made):
    """The same for programs: a line for each metric, workload and policy, in the units of the folders (ns, shares)."""
    yield ['metric', 'workload', 'policy', 'value', 'ci95', 'rank', 'starved', 'bound', 'centre']
    for table in made:
        for workload in table.workloads:
            for policy in sorted(workload.policies):
                entry = table.entry(policy, workload)
                yield [table.metric.name, workload.name, policy, _text(entry.value.mean), _text(entry.value.ci95),
                       table.ranks[workload.name].get(policy, ''), '|'.join(entry.starved), entry.bound,
                       '' if math.isnan(entry.value.ci95) else _text(entry.value.middle)]


def _text(number):
    return '' if math.isnan(number) else repr(number)
