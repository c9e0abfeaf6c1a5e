"""Names beside points such that no two overlap, nor any a point."""
import math

_STEPS = 16  # directions
_RADII = (5, 9, 14, 20, 27, 35, 44, 54, 66, 80, 96)
_LINE_FROM = 10  # so far away a thin line leads to the name
_PAD = 1.0  # pixels around a name


def write(axes, labels, colours, avoid=(), lines=(), size=6.5):
    """Writes names, one or several lines of text by the point (x, y) that they are of; colours likewise. avoid: more points to
    keep clear of, lines: ((x, y), (x, y)) likewise. To be called when the layout is final."""
    figure = axes.figure
    renderer = figure.canvas.get_renderer()
    scale = figure.dpi / 72
    frame = axes.get_window_extent(renderer)
    points = {point: axes.transData.transform(point) for point in [*labels, *avoid]}
    taken = [_box(*place, 3.6 * scale, 3.6 * scale) for place in points.values()]
    for ends in lines:
        (x0, y0), (x1, y1) = sorted(map(tuple, axes.transData.transform(ends)))
        taken.append((x0 - 1, min(y0, y1) - 1, x1 + 1, max(y0, y1) + 1))
    texts = {}
    for point, label in labels.items():
        text = axes.annotate(label, point, (0, 0), textcoords='offset points', ha='center', va='center', fontsize=size,
                             color=colours[point], linespacing=1.0, zorder=5)
        box = text.get_window_extent(renderer)
        texts[point] = text, box.width, box.height
    leads = []
    for point in sorted(labels, key=lambda point: (-_crowd(points[point], points.values(), 40 * scale), point)):
        text, width, height = texts[point]
        _, offset, box, line = min(_candidates(points[point], width, height, scale, frame, taken, leads), key=lambda each: each[0])
        taken.append(box)
        text.set_position((offset[0] / scale, offset[1] / scale))
        if line:
            leads.append(line)
            inverse = axes.transData.inverted().transform
            (x0, y0), (x1, y1) = inverse(line[0]), inverse(line[1])
            axes.plot([x0, x1], [y0, y1], color=colours[point], linewidth=0.5, zorder=1)
    return {point: text for point, (text, _, _) in texts.items()}


def _crowd(place, places, radius):
    return sum(math.dist(place, other) < radius for other in places)


def _candidates(place, width, height, scale, frame, taken, leads):
    """(cost, offset of the centre, box, line to it or None) of each direction and distance: overlaps cost most, then length."""
    for radius in _RADII:
        for step in range(_STEPS):
            angle = 2 * math.pi * step / _STEPS
            x, y = math.cos(angle), math.sin(angle)
            dx, dy = radius * scale * x + width / 2 * _towards(x), radius * scale * y + height / 2 * _towards(y)
            centre = place[0] + dx, place[1] + dy
            box = _box(*centre, width / 2 + _PAD, height / 2 + _PAD)
            line = (tuple(place), _edge(box, place)) if radius >= _LINE_FROM else None
            cost = radius + 1000 * sum(_overlap(box, other) for other in taken) + 1000 * (not _inside(box, frame))
            cost += 300 * sum(_crosses(each, box) for each in leads)
            if line:
                cost += 300 * sum(_crosses(line, other) for other in taken if not _contains(other, place))
                cost += 100 * sum(_meet(line, each) for each in leads)
            yield cost, (dx, dy), box, line


def _towards(component):
    """A name stands beside its point, above or below it: its nearest edge or corner faces the point."""
    return 0 if abs(component) < 0.3 else math.copysign(1, component)


def _box(x, y, half_width, half_height):
    return x - half_width, y - half_height, x + half_width, y + half_height


def _overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _inside(box, frame):
    return box[0] >= frame.x0 and box[1] >= frame.y0 and box[2] <= frame.x1 and box[3] <= frame.y1


def _contains(box, place):
    return box[0] <= place[0] <= box[2] and box[1] <= place[1] <= box[3]


def _edge(box, place):
    """The point of the box that is nearest to the place."""
    return min(max(place[0], box[0]), box[2]), min(max(place[1], box[1]), box[3])


def _crosses(line, box):
    (x0, y0), (x1, y1) = line
    return any(_contains(box, (x0 + (x1 - x0) * part / 20, y0 + (y1 - y0) * part / 20)) for part in range(21))


def _meet(one, other):
    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    return (side(*one, other[0]) * side(*one, other[1]) < 0) and (side(*other, one[0]) * side(*other, one[1]) < 0)
