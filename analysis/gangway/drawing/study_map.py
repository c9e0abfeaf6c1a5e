"""A map of a study with two swept parameters: which share of the sets is proven bounded, seen growing, or neither."""
from matplotlib import pyplot

from gangway.drawing import style

_PANELS = {'proven': 'proven bounded', 'growing': 'seen growing', 'unknown': 'neither'}


def applies(study):
    return (study.utilisation is not None and len(study.swept) == 2 and all(len(study.values(path)) > 4 for path in study.swept)
            and all('growing' in row.shares for row in study.summary))


def draw(study):
    """A row of panels for each order of the queue."""
    orders = study.orders()
    other = next(path for path in study.swept if path != study.utilisation)
    x, y = study.values(study.utilisation), study.values(other)
    figure, grid = pyplot.subplots(len(orders), len(_PANELS), sharex=True, sharey=True, squeeze=False,
                                   figsize=(style.WIDTH, 0.8 + 2.0 * len(orders)))
    for axes_of_row, order in zip(grid, orders):
        for axes, (key, name) in zip(axes_of_row, _PANELS.items()):
            cells = [[None] * len(x) for _ in y]
            for row in study.summary:
                if row.order == order:
                    value = row.unknown if key == 'unknown' else row.shares[key].mean
                    cells[y.index(study.at(row, other))][x.index(study.at(row, study.utilisation))] = value
            axes.imshow(cells, origin='lower', aspect='auto', cmap='Greys', vmin=0, vmax=1)
            axes.set_title(f'{name}, % of sets' + (f'\n{order}' if order else ''))
            axes.set_xticks(range(1, len(x), 2), [f'{float(text):g}' for text in x[1::2]])
            axes.set_yticks(range(len(y)), [study.value(other, text) for text in y])
            for spine in axes.spines.values():
                spine.set_visible(True)
            for row_index, row_of_cells in enumerate(cells):
                for column, value in enumerate(row_of_cells):
                    if value:
                        axes.text(column, row_index, f'{100 * value:.0f}' if value >= 0.01 else '<1', ha='center', va='center', fontsize=5,
                                  color='white' if value > 0.5 else 'black')
        axes_of_row[0].set_ylabel(study.name(other))
    for axes in grid[-1]:
        axes.set_xlabel(study.utilisation_label())
    style.lay_out(figure, study.title, [])
    return figure
