"""Figures of more values than can be drawn one by one, and scales by which panels can be compared."""
import random
import unittest

from in_a_folder import InAFolder  # (which adds the path of the modules below)
from gangway.drawing import bars
from gangway.drawing.commands import figures
from gangway.drawing import gantt
from gangway.drawing import heat_map
from gangway.drawing import quantity
from gangway.drawing import queues
from gangway.drawing import responses
from gangway.drawing import results
from gangway.drawing import style
from gangway.drawing import sweep
from gangway.drawing import swept_axis
import synthetic
from gangway.drawing.results import Measured

QUANTUM = 'policies.rr.params.quantum'
GAP = 'workload.arrivals.gap'


def times(count, unit='us'):
    return [f'{number} {unit}' for number in range(1, count + 1)]


class HeatMaps(InAFolder):
    def test_two_quantities_of_many_values_are_one_page_of_colours_for_four_policies(self):
        found = self.sweep(**{QUANTUM: times(12), GAP: times(9)})
        names = [path.name for path in figures.draw(found.path, self.folder / 'out')]
        self.assertEqual(names, [f'heat-map{page}.{suffix}' for page in ('', '-2') for suffix in ('png', 'pdf')])

    def test_few_values_of_either_are_lines(self):
        self.assertFalse(heat_map.applies(self.sweep(**{QUANTUM: times(12), GAP: times(7)})))
        self.assertTrue(heat_map.applies(self.sweep(**{QUANTUM: times(8), GAP: times(8)})))
        self.assertFalse(heat_map.applies(self.sweep(**{QUANTUM: times(12), 'mechanism.name': list('abcdefghi')})))

    def test_each_cell_is_its_point_and_a_metric_has_one_scale(self):
        found = self.sweep(**{QUANTUM: times(12)[::-1], GAP: times(9)})
        page = heat_map.draw(found)[0]
        panels = [axes for axes in page.axes if axes.images]
        self.assertEqual(page.axes[0].get_title(), 'sjf')
        rows = {(row.swept, row.policy): row.metrics['antt'].mean for row in found.summary}
        values = panels[0].images[0].get_array()
        for right in range(12):
            for up in range(9):
                self.assertEqual(values[up][right], rows[(f'{right + 1} us', f'{up + 1} us'), 'sjf'])
        antt = [axes.images[0].get_clim() for axes in panels[:len(panels) // 4]]
        self.assertEqual(len(set(antt)), 1)
        self.assertEqual(panels[-1].get_xlabel(), 'rr quantum (µs)')

    def test_a_cell_without_a_value_is_no_colour_of_the_scale(self):
        found = self.sweep(**{QUANTUM: times(8), GAP: times(8)})
        text = (found.path / 'summary.csv').read_text().splitlines()
        cells = text[1].split(',')
        cells[text[0].split(',').index('antt')] = ''
        text[1] = ','.join(cells)
        (found.path / 'summary.csv').write_text('\n'.join(text) + '\n')
        pages = heat_map.draw(results.read(found.path))
        legends = [entry.get_text() for page in pages for legend in page.legends for entry in legend.get_texts()]
        self.assertEqual(legends, ['no value: a client finished no job'])


    def test_of_few_values_it_is_drawn_where_somebody_asks(self):
        found = self.sweep(**{QUANTUM: ['0.01 ms', '1 ms', '100 ms'], GAP: ['2 us', '20 us']})
        self.assertFalse(heat_map.applies(found))
        names = [path.name for path in figures.draw(found.path, self.folder / 'out', asked=('heat-map',))]
        self.assertEqual(names, [f'heat-map{page}.{suffix}' for page in ('', '-2') for suffix in ('png', 'pdf')])
        self.assertEqual([name for name, _ in figures.kinds(found.path)].count('heat-map'), 0)
        page = heat_map.draw(found)[0]
        self.assertEqual([label.get_text() for label in [axes for axes in page.axes if axes.images][-1].get_xticklabels()], ['0.01', '1', '100'])
        one = self.sweep(**{QUANTUM: ['1 ms'], GAP: ['2 us', '20 us']})
        with self.assertRaisesRegex(results.InputError, "found 'heat-map' with --figure, expected one of sweep"):
            list(figures.draw(one.path, self.folder / 'out', asked=('heat-map',)))

    def test_nothing_is_cut_off_at_the_right(self):
        sizes = [f'{size} KiB' for size in (8, 16, 32, 64, 450)]
        found = self.sweep(**{GAP: times(8), 'device.memory': sizes})
        rows = [row for row in found.summary if row.policy == 'rr']
        for row in rows:
            row.metrics.update(antt=Measured(60 / (1 + row.point), 0), dntt=Measured(60 / (1 + row.point), 0), stp=Measured(1 + row.point / 3, 0))
        page, = heat_map.draw(results.Results(**{**vars(found), 'summary': [results.replace(row, evictions=0) for row in rows]}))
        self.assertLess(page.get_tightbbox(page.canvas.get_renderer()).x1, style.WIDTH)

    def test_numbers_below_a_panel_do_not_touch(self):
        values = [f'{50 * 2 ** place} us' for place in range(10)]
        for policies in (4, 5):
            page = heat_map.draw(self.sweep(**{QUANTUM: values, GAP: times(9)}))[0]
            page.canvas.draw()
            for axes in page.axes:
                boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text() and axes.images]
                self.assertTrue(all(one.x1 + 2 < other.x0 for one, other in zip(boxes, boxes[1:])), boxes)

    def test_a_result_that_failed_is_not_taken_for_a_client_that_starved(self):
        found = self.sweep(**{QUANTUM: times(8), GAP: times(8)})
        file = found.path / 'summary.csv'
        lines = file.read_text().splitlines()
        file.write_text('\n'.join([lines[0], *lines[2:]]) + '\n')
        pages = heat_map.draw(results.read(found.path))
        legends = [entry.get_text() for page in pages for legend in page.legends for entry in legend.get_texts()]
        self.assertEqual(legends, ['no result: it failed, or was not played'])
        hatched = [axes for page in pages for axes in page.axes if axes.images and axes.patches]
        self.assertEqual(len(hatched), 4, 'a cell of one policy, in the panel of each metric')

    def test_long_names_are_parted_at_their_hyphens(self):
        self.assertEqual(swept_axis.wrapped('rr-with-a-quantum-of-mine', 1.2), 'rr-with-a-\nquantum-of-mine')
        self.assertEqual(swept_axis.wrapped('a client kernel 0 time', 1.0).count('\n'), 1)


class ManyJobs(InAFolder):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        self.long = [draw.uniform(1, 2) for _ in range(1000)]
        synthetic.write_responses(self.folder, {(0, 'A'): [*self.long[:-100], *[None] * 100], (0, 'B'): [5000.0] * 10})
        self.found = results.read_responses(self.folder)
        self.labels = dict.fromkeys(self.found, 'fcfs')

    def test_a_thousand_are_a_line_of_medians_in_a_band(self):
        page, = responses.draw(self.found, 'many', self.labels)
        panel = next(axes for axes in page.axes if axes.get_title(loc='left') == 'A')
        self.assertEqual(len(panel.lines[0].get_xdata()), 50)
        self.assertEqual(len(panel.collections), 1)
        self.assertAlmostEqual(panel.lines[0].get_ydata()[0], sorted(self.long[:20])[9:11][0], delta=0.1)

    def test_their_distribution_ends_below_1_where_jobs_did_not_finish(self):
        self.assertTrue(responses.is_distributed(self.found))
        page, = responses.draw_distribution(self.found, 'many', self.labels)
        ends = {axes.get_title(loc='left'): axes.lines[0].get_ydata()[-1] for axes in page.axes}
        self.assertEqual(ends, {'A': 0.9, 'B': 1.0})
        self.assertFalse(responses.is_distributed({run: {'B': clients['B']} for run, clients in self.found.items()}))

    def test_distributions_are_of_all_runs(self):
        jobs = results.read_all_responses(self.folder)[0, 'passthrough']
        self.assertEqual({client: len(own) for client, own in jobs.items()}, {'A': 2000, 'B': 20})
        self.assertEqual(len(self.found[0, 'passthrough']['A']), 1000, 'the first run')

    def test_a_sweep_of_many_points_has_eight_pages(self):
        runs = {(point, 'fcfs'): {'A': {job: point + job + 1.0 for job in range(5)}} for point in range(60)}
        pages = list(responses.draw(runs, 'sixty', {run: str(run[0]) for run in runs}))
        self.assertEqual(len(pages), 8)
        self.assertEqual({page.texts[0].get_text() for page in pages}, {'sixty (the first 48 of 60 results)'})

    def test_clients_whose_times_are_alike_share_a_scale_and_seconds_are_seconds(self):
        page, = responses.draw(self.found, 'many', self.labels)
        labels = {axes.get_title(loc='left'): axes.get_ylabel() for axes in page.axes}
        self.assertEqual(labels, {'A': 'response time (ms)', 'B': 'response time (s)'})
        synthetic.write_responses(self.folder, {(0, 'A'): [1, 2, 3], (0, 'B'): [10, 20, 30]})
        page, = responses.draw(results.read_responses(self.folder), 'few', self.labels)
        self.assertEqual(len({axes.get_ylim() for axes in page.axes}), 1)

    def test_the_unit_of_a_logarithmic_axis_suits_most_of_its_times(self):
        synthetic.write_responses(self.folder, {(0, 'A'): [2] * 9 + [4000]})
        page, = responses.draw(results.read_responses(self.folder), 'one outlier', self.labels)
        self.assertEqual((page.axes[0].get_yscale(), page.axes[0].get_ylabel()), ('log', 'response time (ms)'))

    def test_lines_differ_in_more_than_their_hue(self):
        runs = {(point, 'fcfs'): {'A': {job: point + job + 1.0 for job in range(5)}} for point in range(6)}
        page, = responses.draw(runs, 'six', {run: str(run[0]) for run in runs})
        self.assertEqual(len({line.get_marker() for line in page.axes[0].lines}), 6)


class Gantts(unittest.TestCase):
    def test_columns_keep_each_states_share_of_the_time(self):
        draw, spans, now = random.Random(2), {'waiting': [], 'running': [], 'draining': []}, 0.0
        while now < 1000:
            for state, mean in (('waiting', 0.06), ('running', 0.03), ('draining', 0.01)):
                length = draw.uniform(0, 2 * mean)
                spans[state].append((now, length))
                now += length
        chosen = gantt._columns(spans, now)
        for state, share in (('waiting', 0.6), ('running', 0.3), ('draining', 0.1)):
            self.assertAlmostEqual(len(chosen[state]) / gantt._COLUMNS, share, delta=0.02)

    def test_columns_of_a_long_bar_are_all_its_own(self):
        chosen = gantt._columns({'running': [(0, 50)], 'waiting': [(50, 25)]}, 100)
        starts = sorted(start for start, _ in chosen['running'])
        self.assertEqual((len(starts), len(chosen['waiting'])), (gantt._COLUMNS // 2, gantt._COLUMNS // 4))
        self.assertLess(max(starts), 50)

    def test_an_axis_of_seconds_has_round_ticks(self):
        self.assertEqual(quantity.unit_of_time(6000)[0], 's')
        ticks = gantt._Times(1e-3).tick_values(0, 6000)
        self.assertEqual([tick for tick in ticks if 0 <= tick <= 6000], [0, 1000, 2000, 3000, 4000, 5000, 6000])


class Scales(InAFolder):
    def test_on_a_logarithmic_axis_values_are_points_and_not_bars(self):
        synthetic.write_bars(self.folder)
        header, *rows = (self.folder / 'clients.csv').read_text().splitlines()
        column = header.split(',').index('ntt')
        cells = rows[0].split(',')
        cells[column] = '400'
        (self.folder / 'clients.csv').write_text('\n'.join([header, ','.join(cells), *rows[1:]]) + '\n')
        axes = bars.draw_clients(results.read(self.folder)).axes[0]
        self.assertEqual(axes.get_yscale(), 'log')
        self.assertEqual(len(axes.patches), 0)

    def test_bars_in_a_sweep_over_words_likewise(self):
        found = self.sweep(**{'mechanism.name': ['flag-copy', 'proxy', 'slice']})
        page, = sweep.draw(found)
        self.assertTrue(all(axes.patches for axes in page.axes if axes.get_yscale() == 'linear' and axes.get_visible()))
        page = sweep.draw(results.Results(**{**vars(found), 'summary': [
            results.Summary(**{**vars(row), 'metrics': {**row.metrics, 'antt': Measured(10.0 ** (1 + row.point), 0)}})
            for row in found.summary]}))[0]
        self.assertEqual(page.axes[0].get_yscale(), 'log')
        self.assertEqual(len(page.axes[0].patches), 0)

    def test_queues_of_several_runs_have_one_scale(self):
        class Run:
            def __init__(self, most):
                self.end, self.queues = 1.0, {queues.STREAMS: [(0.0, most)], queues.PRIMARY: [(0.0, 1)]}
        page, = queues.draw([Run(3), Run(300)], 'two runs', ['a', 'b'])
        self.assertEqual(len({axes.get_ylim() for axes in page.axes}), 1)

    def test_no_line_of_a_title_is_an_orphan(self):
        draw = random.Random(3)
        for _ in range(300):
            text = ' '.join('x' * draw.randint(1, 12) for _ in range(draw.randint(1, 60)))
            lines = style.balanced(text, 100)
            self.assertEqual(' '.join(lines), text)
            self.assertLessEqual(max(map(len, lines)), 100)
            if len(lines) > 1:
                self.assertGreater(len(lines[-1]), max(map(len, lines)) / 3)


if __name__ == '__main__':
    unittest.main()
