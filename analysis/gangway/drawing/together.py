"""Paths that a sweep varies together: figures take those of one group for one swept parameter."""
from gangway.drawing import names, quantity


def groups(configuration):
    """Lists of paths that vary together, from an experiment's mapping."""
    sweep = configuration.get('sweep') if isinstance(configuration, dict) else None
    given = sweep.get('together') if isinstance(sweep, dict) else None
    return [list(paths) for paths in (given if isinstance(given, list) else [given]) if isinstance(paths, dict)]


class OneOfEach:
    """Swept parameters in which one stands for each group: of those paths that tell its values apart the first that is a
    quantity, else the first; where none does, all of them together."""

    def __init__(self, paths, cells, configuration):
        """paths: of all columns; cells: tuples of their texts."""
        cells = list(dict.fromkeys(cells))
        self._columns = []  # of each parameter, the places of its columns
        left = list(range(len(paths)))
        for group in groups(configuration):
            places = [place for place in left if paths[place] in group]
            if len(places) > 1:
                first = left.index(places[0])
                left = [place for place in left if place not in places]
                left.insert(first, _representative(places, cells))
        self._columns = [place if isinstance(place, tuple) else (place,) for place in left]
        self.paths = tuple(paths[columns[0]] if len(columns) == 1 else ' and '.join(names.parameter(paths[place]) for place in columns)
                           for columns in self._columns)

    def texts(self, cells):
        return tuple(', '.join(cells[place] for place in columns) for columns in self._columns)


def _representative(places, cells):
    values = len({tuple(row[place] for place in places) for row in cells})
    telling = [place for place in places if len({row[place] for row in cells}) == values]
    numbers = [place for place in telling if quantity.in_common_unit([row[place] for row in cells])]
    return next(iter(numbers + telling), tuple(places))
