"""What the block timelines of experiments/rules/ tell beyond whether a rule holds."""
import collections
import itertools
import statistics

_AT_ONCE_NS = 10_000  # what begins so soon after an end waited for it


def of(experiment):
    """Lines about one experiment, from all its timelines."""
    about = _ABOUT.get(experiment.name, lambda experiment: [])
    return [*_launches(experiment), *about(experiment)]


def _text(values):
    ordered = sorted(values)
    at = lambda share: ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1000
    return f'median {statistics.median(ordered) / 1000:.2f} us, p1 {at(0.01):.2f}, p99 {at(0.99):.2f} (n={len(ordered)})'


def launch_latencies(timeline):
    """From a job's release to its first block, for jobs that found the device free: the first job of a run."""
    first = min(timeline.releases, key=timeline.releases.get, default=None)
    if first is None or any(op[:2] == first and op[2].startswith('copy') for op in timeline.spans):
        return []
    return [min(spans[0].begin for op, spans in timeline.spans.items() if op[:2] == first) - timeline.releases[first]]


def _launches(experiment):
    latencies = [x for timeline in experiment.measured for x in launch_latencies(timeline)]
    return [f'release to first block: {_text(latencies)}'] if latencies else []


def turnovers(timeline, operation):
    """From a block's end to the beginning of the one that takes its place, on each SM."""
    gaps = []
    by_sm = collections.defaultdict(list)
    for span in timeline.spans[operation]:
        by_sm[span.sm].append(span)
    for spans in by_sm.values():
        at_once = max(sum(s.begin <= t.begin < s.end for s in spans) for t in spans)
        ends = sorted(s.end for s in spans)
        begins = sorted(s.begin for s in spans)[at_once:]
        gaps += [begin - end for begin, end in zip(begins, ends)]
    return gaps


def _waves(experiment):
    lines = []
    for operation, at_once in ((('one', 0, 'k'), 132), (('two', 0, 'k'), 264)):
        gaps, lengths, spreads = [], [], []
        for timeline in experiment.measured:
            gaps += turnovers(timeline, operation)
            lengths += [span.end - span.begin - 50_000 for span in timeline.spans[operation]]
            begins = timeline.begins(operation)
            spreads.append(begins[at_once - 1] - begins[0])
        lines += [f'{operation[0]}: from a block to the next in its place: {_text(gaps)}',
                  f'{operation[0]}: block length above what was asked: {_text(lengths)}',
                  f'{operation[0]}: from the first to the last block of the first wave: {_text(spreads)}']
    return lines


def gaps_in_streams(timeline, client, job=0):
    """From the end of each operation of a job to the beginning of the next (of a copy: to its end)."""
    order = sorted((op for op in timeline.spans if op[:2] == (client, job)), key=lambda op: timeline.ends(op)[-1])
    return [(a[2], b[2], timeline.begins(b)[0] - timeline.ends(a)[-1]) for a, b in itertools.pairwise(order)]


def _launch_gap(experiment):
    lines = []
    for client in ('small', 'full'):
        gaps = [gap for timeline in experiment.measured for *_, gap in gaps_in_streams(timeline, client)]
        lines.append(f'{client}: from a kernel to the next of its stream: {_text(gaps)}')
    for way in ('copy in', 'copy out'):
        lengths = [span.end - span.begin for timeline in experiment.measured for job in range(3)
                   for span in timeline.spans['copies', job, way]]
        lines.append(f'1 MB, {way}, from the operation before it (or the call) to its end: {_text(lengths)}')
    return lines


def _copies(experiment):
    lines = []
    for way in ('copy in', 'copy out'):
        between = []
        for timeline in experiment.measured:
            ends = sorted(timeline.ends(operation)[-1] for operation in timeline.spans if operation[2] == way)
            between += [b - a for a, b in itertools.pairwise(ends)]
        if between:
            lines.append(f'{way}: shortest time from the end of one to the end of the next: {min(between) / 1000:.2f} us')
    gaps = collections.defaultdict(list)
    for timeline in experiment.measured:
        for client, job in {operation[:2] for operation in timeline.spans}:
            for before, _, gap in gaps_in_streams(timeline, client, job):
                if before == 'copy in':
                    gaps[client, job].append(gap)
    return [*lines, *(f'{client} job {job}: from its copy to its kernel: {_text(values)}'
                      for (client, job), values in sorted(gaps.items()))]


def sharing(timeline):
    """Stream -> the stream at the end of one of whose kernels its only kernel began, or None; of channels-*.yaml."""
    ends = [(timeline.ends(op)[0], op[0]) for op in timeline.spans if op[2] != 'k']
    found = {}
    for operation in timeline.spans:
        if operation[2] == 'k':
            begin = timeline.begins(operation)[0]
            late, before = min(((begin - end, client) for end, client in ends if end <= begin),
                               default=(_AT_ONCE_NS, None))
            found[operation[0]] = before if late < _AT_ONCE_NS else None
    return found


def _channels(experiment):
    lines = []
    for timeline in experiment.measured:
        shared = sharing(timeline)
        lines.append(', '.join(f'{client} behind {other}' if other else f'{client} at once'
                               for client, other in sorted(shared.items(), key=lambda item: int(item[0][1:]))))
    return [f'{count} of {len(lines)} timelines: {line}' for line, count in collections.Counter(lines).items()]


def _dispatch(experiment):
    intervals = []
    for timeline in experiment.measured:
        begins = sorted(timeline.begins(op)[0] for op in timeline.spans if op[0] != 'full')
        intervals += [b - a for a, b in itertools.pairwise(begins)]
    return [f'between consecutive waiting kernels: {_text(intervals)}']


def most_at_once(timeline):
    changes = sorted([(s.begin, 1) for spans in timeline.spans.values() for s in spans] +
                     [(s.end, -1) for spans in timeline.spans.values() for s in spans])
    return max(itertools.accumulate(change for _, change in changes))


def _resident(experiment):
    kernels = experiment.measured[0].spans
    order = ' '.join(str(kernels[f'c{index}', 0, 'k'][0].sm) for index in range(128))
    return [f'kernels at once: {sorted({most_at_once(timeline) for timeline in experiment.measured})}',
            f'SMs in the order of kernels: {order}']


def per_sm(timeline, operation):
    """How many SMs had how many of the operation's blocks."""
    blocks = collections.Counter()
    for span in timeline.spans[operation]:
        blocks[span.sm] += span.blocks
    return dict(sorted(collections.Counter(blocks.values()).items()))


def _placement(experiment):
    first, predicted = experiment.measured[0], experiment.predicted[0]
    lines = [f'{operation[0]}: SMs by number of its blocks: measured {per_sm(first, operation)}, '
             f'predicted {per_sm(predicted, operation)}' for operation in sorted(first.spans)]
    q1, q2 = ({span.sm for span in first.spans[name, 0, 'k']} for name in ('q1', 'q2'))
    return [*lines, f'q2 on SMs that q1 is on: {len(q1 & q2)} of {len(q2)}']


_ABOUT = {
    'waves': _waves, 'launch-gap': _launch_gap, 'resident-kernels': _resident, 'placement': _placement,
    'dispatch': _dispatch, **dict.fromkeys(('copies-in', 'copies-out', 'copies-both'), _copies),
    **dict.fromkeys(('channels-8', 'channels-32', 'channels-order', 'channels-reversed', 'channels-idle',
                     'channels-freed', 'channels-twenty', 'channels-recent', 'channels-loaded', 'channels-priority'),
                    _channels)}
