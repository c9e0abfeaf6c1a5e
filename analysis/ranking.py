"""Policies ranked on several workloads: rows of result folders in, a table for each metric out."""
import math
from dataclasses import dataclass

import names
import results

_EFFICIENCY = 'concurrency_efficiency'


@dataclass(frozen=True)
class Metric:
    name: str
    title: str
    lower: bool  # is better
    all_clients: bool  # has no value where a client finishes nothing
    about: str
    absolute_tie: float = 0  # values that differ by less are as good, as are
    tie: float = 0.01        # those that differ by less than this share of them; where there are no intervals


METRICS = [
    Metric('antt', 'ANTT', True, True, 'Mean over the clients of the normalised turnaround time, response over time alone.'),
    Metric('dntt', 'DNTT', True, True, 'Standard deviation of the same over the clients.'),
    Metric('stp', 'STP', False, False, 'Sum over the clients of time alone over response.'),
    Metric('p99', 'p99 response', True, True, '99th percentile of the response times of all jobs.'),
    Metric('jain', 'Jain', False, False, "Jain's index of progress, time alone over response: 1 where all progress alike; who finishes nothing progresses by 0."),
    Metric('overhead', 'overhead', True, False,
           'Where every client ends, by how much the makespan exceeds the shortest of any policy on this workload, since all do the same '
           'work; where clients loop (*), how much of the best efficiency is lost, the sum over clients of time alone over time when '
           'sharing, per job.', absolute_tie=0.005, tie=0)]


@dataclass(frozen=True)
class Entry:
    """One policy's value on one workload."""
    value: results.Measured  # NaN where a client finishes nothing and the metric is about all of them
    starved: int  # clients of which not every run finished a job
    clients: int


class Workload:
    """A result folder of one point, as a column of the tables."""

    def __init__(self, found):
        if len({row.point for row in found.summary}) > 1:
            raise results.InputError(found.path, 'several points', 'an experiment without a sweep')
        self.name, self.title, self.endless = found.path.resolve().name, found.title, found.endless
        self._summary = {row.policy: row for row in found.summary}
        self._starved = {policy: sum(row.jobs < max(1, found.runs) for row in found.clients if row.policy == policy)
                         for policy in self._summary}
        self._clients = len({row.client for row in found.clients})

    @property
    def policies(self):
        return list(self._summary)

    def starved(self, policy):
        return self._starved[policy]

    def entry(self, metric, policy):
        starved = self._starved[policy]
        value = self._value(metric.name, self._summary[policy], self._clients - starved)
        return Entry(results.Measured(math.nan, math.nan) if starved and metric.all_clients else value, starved, self._clients)

    def _value(self, metric, row, served):
        if metric in results.METRICS:
            return row.metrics[metric]
        if metric == 'p99':
            return _plain(row.p99_ns)
        if metric == 'jain':  # of those who finished something, and of all
            return _plain(row.jain * served / self._clients)
        every = self._summary.values()
        if self.endless:
            return _plain(1 - row.metrics[_EFFICIENCY].mean / max(each.metrics[_EFFICIENCY].mean for each in every))
        return _plain(row.makespan_ns / min(each.makespan_ns for each in every) - 1)

    def ranks(self, metric):
        """policy -> 1 + how many are better than it: by more than both intervals together, or, where there are none, by more
        than what counts as a tie."""
        entries = {policy: self.entry(metric, policy) for policy in self._summary}
        return {policy: 1 + sum(_better(other, entry, metric) for other in entries.values())
                for policy, entry in entries.items()}


def _plain(mean):
    return results.Measured(mean, math.nan)


def _better(one, other, metric):
    one, other = one.value, other.value
    if math.isnan(one.mean) or math.isnan(other.mean):
        return not math.isnan(one.mean) and math.isnan(other.mean)
    gain = other.mean - one.mean if metric.lower else one.mean - other.mean
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
        self.policies = sorted(self.mean_rank, key=lambda policy: (self.mean_rank[policy], policy))

    def entry(self, policy, workload):
        return workload.entry(self.metric, policy) if policy in workload.policies else None

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
    lines = ['# Mean ranks', '', 'Over the workloads that a policy can play; 1 is best. A rank is 1 + how many policies are better by more than both '
             '95 % intervals (±) together; where there is none, by more than 1 %, and of overheads by more than half a percentage point.', '',
             *_rows(['policy', 'decides', *(table.metric.title for table in made), 'mean'],
                    [[policy, names.family(policy), *(f'{table.mean_rank[policy]:.1f}' for table in made), f'{overview[policy]:.1f}']
                     for policy in sorted(overview, key=lambda policy: (overview[policy], policy))])]
    for table in made:
        direction = 'lower' if table.metric.lower else 'higher'
        lines += ['', f'# {table.metric.title} ({direction} is better)', '', table.metric.about, '',
                  *_rows(['policy', *(_heading(table, workload) for workload in table.workloads), 'mean rank'],
                         [[policy, *(_cell(table, policy, workload) for workload in table.workloads),
                           f'{table.mean_rank[policy]:.1f}'] for policy in table.policies])]
    return '\n'.join(lines) + '\n'


def _heading(table, workload):
    _, unit = table.scale(workload)
    return workload.name + (f' ({unit})' if unit else '') + ('\\*' if table.metric.name == 'overhead' and workload.endless else '')


def _cell(table, policy, workload):
    """Value, half-width of its interval, rank."""
    entry = table.entry(policy, workload)
    if entry is None:
        return ''
    divisor, _ = table.scale(workload)
    rank = f'**{table.ranks[workload.name][policy]}**'
    if math.isnan(entry.value.mean):
        return f'{entry.starved} of {entry.clients} starve {rank}'
    interval = f' ±{digits(entry.value.ci95 / divisor, 2)}' if entry.value.half_width else ''
    value = entry.value.mean / divisor
    return f"{f'{value:.1f}' if table.metric.name == 'overhead' else digits(value)}{interval} {rank}"


def _rows(heading, rows):
    return ['| ' + ' | '.join(cells) + ' |' for cells in (heading, ['---'] * len(heading), *rows)]


def csv_rows(made):
    """The same for programs: a line for each metric, workload and policy, in the units of the folders (ns, shares)."""
    yield ['metric', 'workload', 'policy', 'value', 'ci95', 'rank', 'starved']
    for table in made:
        for workload in table.workloads:
            for policy in sorted(workload.policies):
                entry = table.entry(policy, workload)
                yield [table.metric.name, workload.name, policy, _text(entry.value.mean), _text(entry.value.ci95),
                       table.ranks[workload.name][policy], entry.starved]


def _text(number):
    return '' if math.isnan(number) else repr(number)
