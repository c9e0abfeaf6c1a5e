"""What a device's commands, kernels and copies cost, as a calibration measured them."""
import itertools

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator

from gangway.drawing import style
from gangway.drawing.readings import Range

_GOALS = {'eviction': 10, 'evict order to next first block': 25}  # µs beyond the longest block-task
_LINEAR = 30  # µs: the part of the second panel's axis around 0 that is not logarithmic
_TICKS = (0, 10, 20, 30, 100, 300, 1000, 10000)
_LOOKS = [(style.BLUE, 'o'), (style.VERMILLION, 's'), (style.GREEN, 'D'), (style.PURPLE, '^'), (style.ORANGE, 'v'),
          (style.SKY, 'P'), (style.GREY, 'X')]
_FITTED = 4  # the largest numbers of polling blocks; fewer blocks than SMs are only shown
_DASHES = ('-', (0, (4, 2)))  # of the lines of two directions
_RANGE = {'elinewidth': 0.8, 'capsize': 2, 'capthick': 0.8}
_RANGE_HANDLE = Line2D([], [], label='1st to 99th percentile', color='black', marker='|', markersize=9,
                       linestyle='none')
_US, _MS = 1e3, 1e6  # ns


def draw_evictions(found):
    """The delay against the length of block-tasks; beside it, what it is beyond the longest block-task."""
    figure, (whole, rest) = style.pyplot.subplots(1, 2, figsize=(style.WIDTH, 3.9))
    lengths = found.lengths()
    looks = dict(zip(lengths, itertools.cycle(_LOOKS)))
    for place, (mechanism, longest) in enumerate(lengths.items()):
        _draw_delays(whole, found, mechanism, longest, looks[mechanism], _beside(place, len(lengths)))
    series = [(quantity, mechanism) for quantity in _GOALS for mechanism in lengths]
    for place, (quantity, mechanism) in enumerate(series):
        _draw_beyond(rest, found, quantity, mechanism, lengths[mechanism], looks[mechanism],
                     _beside(place, len(series)))
    ticks = sorted({length / _US for longest in lengths.values() for length in longest})
    for axes in (whole, rest):
        axes.set_xscale('log')
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter('{x:g}')
        axes.set_xlim(ticks[0] / 1.35, ticks[-1] * 1.35)
        axes.set_xlabel('longest block-task (µs)')
        axes.grid()
    whole.plot(whole.get_xlim(), whole.get_xlim(), color='black', linewidth=0.8, zorder=1)
    style.log_y(whole, *_decades(whole))
    whole.set_ylabel('eviction delay (µs)')
    _finish_beyond(rest)
    style.lay_out(figure, f'{found.title} – evictions as the scheduler sees them', [
        *(Line2D([], [], label=mechanism, color=colour, marker=marker, linestyle='none')
          for mechanism, (colour, marker) in looks.items()),
        _RANGE_HANDLE,
        Line2D([], [], label='delay = longest block-task', color='black', linewidth=0.8),
        Line2D([], [], label='delay = block-task + cost at the shortest', color=style.GREY),
        Line2D([], [], label='order to last block gone', color='black', marker='o', linestyle='none'),
        Line2D([], [], label='order to first block of the next launch', color='black', marker='o', linestyle='none',
               markerfacecolor='white')])
    return figure


def _beside(place, count):
    """By which factor to move a point so that `count` of them stand side by side."""
    return 1.11 ** (place - (count - 1) / 2)


def _draw_delays(axes, found, mechanism, longest, look, factor):
    delays = found.of_length('eviction', mechanism)
    _draw_ranges(axes, {longest[length] / _US: Range(delays[length], _US) for length in longest}, look, factor)
    shortest = min(longest)
    cost = Range(delays[shortest], 1).median - longest[shortest]
    ends = sorted(longest.values())
    steps = [ends[0] * (ends[-1] / ends[0]) ** (step / 60) for step in range(61)]
    axes.plot([step / _US for step in steps], [(step + cost) / _US for step in steps], color=look[0], linewidth=1,
              zorder=2)


def _draw_beyond(axes, found, quantity, mechanism, longest, look, factor):
    measured = found.of_length(quantity, mechanism)
    ranges = {longest[length] / _US: Range(measured[length], _US, longest[length]) for length in longest
              if length in measured}
    _draw_ranges(axes, ranges, look, factor, hollow=quantity != 'eviction')


def _draw_ranges(axes, ranges, look, factor, hollow=False):
    colour, marker = look
    middle = [found.median for found in ranges.values()]
    axes.errorbar([x * factor for x in ranges], middle,
                  [[found.median - found.low for found in ranges.values()],
                   [found.high - found.median for found in ranges.values()]],
                  linestyle='none', color=colour, marker=marker, markersize=4, zorder=4, markeredgewidth=0.9,
                  markerfacecolor='white' if hollow else colour, **_RANGE)


def _decades(axes):
    """The limits that the data has, a little wider; a nanosecond at least, since the axis is logarithmic."""
    low, high = axes.dataLim.intervaly
    return max(low, 1e-3) / 1.25, high * 1.25


def _finish_beyond(axes):
    for goal, marker in zip(_GOALS.values(), '●○'):
        axes.axhline(goal, color='black', linewidth=0.6, dashes=(5, 3), zorder=1)
        axes.annotate(f'goal {marker}\n{goal} µs', (1, goal), (2, 0), xycoords=('axes fraction', 'data'),
                      textcoords='offset points', ha='left', va='center', fontsize=6.5)
    axes.axhline(0, color='black', linewidth=0.8, zorder=1)
    low, high = axes.dataLim.intervaly
    axes.set_yscale('symlog', linthresh=_LINEAR, linscale=1.6)
    axes.set_ylim(min(1.25 * low, -_LINEAR / 6), max(1.15 * high, 1.3 * _LINEAR))
    axes.yaxis.set_major_locator(FixedLocator(sorted({sign * tick for tick in _TICKS for sign in (-1, 1)})))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda y, _: f'{y:g}'.replace('-', '−'))
    axes.set_ylabel(f'time beyond the longest block-task\n(µs, logarithmic outside ±{_LINEAR})')


def draw_kernels(found):
    """Both forms of each kernel with the overhead above; beside them, how long block-tasks and evictions are."""
    kernels = found.kernels()
    figure, (times, lengths) = style.pyplot.subplots(1, 2, figsize=(style.WIDTH, 3.3))
    _draw_times(times, found, kernels)
    _draw_lengths(lengths, found, kernels)
    for axes in (times, lengths):
        style.name_ticks(axes, kernels, style.WIDTH / 2)
        axes.set_xlim(-0.6, len(kernels) - 0.4)
        axes.tick_params(axis='x', length=0)
        axes.grid(axis='y')
    edge = {'edgecolor': 'black', 'linewidth': 0.6}
    style.lay_out(figure, f'{found.title} – kernels measured alone', [
        Patch(label='original', facecolor='white', hatch='//////', edgecolor=style.BLUE, linewidth=0.6),
        Patch(label='preemptible (above: its overhead)', facecolor=style.BLUE, **edge),
        Patch(label='block-tasks: quartiles (whisker: 1 to 99 %)', facecolor=style.SKY, **edge),
        Line2D([], [], label='longest block-task', color='black', marker='_', markersize=7, linestyle='none'),
        Line2D([], [], label='eviction at a random moment, 1 to 99 %', color=style.VERMILLION, marker='D',
               linewidth=0.8)])
    return figure


def _draw_times(axes, found, kernels):
    width, looks = 0.38, ({'facecolor': 'white', 'hatch': '//////', 'edgecolor': style.BLUE},
                          {'facecolor': style.BLUE, 'edgecolor': 'black'})
    for place, kernel in enumerate(kernels):
        both = [Range(found.of_kernel(form, kernel), _MS) for form in ('original', 'transformed')]
        for side, own, look in zip((-1, 1), both, looks):
            axes.bar([place + side * width / 2], [own.median], width, linewidth=0.6, ecolor='black',
                     yerr=[[own.median - own.low], [own.high - own.median]], error_kw=dict(_RANGE), **look)
        overhead = f'{100 * (both[1].median / both[0].median - 1):+.1f} %'.replace('-', '−')
        axes.annotate(overhead, (place, max(own.high for own in both)), (0, 2), textcoords='offset points', ha='center',
                      va='bottom', fontsize=7)
    axes.set_ylim(0, 1.08 * axes.dataLim.y1)
    axes.set_ylabel('time (ms)')


def _draw_lengths(axes, found, kernels):
    for place, kernel in enumerate(kernels):
        tasks, evictions = (found.of_kernel(quantity, kernel) for quantity in ('block-task', 'eviction'))
        if tasks:
            own = Range(tasks, _US)
            low, high = own.percentile(0.25), own.percentile(0.75)
            axes.plot([place - 0.18] * 2, [own.low, own.high], color='black', linewidth=0.8, zorder=2)
            axes.bar([place - 0.18], [high - low], 0.34, bottom=low, color=style.SKY, edgecolor='black', linewidth=0.6,
                     zorder=3)
            axes.plot([place - 0.35, place - 0.01], [own.median] * 2, color='black', linewidth=1.6, zorder=4)
            axes.plot([place - 0.18], [own.ordered[-1]], color='black', marker='_', markersize=7, zorder=4)
        if evictions:
            own = Range(evictions, _US)
            axes.errorbar([place + 0.22], [own.median], [[own.median - own.low], [own.high - own.median]], marker='D',
                          markersize=3.5, color=style.VERMILLION, linestyle='none', zorder=4, **_RANGE)
    style.log_y(axes, *_decades(axes))
    axes.set_ylabel('block-task, eviction delay (µs)')


def draw_copies(found):
    """Time against size with the fitted line; below, how far single readings are from it."""
    directions = found.directions()
    looks = dict(zip(directions, _LOOKS))
    figure, (times, errors) = style.pyplot.subplots(2, 1, sharex=True, figsize=(style.WIDTH * 0.75, 4.4),
                                                    gridspec_kw={'height_ratios': [2, 1]})
    sizes, handles = set(), []
    for place, (quantity, name) in enumerate(directions.items()):
        readings, line = found.by_parameter(quantity), found.lines.get(quantity)
        sizes |= set(readings)
        factor = _beside(place, len(directions))
        _draw_ranges(times, {size: Range(values, _US) for size, values in readings.items()}, looks[quantity], factor)
        colour, marker = looks[quantity]
        words = name
        if line:
            _draw_line(times, line, readings, colour, _DASHES[place])
            _draw_ranges(errors, {size: Range([100 * (value / line.at(size) - 1) for value in values])
                                  for size, values in readings.items() if line.at(size) > 0}, looks[quantity], factor)
            words += f': {line.intercept / _US:.2f} µs + size / ({1 / line.slope:.1f} GB/s)' if line.slope > 0 else ''
        handles.append(Line2D([], [], label=words.replace('-', '−'), color=colour, marker=marker, markersize=4,
                              linewidth=1, linestyle=_DASHES[place]))
    times.set_xscale('log', base=2)
    style.log_y(times, *_decades(times))
    times.set_ylabel('time (µs)')
    errors.axhline(0, color='black', linewidth=0.8, zorder=1)
    errors.set_ylabel('reading / fit − 1 (%)')
    errors.set_xlabel('size of the copy')
    errors.xaxis.set_major_locator(FixedLocator(sorted(sizes)))
    errors.xaxis.set_minor_locator(NullLocator())
    errors.xaxis.set_major_formatter(lambda size, _: _size(size))
    errors.yaxis.set_major_formatter(lambda y, _: f'{y:g}'.replace('-', '−'))
    for axes in (times, errors):
        axes.grid()
    style.lay_out(figure, f'{found.title} – copies as the scheduler sees them', [
        *handles, _RANGE_HANDLE])
    return figure


def draw_polls(found):
    """A read of host memory by each of so many blocks; beside it, what looks at device memory add to work."""
    figure, (host, device) = style.pyplot.subplots(1, 2, figsize=(style.WIDTH, 3.1))
    reads, polls = found.by_parameter('host poll'), found.by_parameter(found.looks())
    together = dict(list(reads.items())[-_FITTED:])
    handles = []
    for axes, readings, fitted, name, look in ((host, reads, together, 'host poll', _LOOKS[0]),
                                               (device, polls, polls, 'device poll', _LOOKS[1])):
        _draw_ranges(axes, {x: Range(values, _US) for x, values in readings.items()}, look, 1)
        line = found.lines.get(name)
        if line:
            _draw_line(axes, line, fitted, look[0], '-')
            handles.append(Line2D([], [], color=look[0], marker=look[1], markersize=4, linewidth=1,
                                  label=f'{name}: {line.slope / _US:.3f} µs each, by the fit'.replace('-', '−')))
        axes.grid()
    host.set_xscale('log', base=2)
    host.xaxis.set_major_locator(FixedLocator(sorted(reads)))
    host.xaxis.set_minor_locator(NullLocator())
    host.xaxis.set_major_formatter('{x:g}')
    style.log_y(host, *_decades(host))
    host.set_xlabel('blocks that read host memory')
    host.set_ylabel('time of one read by each (µs)')
    device.xaxis.set_major_locator(FixedLocator(sorted(polls)))
    device.set_xlim(0, 1.08 * max(polls))
    device.set_ylim(min(0, device.dataLim.y0), 1.08 * device.dataLim.y1)
    device.set_xlabel('pieces of work of each block')
    device.set_ylabel('time with looks − without (µs)')
    style.lay_out(figure, f'{found.title} – polls on the device clock', [*handles, _RANGE_HANDLE])
    return figure


def draw_idle(found):
    """How long a launch takes after nothing was on the device for so long, and one after the other."""
    figure, axes = style.pyplot.subplots(figsize=(style.WIDTH, 3.1))
    mechanism, after, others = found.after_idle()
    _draw_ranges(axes, {idle / _MS: Range(values, _US) for idle, values in after.items()}, _LOOKS[0], 1)
    usual = Range(others, _US)
    axes.axhline(usual.median, color=style.GREY, linewidth=1, zorder=2)
    axes.axhspan(usual.low, usual.high, color=style.GREY, alpha=0.2, linewidth=0, zorder=1)
    axes.set_xscale('log')
    axes.xaxis.set_major_locator(FixedLocator([idle / _MS for idle in after]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter('{x:g}')
    axes.set_ylim(0, 1.08 * max(axes.dataLim.y1, usual.high))
    axes.set_xlabel('time with nothing on the device before the launch (ms)')
    axes.set_ylabel('order to first block (µs)')
    axes.grid()
    style.lay_out(figure, f'{found.title} – launches by {mechanism} after idle times', [
        Line2D([], [], label='median', color=style.BLUE, marker='o', markersize=4, linestyle='none'), _RANGE_HANDLE,
        Line2D([], [], label='launches one after the other: median', color=style.GREY, linewidth=1),
        Patch(label='these, 1st to 99th percentile', facecolor=style.GREY, alpha=0.2)])
    return figure


def _draw_line(axes, line, readings, colour, dash):
    low, high = min(readings), max(readings)
    steps = [low * (high / low) ** (step / 60) for step in range(61)]
    axes.plot(steps, [line.at(step) / _US for step in steps], color=colour, linewidth=1, linestyle=dash,
              zorder=2)


def _size(count):
    for unit in ('B', 'KiB', 'MiB', 'GiB'):  # noqa: B007  (the last one is used below)
        if count < 1024:
            break
        count /= 1024
    return f'{count:g}\n{unit}'
