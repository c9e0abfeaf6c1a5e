"""How long the requests are of clients that submit by themselves, and how often they come: cumulative distributions."""
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from gangway.drawing import names, style, timeline

_ACCESS = '"access"'  # the name of a process that only traces of such clients have
_LINES = 8             # on a page
_MOST_LINES = 16       # of more, a client is drawn where it first takes part
_MOST_STEPS = 1000     # of a line; of more values only some
_DASHES = ['-', (0, (5, 2)), (0, (1.5, 1.5)), '-.']
_MARKERS = 'os^Dvph<'  # one for each line of a page
_COLOURS = [style.VERMILLION, style.BLUE, style.GREEN, style.ORANGE, style.PURPLE, style.SKY]


@dataclass(frozen=True)
class Requests:
    """Of one client in one run, in µs."""
    client: str
    point: int
    lengths: list  # on the GPU
    gaps: list     # from each beginning to the next


def applies(files):
    """Whether some trace is of clients whose way to the GPU a policy controls: then so are those of all policies."""
    return any(timeline.holds(file, _ACCESS) for file in files)


def read_first_runs(files):
    """(policy, Requests of each client at each point) of the first policy: the first run of each point."""
    abouts = [(timeline.peek(file), file) for file in files]
    policy = names.in_order(about[1] for about, _ in abouts)[0]
    first = {}
    for (_, _, run), file in sorted((each for each in abouts if each[0][1] == policy), key=lambda each: (each[0][2], each[1])):
        first.setdefault(run[0], file)
    return policy, [requests for point, file in first.items() for requests in read(file, point)]


def read(file, point=0):
    """The Requests of each client that had some, as the workload lists them."""
    _, _, events = timeline.read(file)
    clients = timeline.named(events, 'thread_name', 'name')
    owner = [tid for tid, name in timeline.named(events, 'thread_name', 'name', timeline.GPU).items() if name == 'owner']
    spans = defaultdict(dict)  # by client and launch: one that was stopped and went on has several
    for index, event in enumerate(events):
        if event.get('ph') == 'X' and event.get('pid') == timeline.GPU and event.get('tid') in owner:
            begin, length = (timeline.milliseconds(file, index, event, key) * 1000 for key in ('ts', 'dur'))
            kernel = str(event.get('args', {}).get('kernel', ''))
            launches = spans[event['name'].removesuffix(f' {kernel}')]
            launch = event.get('args', {}).get('launch', f'event {index}')
            first, before, parts = launches.get(launch, (begin, 0, 0))
            launches[launch] = min(first, begin), before + length, parts + 1
    last = max((begin for each in spans.values() for begin, *_ in each.values()), default=0)
    turns = any(parts > 1 for each in spans.values() for _, _, parts in each.values())
    return [_requests(str(clients[tid]), point, list(spans[str(clients[tid])].values()), None if turns else last) for tid in sorted(clients)
            if spans[str(clients[tid])]]


def _requests(client, point, spans, last):
    """What the run's end may have cut has no length: its last request, or, where clients take turns (last: None), the last of each."""
    begins = sorted(begin for begin, *_ in spans)
    last = begins[-1] if last is None else last
    return Requests(client, point, sorted(length for begin, length, _ in spans if begin < last),
                    sorted(after - before for before, after in pairwise(begins)))


def draw(requests, title, labels):
    """The pages of the figure. labels: what tells the run at each point from the others, or ''."""
    requests = [each for each in requests if each.lengths and each.gaps]
    if len(requests) > _MOST_LINES:
        requests = [each for index, each in enumerate(requests)
                    if each.client not in (before.client for before in requests[:index])]
    points = defaultdict(set)
    for each in requests:
        points[each.client].add(each.point)
    called = {(each.client, each.point): f'{each.client}, {labels[each.point]}' if len(points[each.client]) > 1 else each.client
              for each in requests}
    for start in range(0, len(requests), _LINES):
        yield _draw_page(requests[start:start + _LINES], title, called)


def _draw_page(requests, title, called):
    figure, grid = style.pyplot.subplots(1, 2, sharey=True, figsize=(style.WIDTH, 2.9))
    handles = []
    for place, each in enumerate(requests):
        look = {'color': _COLOURS[place % len(_COLOURS)], 'linestyle': _DASHES[place % len(_DASHES)],
                'marker': _MARKERS[place], 'markersize': 3}
        for axes, values in zip(grid, (each.lengths, each.gaps)):
            xs, shares = _distribution(values)
            axes.plot(xs, shares, drawstyle='steps-post', markevery=max(1, len(xs) // 8), **look)
        handles.append(Line2D([], [], label=called[each.client, each.point], **look))
    for axes, name in zip(grid, ('length of a request (µs)', "from a request's beginning to the client's next (µs)")):
        style.log_x(axes)
        axes.set_xlabel(name)
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.grid()
    grid[0].set_ylabel('share of requests within this time')
    style.lay_out(figure, title, handles)
    return figure


def _distribution(values):
    """(values, share that is at most so large), from 0; values must be sorted."""
    chosen = sorted({round(step * (len(values) - 1) / _MOST_STEPS) for step in range(_MOST_STEPS + 1)})
    return [values[0], *(values[index] for index in chosen)], [0, *((index + 1) / len(values) for index in chosen)]
