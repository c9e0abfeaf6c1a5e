"""Predicted and measured block timelines of experiments/rules/, one over the other."""
from matplotlib import pyplot
from matplotlib.patches import Patch

from gangway.drawing import style

# One for each rule whose effect can be seen at a glance.
_SHOWN = ('head-of-queue', 'blocked-priority', 'priority', 'stream-order', 'null-stream', 'copies-in', 'channels-8',
          'resident-kernels', 'block-slots', 'warps', 'shared-memory-reserve', 'waves')
_COLUMNS = 3
_MOST_ROWS = 13  # of a panel; of more operations every so many is shown


def draw(experiments, folder):
    """folder/rules.png: a row of a panel is an operation; its height is the share of its blocks (or copies) under way."""
    by_name = {experiment.name: experiment for experiment in experiments}
    shown = [by_name[name] for name in _SHOWN if name in by_name]
    if not shown:
        return
    style.prepare()
    rows = -(-len(shown) // _COLUMNS)
    figure, axes = pyplot.subplots(rows, _COLUMNS, figsize=(style.WIDTH, 1.75 * rows), squeeze=False)
    for panel in axes.flat[len(shown):]:
        panel.axis('off')
    for panel, experiment in zip(axes.flat, shown):
        _draw_panel(panel, experiment)
    figure.legend(handles=[Patch(facecolor=style.GREY, alpha=0.5, label='predicted'),
                           Patch(facecolor='none', edgecolor=style.VERMILLION, label='measured on the device')],
                  loc='lower center', ncols=2)
    figure.tight_layout(rect=(0, 0.03, 1, 1), h_pad=0.6, w_pad=0.4)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / 'rules.png', dpi=150, metadata={'Software': None})
    pyplot.close(figure)


def _draw_panel(panel, experiment):
    predicted, measured = experiment.predicted[min(experiment.predicted)], experiment.measured[0]
    operations = sorted(predicted.spans, key=lambda op: (predicted.begins(op)[0], op))
    several = len({op[2] for op in operations}) > 1
    operations = operations[::-(-len(operations) // _MOST_ROWS)]
    for row, operation in enumerate(operations):
        base = len(operations) - 1 - row
        for timeline, fill in ((predicted, True), (measured, False)):
            times, shares = _under_way(timeline, operation)
            heights = [base + 0.8 * share for share in shares]
            if fill:
                panel.fill_between(times, base, heights, step='post', color=style.GREY, alpha=0.5, linewidth=0)
            else:
                panel.step(times, heights, where='post', color=style.VERMILLION, linewidth=0.7)
    names = [f'{client} {kernel}' + (f' {job}' if job else '') if several else client
             for client, job, kernel in operations]
    panel.set_yticks([len(operations) - 1 - row + 0.4 for row in range(len(operations))], names, fontsize=5.5)
    panel.tick_params(axis='y', length=0)
    panel.tick_params(axis='x', labelsize=6)
    panel.set_ylim(-0.15, len(operations))
    panel.set_title(experiment.name, loc='left', fontsize=7)
    panel.set_xlabel('µs', fontsize=6, labelpad=0)


def _under_way(timeline, operation):
    """Steps: times in us since the first block, and the share of the operation's largest number at once."""
    origin = timeline.first_block()
    changes = sorted([(s.begin - origin, s.blocks) for s in timeline.spans[operation]] +
                     [(s.end - origin, -s.blocks) for s in timeline.spans[operation]])
    times, counts, now = [changes[0][0] / 1000], [0], 0
    for time, change in changes:
        now += change
        times.append(time / 1000)
        counts.append(now)
    most = max(counts)
    return times, [count / most for count in counts]
