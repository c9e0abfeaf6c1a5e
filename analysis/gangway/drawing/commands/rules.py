"""Which rules of the GPU's queues hold on a real one: compares measured block timelines with predicted ones.

Each experiment of experiments/rules/ names the rules that it shows as swept parameters: its points are predictions with
a rule on and off, and repetitions of the same measurement. A rule holds where what was measured is as predicted with the
rule and not as predicted without."""
import json
import statistics
from dataclasses import dataclass
from pathlib import Path

from gangway import metrics
from gangway.drawing import block_times, command, findings
from gangway.drawing.percentiles import nearest_rank
from gangway.drawing.results import InputError, read_json, read_table, swept_paths

TOLERANCE_NS, TOLERANCE_SHARE = 3_000, 0.02  # of the time since the first block
_RULES = 'device.rules.'
_MOST_OUTSIDE = 0.02  # of block starts and ends


@dataclass(frozen=True)
class Fit:
    """How far starts and ends are from one prediction, in ns, and which share is outside the tolerance."""
    starts: list
    ends: list
    outside: float

    @property
    def good(self):
        return self.outside <= _MOST_OUTSIDE

    @property
    def mean(self):
        return statistics.fmean(map(abs, self.starts + self.ends))

    def text(self):
        return f'{_spread(self.starts)}  {_spread(self.ends)}  {100 * self.outside:5.1f} %'


def _spread(errors):
    ordered = sorted(map(abs, errors))
    of = lambda share: nearest_rank(ordered, share) / 1000
    return f'{of(0.5):7.1f} {of(0.99):7.1f} {ordered[-1] / 1000:7.1f}'


@dataclass(frozen=True)
class Verdict:
    subject: str  # 'RTSS17.X1', or the experiment's name where it shows no single rule
    experiment: str
    holds: str  # 'holds', 'does not hold', 'not as modelled', 'not shown'
    with_rule: Fit
    without: object  # Fit or None


@dataclass(frozen=True)
class Experiment:
    name: str
    swept: tuple
    values: dict      # point -> texts of swept parameters
    predicted: dict   # point -> Timeline
    measured: list    # Timelines
    conditions: list  # of the machines that measured, as their manifests tell


def compare(predicted, measured):
    """The Fit of one measured timeline to a prediction; None where other blocks ran."""
    blocks_of = lambda times: {operation: len(times.begins(operation)) for operation in times.spans}
    if blocks_of(predicted) != blocks_of(measured):
        return None
    shift = predicted.first_block() - measured.first_block()
    starts, ends, outside = [], [], 0
    for operation in predicted.spans:
        copy = predicted.spans[operation][0].sm < 0
        for of, errors in ((block_times.Timeline.begins, starts), (block_times.Timeline.ends, ends)):
            if copy and errors is starts:
                continue  # a real device does not tell when a copy begins
            for expected, seen in zip(of(predicted, operation), of(measured, operation)):
                error = seen + shift - expected
                errors.append(error)
                outside += abs(error) > max(TOLERANCE_NS, TOLERANCE_SHARE * (expected - predicted.first_block()))
    return Fit(starts, ends, outside / (len(starts) + len(ends)))


def _pooled(fits):
    # The typical timeline decides: now and then the host releases a job late.
    return Fit([e for f in fits for e in f.starts], [e for f in fits for e in f.ends],
               statistics.median_low(f.outside for f in fits))


def fits_of(experiment):
    """point -> Fit to all that was measured."""
    found = {}
    for point, predicted in experiment.predicted.items():
        fits = [compare(predicted, measured) for measured in experiment.measured]
        if None in fits:
            raise InputError(experiment.name, 'other blocks than those predicted', 'the same experiment in both')
        found[point] = _pooled(fits)
    return found


def judge(experiment):
    """Verdicts, one for each swept parameter, or one in all."""
    fits = fits_of(experiment)
    if not experiment.swept:
        fit = fits[min(fits)]
        return [Verdict(experiment.name, experiment.name, 'as modelled' if fit.good else 'not as modelled', fit, None)]
    verdicts = []
    for column, path in enumerate(experiment.swept):
        first = experiment.values[min(fits)][column]  # as the device file has it: on
        by_mean = lambda points: min((fits[p] for p in points), key=lambda fit: fit.mean)
        fit = by_mean([p for p in fits if experiment.values[p][column] == first])
        without = by_mean([p for p in fits if experiment.values[p][column] != first])
        subject = path.removeprefix(_RULES).removeprefix('device.')
        verdicts.append(Verdict(subject, experiment.name, _word(fit, without), fit, without))
    return verdicts


def _word(fit, without):
    if fit.good and without.good:
        return 'not shown'
    if fit.good:
        return 'holds'
    if without.good:
        return 'does not hold'
    return 'holds, roughly' if fit.mean * 5 < without.mean else 'not as modelled'


def read_experiments(simulated, measured):
    """All experiments that have a folder in both. `measured`: folders of result folders, or of recordings."""
    found = []
    for folder in sorted(path for path in Path(simulated).iterdir() if (path / 'summary.csv').is_file()):
        seen, conditions = [], []
        for place in map(Path, measured):
            if (place / f'{folder.name}.csv').is_file():
                seen.append(block_times.read_recorded(place / f'{folder.name}.csv'))
            elif (place / folder.name).is_dir():
                traces = block_times.read_traces(place / folder.name)
                seen += traces.values()
                manifest = read_json(place / folder.name / 'manifest.json')
                conditions.append({**manifest.get('host', {}), 'start': manifest.get('start'),
                                   'clock_uncertainty_ns': max(t.uncertainty_ns for t in traces.values())})
        if not seen:
            continue
        columns, rows = read_table(folder / 'summary.csv', ['point', 'policy', metrics.first('point')])
        swept = swept_paths(columns, 'policy', metrics.first('point'))
        values = {row.index('point'): tuple(row.text(path) for path in swept) for row in rows}
        found.append(Experiment(folder.name, swept, values, block_times.read_traces(folder), seen, conditions))
    if not found:
        raise InputError(simulated, 'no experiment that was measured as well', 'a folder for each experiment, in both')
    return found


def table(experiments):
    lines = [f"{'experiment':22}{'rule':27}{'verdict':17}{'start: median':>15} {'p99':>7} {'max':>7}"
             f"{'  end: median':>13} {'p99':>6} {'max':>7}  outside",
             f"{'':22}{'':27}{'':17}{'(us; of n timelines)':>31}"]
    for experiment in experiments:
        for verdict in judge(experiment):
            subject = verdict.subject if verdict.subject != experiment.name else ''
            lines.append(f'{experiment.name:22}{subject:27}{verdict.holds:17}{verdict.with_rule.text():>54}'
                         f'   n={len(experiment.measured)}')
            if verdict.without:
                lines.append(f"{'':22}{'':27}{'   without':17}{verdict.without.text():>54}")
    return '\n'.join(lines)


def verdicts_json(experiments):
    def fit(of):
        return of and {'start_ns_p50': _quantile(of.starts, 0.5), 'start_ns_p99': _quantile(of.starts, 0.99),
                       'start_ns_max': _quantile(of.starts, 1), 'end_ns_p50': _quantile(of.ends, 0.5),
                       'end_ns_p99': _quantile(of.ends, 0.99), 'end_ns_max': _quantile(of.ends, 1),
                       'outside': of.outside}
    return [{'experiment': v.experiment, 'subject': v.subject, 'verdict': v.holds, 'with': fit(v.with_rule),
             'without': fit(v.without)} for experiment in experiments for v in judge(experiment)]


def _quantile(errors, share):
    return nearest_rank(sorted(map(abs, errors)), share)


def typical(experiment):
    """The measured timeline that is neither the nearest to the best prediction nor the farthest from it."""
    best = min(fits_of(experiment).items(), key=lambda item: item[1].mean)[0]
    fit = lambda timeline: compare(experiment.predicted[best], timeline)
    ordered = sorted(experiment.measured, key=lambda timeline: (fit(timeline).outside, fit(timeline).mean))
    return ordered[(len(ordered) - 1) // 2]


def record(experiments, folder):
    """Keeps of each experiment the typical measured timeline, and what measured it."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for experiment in experiments:
        block_times.write_table(folder / f'{experiment.name}.csv', typical(experiment))
    conditions = {e.name: e.conditions[0] for e in experiments if e.conditions}
    (folder / 'conditions.json').write_text(json.dumps(conditions, indent=1) + '\n', encoding='utf-8')


def main(arguments):
    experiments = read_experiments(arguments.simulated, arguments.measured)
    print(table(experiments))
    for experiment in experiments:
        for line in findings.of(experiment):
            print(f'{experiment.name}: {line}')
    if arguments.record:
        record(experiments, arguments.record)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(verdicts_json(experiments), indent=1) + '\n', encoding='utf-8')
    if arguments.out:
        command.need_matplotlib()
        from gangway.drawing import rules_figure
        rules_figure.draw(experiments, Path(arguments.out))


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser_of_nothing(__doc__)
    parser.add_argument('simulated', metavar='SIM',
                        help='a folder with a result folder (`--world sim --trace`) for each experiment')
    parser.add_argument('measured', metavar='MEASURED', nargs='+',
                        help='likewise of `--world cuda`, or a folder of recordings')
    parser.add_argument('--out', metavar='DIR', help='draws predicted and measured timelines there')
    parser.add_argument('--json', metavar='FILE', help='writes the table there')
    parser.add_argument('--record', metavar='DIR', help='keeps one timeline of each experiment there')
    return command.run(main, parser.parse_args(arguments))
