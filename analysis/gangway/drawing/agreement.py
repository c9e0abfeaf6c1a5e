"""How well a prediction agrees with a measurement: NTT of single jobs, their errors, and the metrics of each policy."""
import math
import statistics
from collections import Counter
from dataclasses import dataclass, replace

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator

from gangway.drawing import bars, names, style
from gangway.drawing.percentiles import nearest_rank
from gangway.drawing.results import METRICS, InputError, read, read_job_ntts

_BAND = 0.05           # of the measured value
_LOG_FROM = 15         # a ratio of largest to smallest NTT that crowds the small ones on a linear axis
_COLUMNS = 3           # of panels of jobs
_ROWS = 4              # of panels of metrics on a page
_BEYOND = 0.005        # the share of errors at either end that may lie outside the axis
_WIDTH = 0.38          # of a bar, where 1 is from policy to policy
_DENSE_FROM = 2000     # points in a panel: a PDF of so many vectors opens slowly


@dataclass(frozen=True)
class Pair:
    """Two result folders of one experiment, and what stands in both."""
    predicted: object  # results.Results
    measured: object
    rows: list  # (predicted, measured) results.Summary of a point and policy
    jobs: dict  # policy -> [(predicted, measured)] NTT of jobs that finished in both; empty without jobs.csv
    in_one: dict  # policy -> number of jobs of both that finished in one only
    in_none: dict  # policy -> number of jobs of both that finished in neither

    @property
    def title(self):
        return self.predicted.title

    @property
    def looks(self):
        """policy -> style.Style, the same in all figures of the two."""
        return style.styles([*self.policies(), *(row.policy for row, _ in self.rows)])

    def policies(self):
        """Those of which both have a job that one of them finished."""
        return names.in_order([*self.jobs, *self.in_one])

    @property
    def labels(self):
        """What the two sides are called."""
        return [f'{word} ({found.world})' if found.world else word
                for word, found in zip(sides(self.predicted, self.measured), (self.predicted, self.measured))]

    def interval_handles(self, values):
        """The legend entry for the intervals of these values, a list of each side, if any were drawn."""
        found = [(word, side.replications) for word, side, own in zip(sides(self.predicted, self.measured), (self.predicted, self.measured), values)
                 if any(value.half_width for value in own)]
        counts = {count for _, count in found}
        several = ' and '.join(f'{count} ({word})' for word, count in found) if len(counts) > 1 and 0 not in counts else ''
        return bars.interval_handle(names.interval(several or min(counts)) if found else '')

    @property
    def error(self):
        """What errors are."""
        value, base = self.against(sides(self.predicted, self.measured))
        return f'({value} − {base}) / {base}'

    def against(self, both):
        """(value, what its error is relative to) of what the two sides have: the measurement; of one world A, as `gangway compare` has B less A."""
        first, second = both
        return (second, first) if sides(self.predicted, self.measured) == ('A', 'B') else (first, second)


def sides(first, second):
    """What two results are to each other: of one world neither predicts the other."""
    return ('A', 'B') if first.world and first.world == second.world else ('predicted', 'measured')


def read_pair(predicted, measured):
    """The two result folders; refuses those that `gangway compare` refuses."""
    first, second, rows = read_both(predicted, measured)
    return Pair(first, second, rows, *_match_jobs(first, second))


def read_both(predicted, measured):
    """Likewise (predicted, measured, Pair.rows), without their jobs."""
    first, second = read(predicted), read(measured)
    if first.experiment and second.experiment and first.experiment != second.experiment:
        raise InputError(second.path / 'manifest.json', f"'{second.experiment}'", f"'{first.experiment}' as in {first.path}", None, 'experiment')
    for key, value in second.definitions.items():
        if value != first.definitions[key]:
            raise InputError(second.path / 'manifest.json', f"'{value}'", f"'{first.definitions[key]}' as in {first.path}", None,
                             f'configuration.{key}')
    if first.swept != second.swept:
        raise InputError(second.path / 'summary.csv', f"swept '{','.join(second.swept)}'",
                         f"'{','.join(first.swept)}' as in {first.path}", 1)
    return first, second, _match_rows(first, second)


def _match_rows(first, second):
    others = {(row.point, row.policy): row for row in second.summary}
    rows = [(row, others[row.point, row.policy]) for row in first.summary if (row.point, row.policy) in others]
    if not rows:
        raise InputError(second.path / 'summary.csv', f'no point and policy of {first.path}',
                         'results of the same experiment')
    for row, other in rows:
        if row.swept != other.swept:
            raise InputError(second.path / 'summary.csv', f"'{','.join(other.swept)}' at point {row.point}",
                             f"'{','.join(row.swept)}' as in {first.path}")
    return rows


def _match_jobs(first, second):
    """As Pair has them: jobs that finished in both, and by policy how many did in one only, and in neither."""
    ntts, others = (read_job_ntts(found.path) or {} for found in (first, second))
    jobs, in_one, in_none = {}, Counter(), Counter()
    for key, ntt in ntts.items():
        if key not in others:
            continue
        finished = [not math.isnan(value) for value in (ntt, others[key])]
        if all(finished):
            jobs.setdefault(key[1], []).append((ntt, others[key]))
        else:
            (in_one if any(finished) else in_none)[key[1]] += 1
    return jobs, in_one, in_none


def draw_jobs(pair):
    """Predicted against measured NTT of each job, a panel for each policy."""
    policies, looks = names.in_order(pair.jobs), pair.looks
    columns = min(_COLUMNS if len(policies) <= 2 * _COLUMNS else _COLUMNS + 1, len(policies))
    rows = math.ceil(len(policies) / columns)
    side = style.WIDTH / max(columns, _COLUMNS)
    figure, grid = style.pyplot.subplots(rows, columns, squeeze=False, sharex=True, sharey=True,
                                         figsize=(max(columns, 2) * side, 1 + rows * side))
    numbers = [number for jobs in pair.jobs.values() for job in jobs for number in job]
    low, high = min(numbers), max(numbers)
    log = high > _LOG_FROM * low
    low, high = (low / 1.15, high * 1.15) if log else (max(0, low - 0.04 * (high - low)), high + 0.04 * (high - low))
    for axes, policy in zip(grid.flat, policies):
        _draw_scatter(axes, pair.jobs[policy], looks[policy], low, high)
        left = pair.in_one[policy] + pair.in_none[policy]
        both = f'{len(pair.jobs[policy])} of {len(pair.jobs[policy]) + left}' if left else len(pair.jobs[policy])
        axes.set_title(f'{policy} ({both} jobs)', fontweight='bold', pad=3)
        if log:
            _log_both(axes, low, high)
    for place, axes in enumerate(grid.flat):
        axes.set_visible(place < len(policies))
        if place + columns >= len(policies):  # the last of its column
            axes.set_xlabel(f'NTT {pair.labels[1]}')
            axes.tick_params(labelbottom=True)
    for axes in grid[:, 0]:
        axes.set_ylabel(f'NTT {pair.labels[0]}')
    style.lay_out(figure, f'{pair.title} – NTT of single jobs', [
        Line2D([], [], color='black', linewidth=0.8, label='equal'),
        Patch(facecolor=style.GREY, alpha=0.45, label='within ±5 %'),
        Line2D([], [], color=style.GREY, marker='o', markersize=3, linestyle='none',
               label='a job' + (' that finished in both' if pair.in_one or pair.in_none else ''))])
    return figure


def _draw_scatter(axes, jobs, look, low, high):
    ends = [max(low, 1e-9), high]
    axes.fill_between(ends, [(1 - _BAND) * end for end in ends], [(1 + _BAND) * end for end in ends],
                      color=style.GREY, alpha=0.45, linewidth=0, zorder=1)
    axes.plot([measured for _, measured in jobs], [predicted for predicted, _ in jobs], linestyle='none', marker='o',
              markersize=2.6, markeredgewidth=0, color=look.colour, alpha=0.5, zorder=2,
              rasterized=len(jobs) > _DENSE_FROM)
    axes.plot(ends, ends, color='black', linewidth=0.6, zorder=3)
    axes.set(xlim=(low, high), ylim=(low, high), aspect='equal')
    axes.grid()


def _log_both(axes, low, high):
    style.log_y(axes, low, high)
    axes.set_xscale('log')
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter('{x:g}')


def errors(jobs):
    """Signed relative errors in percent, the least first. jobs: (value, what it is relative to)."""
    return sorted(100 * (value - base) / base for value, base in jobs)


def draw_errors(pair):
    """The share of jobs whose error is at most so much, a line for each policy; below, where most of them lie. The error of a job that
    finished in one only is not known, so lines end below 1."""
    policies, looks = pair.policies(), pair.looks
    by_policy = {policy: errors(map(pair.against, pair.jobs.get(policy, []))) for policy in policies}
    low, high, beyond = _window(by_policy.values())
    heights = [2.3, 0.12 + 0.17 * len(policies)]
    figure, (lines, boxes) = style.pyplot.subplots(
        2, 1, sharex=True, figsize=(style.WIDTH * 0.75, 1.5 + sum(heights)), gridspec_kw={'height_ratios': heights})
    for axes in (lines, boxes):
        axes.axvspan(-100 * _BAND, 100 * _BAND, color=style.GREY, alpha=0.3, linewidth=0, zorder=0)
        axes.axvline(0, color='black', linewidth=0.8, zorder=1)
        axes.grid(axis='both' if axes is lines else 'x')
    for policy, own in by_policy.items():
        shares = [place / (len(own) + pair.in_one[policy]) for place in range(len(own) + 1)]
        lines.step([low - 1, *own, high + 1], [*shares, shares[-1]], where='post', zorder=2,
                   color=looks[policy].colour, linestyle=looks[policy].dash)
    _draw_boxes(boxes, by_policy, looks)
    lines.set(xlim=(low, high), ylim=(0, 1.02), ylabel='share of jobs')
    boxes.set_xlabel('\n'.join([f'relative error of NTT, {pair.error} (%)', *_unshown(pair, beyond)]))
    style.lay_out(figure, f'{pair.title} – errors of single jobs', [
        Line2D([], [], linestyle='none', label='(in brackets: median of signed errors)'),
        *(Line2D([], [], label=f'{policy} ({_median(pair, policy, own)})', color=looks[policy].colour, linestyle=looks[policy].dash)
          for policy, own in by_policy.items()),
        Patch(facecolor=style.GREY, alpha=0.3, label='within ±5 %'),
        Patch(facecolor='white', edgecolor='black', linewidth=0.6, label='quartiles (whisker: 5 to 95 %)')])
    return figure


def _unshown(pair, beyond):
    """Notes on jobs that no line has, or no longer within the axis."""
    if pair.in_one or pair.in_none:
        yield f'{pair.in_one.total():,} jobs finished in one of the two only, {pair.in_none.total():,} in neither'
    if beyond:
        yield f'{100 * beyond:.1f} % of the jobs lie beyond the axis'


def _median(pair, policy, own):
    if not own:
        return 'no job finished in both'
    some = f' of the {len(own):,} jobs in both' if pair.in_one[policy] or pair.in_none[policy] else ''
    return f'{_signed(statistics.median(own))} %{some}'


def _signed(percent):
    return f'{percent:+.1f}'.replace('-', '−')


def _draw_boxes(axes, by_policy, looks):
    """Quartiles as a box with the median, and a whisker from the 5th to the 95th percentile."""
    for place, (policy, own) in enumerate(by_policy.items()):
        if not own:
            continue
        far_low, low, high, far_high = (nearest_rank(own, share) for share in (0.05, 0.25, 0.75, 0.95))
        axes.plot([far_low, far_high], [place, place], color='black', linewidth=0.8, zorder=2)
        axes.barh([place], [high - low], 0.62, left=low, color=looks[policy].colour, edgecolor='black', linewidth=0.6,
                  zorder=3)
        axes.plot([statistics.median(own)] * 2, [place - 0.42, place + 0.42], color='black', linewidth=1.6, zorder=4)
    axes.set_yticks(range(len(by_policy)), by_policy)
    axes.set_ylim(len(by_policy) - 0.4, -0.6)
    axes.tick_params(axis='y', length=0)


def _window(lists):
    """The span of the axis: all but the outermost errors, and the band; and the share of jobs outside."""
    lists = list(lists)
    everything = sorted(error for own in lists for error in own)
    cut = int(_BEYOND * len(everything))
    low = min(everything[cut], -120 * _BAND)
    high = max(everything[-1 - cut], 120 * _BAND)
    margin = 0.03 * (high - low)
    low, high = low - margin, high + margin
    return low, high, sum(not low <= error <= high for error in everything) / len(everything)


def draw_metrics(pair):
    """The pages of the figure: ANTT, DNTT and STP of each policy, predicted beside measured; a row for each point."""
    points = sorted({row.point for row, _ in pair.rows})
    pages = math.ceil(len(points) / _ROWS)
    return [_draw_page(pair, points[page * len(points) // pages:(page + 1) * len(points) // pages])
            for page in range(pages)]


def _draw_page(pair, points):
    policies = names.in_order(row.policy for row, _ in pair.rows)
    height = 1.1 + len(points) * (1.7 + style.rotated_inches(policies, (style.WIDTH / len(METRICS))))
    figure, grid = style.pyplot.subplots(len(points), len(METRICS), squeeze=False, figsize=(style.WIDTH, height))
    of_point = [{row.policy: (row, other) for row, other in pair.rows if row.point == point} for point in points]
    in_points = any(bars.is_log(_values(rows, metric)) for rows in of_point for metric in METRICS)
    for line, rows in zip(grid, of_point):
        for axes, metric in zip(line, METRICS):
            _draw_pairs(axes, pair, metric, policies, rows, in_points)
        if pair.predicted.swept:
            swept = next(iter(rows.values()))[0].swept
            line[0].set_title(', '.join(names.setting(path, value) for path, value in
                                        zip(pair.predicted.swept, swept)), loc='left', fontweight='bold')
    shown = {row.bound(metric) for rows in of_point for both in rows.values() for row in both for metric in METRICS}
    starved = style.starved_handles(any(row.starved for rows in of_point for both in rows.values() for row in both))
    style.lay_out(figure, f'{pair.title} – {" and ".join(sides(pair.predicted, pair.measured))}', [
        *_side_handles(pair, in_points), *pair.interval_handles(_values_of_sides(of_point)),
        Line2D([], [], linestyle='none', label=f'above: {pair.error} in %'), *style.bound_handles(shown), *starved])
    return figure


def _side_handles(pair, in_points):
    if in_points:
        black = style.Style('black', 'o', '', 'none')
        return [Line2D([], [], label=label, **style.line(replace(black, hollow=side == 0))) for side, label in enumerate(pair.labels)]
    words = {'edgecolor': 'black', 'linewidth': 0.6}
    return [Patch(label=pair.labels[0], facecolor='white', hatch='//////', **words), Patch(label=pair.labels[1], facecolor=style.GREY, **words)]


def _values_of_sides(of_point):
    return [[value for rows in of_point for both in rows.values() for value in map(both[side].metrics.get, METRICS)] for side in range(2)]


def _values(rows, metric):
    return [row.metrics[metric] for both in rows.values() for row in both]


def _draw_pairs(axes, pair, metric, policies, rows, in_points):
    looks, draw = style.styles(policies), _draw_point if in_points else _draw_bar
    rows = {policy: rows[policy] for policy in policies if policy in rows}
    for policy, both in rows.items():
        places = [policies.index(policy) + side * _WIDTH / 2 for side in (-1, 1)]
        for side, (place, row) in enumerate(zip(places, both)):
            draw(axes, place, row.metrics[metric], side, looks[policy])
        style.mark_bounds(axes, [(place, row.metrics[metric].mean, row.bound(metric)) for place, row in zip(places, both)],
                          shown_by='point' if in_points else 'bar')
        for place, row in zip(places, both):
            if row.starved:
                style.mark_starved(axes, place)
    _scale_pairs(axes, _values(rows, metric), upright=len(policies) > 5)
    for policy, both in rows.items():
        _write_error(axes, pair, metric, policies.index(policy), both, points_up=6 if in_points else 2, rotation=90 if len(policies) > 5 else 0)
    axes.set_xlim(-0.6, len(policies) - 0.4)
    style.name_ticks(axes, policies, (style.WIDTH / len(METRICS)))
    axes.tick_params(axis='x', length=0)
    axes.set_ylabel(names.metric(metric))
    axes.grid(axis='y')


def _draw_bar(axes, place, value, side, look):
    words = {'facecolor': look.colour, 'edgecolor': 'black'} if side else {'facecolor': 'white', 'hatch': '//////', 'edgecolor': look.colour}
    axes.bar([place], [value.mean], _WIDTH, linewidth=0.6, **words)
    bars.draw_intervals(axes, [place], [value])


def _draw_point(axes, place, value, side, look):
    bars.draw_points(axes, [place], [value], replace(look, marker='o', hollow=side == 0))


def _scale_pairs(axes, values, upright):
    """From 0, or logarithmic, with room for errors above; upright: they need more of it."""
    tops = [value.top for value in values if not math.isnan(value.mean)]
    means = [value.mean for value in values if value.mean > 0]
    if not bars.is_log(values):
        axes.set_ylim(0, (1.25 if upright else 1.12) * max(tops, default=1) or 1)
        return
    low, high = min(means), max(means)
    above = (high / low) ** (0.3 if upright else 0.15)
    if len(means) == len(tops):
        style.log_y(axes, 0.7 * low, high * above)
    else:  # some are 0
        style.log_y_from_0(axes, low, high * above)


def _write_error(axes, pair, metric, place, both, points_up, rotation):
    """Above both values; none of bounds."""
    value, base = pair.against([row.metrics[metric] for row in both])
    if any(row.bound(metric) for row in both) or not base.mean or math.isnan(value.mean - base.mean):
        return
    top = min(max(each.top for each in (value, base)), axes.get_ylim()[1])
    axes.annotate(_signed(100 * (value.mean / base.mean - 1)), (place, top), (0, points_up),
                  textcoords='offset points', ha='center', va='bottom', fontsize=6.5, rotation=rotation)
