"""The figures of studies' result folders."""
import json
import unittest

from test_figures import InAFolder, finish, start

from gangway.drawing.commands import figures
from matplotlib.cbook import STEP_LOOKUP_MAP
from gangway.drawing import results
from gangway.drawing import schedulability
from gangway.drawing import studies
from gangway.drawing import study_map
from gangway.drawing import tightness

SUMMARY = ('point,order,{}sets,proven,proven_low,proven_high,met,met_low,met_high,growing,growing_low,growing_high,unknown\n')
BOUNDS = ('point,order,{}bound,sets,bounded,bounded_low,bounded_high,in_time,in_time_low,in_time_high,tasks,ratio_p5,ratio_p50,'
          'ratio_p95,ratio_max\n')
BLOCKS, UTILISATION = 'generator.params.most_threads', 'generator.params.utilisation'


def write(folder, blocks=(1, 16), orders=('became-head', 'release-ready'), utilisations=(0.2, 0.4, 0.6)):
    folder.mkdir()
    configuration = {'kind': 'study', 'name': 's', 'title': 'A study', 'generator': {'name': 'x', 'params': {'threads': '64'}}}
    (folder / 'manifest.json').write_text(json.dumps({'kind': 'result', 'configuration': configuration}))
    summary, bounds = SUMMARY.format(f'{BLOCKS},{UTILISATION},'), BOUNDS.format(f'{BLOCKS},{UTILISATION},')
    tight = 'point,order,bound,ratio_from,ratio_to,tasks\n'
    for point, (block, u) in enumerate((block, u) for block in blocks for u in utilisations):
        for order in orders:
            key = f'{point},{order},{block},{u},'
            summary += f'{key}100,{1 - u:.1f},0,1,{1 - u / 2},0,1,{u / 2:.1f},0,1,{u / 2:.1f}\n'
            for bound, share in (('T1-closed', 0), ('T2', 1 - u), ('T4', 0), ('tightest', 1 - u)):
                bounds += f'{key}{bound},100,{share:.1f},0,1,{share / 2:.2f},0,1,0,,,,\n'
            tight += f'{point},{order},T2,0.48,0.5,30\n{point},{order},T2,0.98,1,10\n'
    for name, text in (('summary', summary), ('bounds', bounds), ('tightness', tight)):
        (folder / f'{name}.csv').write_text(text)
    return folder


class Study(InAFolder):
    def study(self, **shape):
        return studies.read(write(self.folder / 'study', **shape))

    def test_shares_have_a_panel_for_each_order_and_block_and_no_line_for_what_never_holds(self):
        figure = schedulability.draw(self.study(), 'bounded')
        self.assertEqual([axes.get_title() for axes in figure.axes], ['largest block m/64', 'largest block m/4', '', ''])
        lines = figure.axes[0].lines
        self.assertEqual(len(lines), 2)  # T2 and any theorem; T4 never holds, T1-closed is T1's shadow
        for line in lines:
            self.assertEqual(list(zip(*line.get_data())), [(0.2, 0.8), (0.4, 0.6), (0.6, 0.4)])
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], ['T2: windows of several jobs', 'any theorem', '95 % interval'])

    def test_deadlines_come_with_what_was_met_in_simulation(self):
        figure = schedulability.draw(self.study(), 'in_time')
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()],
                         ['T2: windows of several jobs', 'any theorem', 'met in a long run', '95 % interval'])
        self.assertEqual(list(figure.axes[0].lines[-1].get_ydata()), [0.9, 0.8, 0.7])

    def test_a_map_is_for_two_parameters_of_many_values(self):
        self.assertFalse(study_map.applies(self.study()))
        study = studies.read(write(self.folder / 'map', (1, 2, 4, 8, 16), ('became-head',), (0.2, 0.4, 0.6, 0.8, 1.0)))
        self.assertFalse(schedulability.applies(study))
        figure = study_map.draw(study)
        self.assertEqual([axes.get_title().split(',')[0] for axes in figure.axes], ['proven bounded', 'seen growing', 'neither'])
        self.assertEqual([label.get_text() for label in figure.axes[0].get_yticklabels()], ['m/64', 'm/32', 'm/16', 'm/8', 'm/4'])
        self.assertEqual(figure.axes[0].images[0].get_array()[0][0], 0.8)

    def test_ratios_add_up_over_points(self):
        line = tightness.draw(self.study()).axes[0].lines[0]
        self.assertEqual(list(zip(*line.get_data())), [(0, 0), (0.5, 0.75), (1, 1)])

    def test_where_no_task_has_a_ratio_the_share_does_not_rise(self):
        line = tightness.draw(self.study()).axes[0].lines[0]
        places, shares = STEP_LOOKUP_MAP.get(line.get_drawstyle(), lambda *data: data)(*line.get_data())
        corners = list(zip(places, shares))
        self.assertEqual(corners, [(0, 0), (0.5, 0), (0.5, 0.75), (1, 0.75), (1, 1)])

    def test_the_command_draws_what_applies(self):
        code, out, errors = finish(start('figures.py', write(self.folder / 'study')))
        self.assertEqual((code, errors), (0, ''))
        self.assertEqual([line.rsplit('/', 1)[1] for line in out.split()],
                         [f'{name}.{suffix}' for name in ('bounded', 'in-time', 'tightness') for suffix in ('png', 'pdf')])

    def test_a_damaged_folder_is_refused(self):
        folder = write(self.folder / 'study')
        (folder / 'summary.csv').write_text(SUMMARY.format(''))
        with self.assertRaisesRegex(results.InputError, 'no rows'):
            list(figures.draw(folder, self.folder))
        (folder / 'bounds.csv').unlink()
        self.assertEqual(finish(start('figures.py', folder))[0], 2)


if __name__ == '__main__':
    unittest.main()
