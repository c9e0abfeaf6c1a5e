"""The figures of synthetic result folders."""
import csv
import math
import unittest
from dataclasses import replace
from pathlib import Path

import synthetic
import yaml
from gangway.drawing import bars, client_sweep, gantt, load, names, priorities, quantity, responses, results, style, sweep
from gangway.drawing.commands import figures, report
from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from matplotlib.markers import CARETUPBASE

QUANTUM = 'policies.rr.params.quantum'
GAP = 'workload.arrivals.gap'
REQUEST = 'workload.clients.Throttle.throttle.request'


class Files(InAFolder):
    def test_bars_and_a_gantt_chart_that_are_the_same_bytes_when_drawn_again(self):
        synthetic.write_bars(self.folder / 'fig4')
        synthetic.write_trace(self.folder / 'fig4', 'rr')
        self.check_drawn_alike(
            ('figures.py', self.folder / 'fig4'),
            [f'{name}.{suffix}' for name in ('clients', 'metrics', 'gantt') for suffix in ('png', 'pdf')])

    def test_a_folder_with_a_sweep_gets_the_sweep(self):
        found = self.sweep(**{QUANTUM: ['0.5 ms', '1 ms', '2 ms']})
        written = list(figures.draw(found.path, self.folder / 'out'))
        self.assertEqual([path.name for path in written], ['sweep.png', 'sweep.pdf'])

    def test_figures_of_several_folders_stand_apart(self):
        sources = [self.folder / 'a', self.folder / 'b']
        self.assertEqual(figures._places(sources, None), sources)
        self.assertEqual(figures._places(sources, Path('out')), [Path('out/a'), Path('out/b')])
        with self.assertRaises(results.InputError):
            figures._places([Path('x/a'), Path('y/a')], Path('out'))


class Bars(InAFolder):
    def setUp(self):
        super().setUp()
        synthetic.write_bars(self.folder)
        self.found = results.read(self.folder)

    def rows(self, file):
        return list(csv.reader((self.folder / file).read_text().splitlines()))

    def test_published_values_are_marked_solid_or_hollow_by_class(self):
        antt, dntt, _ = bars.draw_metrics(self.found).axes
        marked = {line.get_ydata()[0]: line.get_markerfacecolor() for line in antt.lines
                  if line.get_marker() == 'd'}
        self.assertEqual(marked, {1.95: 'black', 1.96: 'black', 2.44: 'black', 4.87: 'black', 6.0: 'white'})
        self.assertGreater(dntt.get_ylim()[1], 2.99)
        self.assertEqual([text.get_text() for text in dntt.figure.legends[0].get_texts()][1:],
                         ['printed value', 'printed value: order only or not determined'])

    def test_relative_and_per_client_values_are_not_marked(self):
        text = (self.folder / 'published.csv').read_text()
        (self.folder / 'published.csv').write_text(text.replace(',antt,', ',antt/sjf,'))
        self.assertEqual(len(self.found.published_metrics()), 15)
        self.assertEqual(len(results.read(self.folder).published_metrics()), 10)
        self.assertIn('ANTT / sjf', report.text(results.read(self.folder)))

    def test_the_longest_client_comes_first(self):
        axes = bars.draw_clients(self.found).axes[0]
        labels = [label.get_text().split('\n')[0] for label in axes.get_xticklabels()]
        self.assertEqual(labels, list(synthetic.CLIENTS))
        self.assertEqual(axes.get_xticklabels()[0].get_text(), 'CEDD\n13.6 ms')

    def test_a_single_replication_has_no_intervals(self):
        for file in ('summary.csv', 'clients.csv'):
            header, *rows = self.rows(file)
            rows = [['' if name.endswith('_ci95') else cell for name, cell in zip(header, row)] for row in rows]
            synthetic._write_csv(self.folder / file, header, rows)
        for figure in (bars.draw_clients, bars.draw_metrics):
            legend = figure(results.read(self.folder)).legends[0]
            self.assertFalse([text for text in legend.get_texts() if 'interval' in text.get_text()])


    def change(self, file, column, values):
        """values: policy -> what its rows have in the column."""
        header, *rows = self.rows(file)
        for row in rows:
            row[header.index(column)] = values.get(row[header.index('policy')], row[header.index(column)])
        synthetic._write_csv(self.folder / file, header, rows)

    def intervals(self, axes):
        """Ends of the intervals' lines, and whether they are drawn outside the panel."""
        return [(part.get_segments()[0][:, 1].tolist(), part.get_clip_on()) for part in axes.collections]

    def test_on_a_logarithmic_axis_points_without_an_interval_have_none_and_others_end_at_the_panel(self):
        self.change('summary.csv', 'antt', {'sjf': 100})
        self.change('summary.csv', 'antt_ci95', {'sjf': 400, 'srt': '', 'frs': 0, 'rr': 1, 'cfs': 2})
        antt = bars.draw_metrics(results.read(self.folder)).axes[0]
        self.assertEqual(antt.get_yscale(), 'log')
        found = self.intervals(antt)
        self.assertEqual([clipped for _, clipped in found], [True] * 3)
        self.assertIn([0, 500], [ends for ends, _ in found])
        self.assertEqual(len([line for line in antt.lines if line.get_marker() == '_']), 6)  # two caps for each
        self.change('clients.csv', 'ntt', {'sjf': 100})
        self.change('clients.csv', 'ntt_ci95', {'sjf': '', 'srt': 0})
        axes = bars.draw_clients(results.read(self.folder)).axes[0]
        self.assertEqual((axes.get_yscale(), sum(len(part.get_segments()) for part in axes.collections)), ('log', 3 * 9))

    def test_bars_without_an_interval_have_none_beside_others(self):
        header, *rows = self.rows('clients.csv')
        for row in rows[:1]:  # of one client of a policy
            row[header.index('ntt_ci95')] = ''
        synthetic._write_csv(self.folder / 'clients.csv', header, rows)
        axes = bars.draw_clients(results.read(self.folder)).axes[0]
        caps = [y for line in axes.lines if line.get_marker() == '_' for y in line.get_ydata()]
        self.assertEqual(sum(not math.isnan(y) for y in caps), 2 * (5 * 9 - 1))

    def test_names_of_two_policies_stand_as_close_as_the_panel_puts_them(self):
        for file in ('summary.csv', 'clients.csv'):
            header, *rows = self.rows(file)
            names = {'sjf': 'disengaged-timeslice', 'srt': 'stride-timeslice'}
            synthetic._write_csv(self.folder / file, header, [[row[0], names[row[1]], *row[2:]] for row in rows if row[1] in names])
        (self.folder / 'published.csv').unlink()
        figure = bars.draw_metrics(results.read(self.folder))
        figure.canvas.draw()
        for axes in figure.axes:
            one, other = axes.get_xticklabels()
            self.assertTrue(one.get_rotation() or not one.get_window_extent().overlaps(other.get_window_extent()))
            self.assertEqual(one.get_rotation(), 35)

    def test_standalone_times_have_the_unit_that_suits_each(self):
        shown = {time: bars._time(time) for time in (328e9, 1.5e9, 13.57e6, 0.9e6, 268.4e3, math.nan)}
        self.assertEqual(list(shown.values()), ['328 s', '1500 ms', '13.6 ms', '900 µs', '268 µs', ''])


class Sweeps(InAFolder):
    def test_a_log_axis_where_the_points_are_geometric(self):
        page, = sweep.draw(self.sweep(**{QUANTUM: ['0.25 ms', '500 us', '1 ms', '2 ms']}))
        self.assertEqual({axes.get_xscale() for axes in page.axes}, {'log'})
        self.assertEqual(list(page.axes[0].lines[0].get_xdata()), [0.25, 0.5, 1, 2])
        self.assertEqual(page.axes[-1].get_xlabel(), 'rr quantum (ms)')
        self.assertEqual([label.get_text() for label in page.axes[-1].get_xticklabels()], ['0.25', '0.5', '1', '2'])
        page, = sweep.draw(self.sweep(**{GAP: ['1 ms', '2 ms', '3 ms', '4 ms']}))
        self.assertEqual({axes.get_xscale() for axes in page.axes}, {'linear'})

    def test_a_band_does_not_taper_to_a_point_without_an_interval(self):
        _, axes = style.pyplot.subplots()
        sweep.draw_line(axes, [(place, results.Measured(10, ci95)) for place, ci95 in enumerate((1, 2, math.nan))], {'color': 'black'})
        band, = axes.collections
        self.assertEqual({tuple(vertex) for path in band.get_paths() for vertex in path.vertices.tolist()},
                         {(0, 9), (0, 11), (1, 8), (1, 12)})

    def test_a_number_at_each_of_many_evenly_spaced_points_that_are_short(self):
        for values, labels in [(range(1, 9), list('12345678')), (range(1000, 9000, 1000), None)]:
            page, = sweep.draw(self.sweep(**{'workload.arrivals.count': [str(value) for value in values]}))
            found = [label.get_text() for label in page.axes[-1].get_xticklabels()]
            self.assertEqual(found == labels, labels is not None, found)

    def test_a_column_of_panels_for_each_value_of_the_second_parameter(self):
        page, = sweep.draw(self.sweep(**{QUANTUM: ['1 ms', '2 ms', '4 ms'], GAP: ['1 ms', '2 ms']}))
        self.assertEqual(len(page.axes), 8)
        self.assertEqual([axes.get_title() for axes in page.axes[:2]], ['arrivals gap 1 ms', 'arrivals gap 2 ms'])
        self.assertEqual(page.axes[0].get_ylim(), page.axes[1].get_ylim())

    def test_words_are_categories_and_the_quantity_is_the_axis(self):
        words = {'mechanism.name': ['flag-copy', 'proxy', 'slice', 'basic', 'none']}
        page, = sweep.draw(self.sweep(**words))
        self.assertEqual([label.get_text() for label in page.axes[-1].get_xticklabels()], words['mechanism.name'])
        pages = sweep.draw(self.sweep(**words, **{GAP: ['1 ms', '2 ms']}))
        self.assertEqual([page.axes[-1].get_xlabel() for page in pages], ['arrivals gap (ms)'] * 2)

    def test_categories_have_bars_side_by_side_and_no_lines(self):
        found = self.sweep(**{'mechanism.name': ['flag-copy', 'proxy', 'slice']})
        page, = sweep.draw(found)
        for axes, metric in zip(page.axes, ('antt', 'dntt', 'stp')):
            self.assertEqual({line.get_marker() for line in axes.lines}, {'_'})  # the ends of intervals
            places = sorted(bar.get_x() + bar.get_width() / 2 for bar in axes.patches)
            self.assertEqual(sorted({round(place) for place in places}), [0, 1, 2])
            self.assertEqual(len({round(place, 6) for place in places}), 15)
            heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches[:3]}  # of one policy
            policy = page.legends[0].get_texts()[0].get_text()
            self.assertEqual(heights, {row.point: row.metrics[metric].mean for row in found.summary if row.policy == policy})
            self.assertEqual(axes.get_ylim()[0], 0)

    def test_the_axis_is_the_quantity_of_most_values(self):
        page, = sweep.draw(self.sweep(**{QUANTUM: ['1 ms', '2 ms'], GAP: ['10 us', '20 us', '50 us', '100 us']}))
        self.assertEqual(page.axes[-1].get_xlabel(), 'arrivals gap (µs)')
        self.assertEqual([axes.get_title() for axes in page.axes[:2]], ['rr quantum 1 ms', 'rr quantum 2 ms'])

    def loops(self, *arguments, **swept):
        synthetic.write_loops(self.folder / 'loops', *arguments, **swept)
        return results.read(self.folder / 'loops')

    def test_every_label_has_a_line_in_every_panel(self):
        page, = sweep.draw(self.loops({'A': 1, 'B': 2}, **{REQUEST: ['10 us', '20 us', '1 ms']}))
        for axes in page.axes:
            self.assertEqual(sorted(line.get_color() for line in axes.lines),
                             sorted(look.colour for look in style.styles(['direct', 'dfq']).values()))
        self.assertEqual(page.axes[0].get_xlabel() or page.axes[-1].get_xlabel(), 'Throttle request (µs)')

    def test_of_a_client_alone_its_ntt_in_bars_that_stand_on_1(self):
        page, = sweep.draw(self.loops({'A': 1.02, 'B': 1.04}, clients=['A', 'B']))
        axes, = page.axes
        self.assertEqual(axes.get_ylabel(), 'NTT (lower is better)')
        self.assertEqual([label.get_text() for label in axes.get_xticklabels()], ['A', 'B'])
        self.assertEqual({bar.get_y() for bar in axes.patches}, {1})
        tops = sorted(bar.get_y() + bar.get_height() for bar in axes.patches)
        for top, ntt in zip(tops, [1, 1, 1.02, 1.56]):  # dfq, dfq, then direct, which grows from point to point
            self.assertAlmostEqual(top, ntt)
        self.assertGreater(axes.get_ylim()[0], 0.9)

    def test_names_of_many_categories_do_not_overlap(self):
        page, = sweep.draw(self.loops({f'Application{number}': 1.01 for number in range(18)},
                                      clients=[f'Application{number}' for number in range(18)]))
        axes, = page.axes
        self.assertGreater(axes.get_position().width * style.WIDTH, 6)
        page.canvas.draw()
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        self.assertEqual({label.get_rotation() for label in axes.get_xticklabels()}, {35})
        self.assertGreater(min(after.x1 - before.x1 for before, after in zip(boxes, boxes[1:])), 0.1 * page.dpi)

    def test_efficiency_where_published_values_speak_of_it(self):
        value = ['fig7', 1, 'dfq', '', 'concurrency_efficiency', '=', 0.9, 1, 0, 'moderate', '', 'pass', '']
        swept = {REQUEST: ['10 us', '20 us', '1 ms']}
        ylabels = lambda pages: [axes.get_ylabel() for axes in pages[0].axes]
        self.assertNotIn('efficiency (higher is better)', ylabels(sweep.draw(self.loops({'A': 1, 'B': 2}, **swept))))
        found = self.loops({'A': 1, 'B': 2}, [value], **swept)
        pages = sweep.draw(found)
        self.assertEqual(ylabels(pages)[3], 'efficiency (higher is better)')
        dfq = next(line for line in pages[0].axes[3].lines if line.get_color() == style.styles(['dfq'])['dfq'].colour)
        self.assertEqual(list(dfq.get_ydata()), [0.8, 0.8, 0.8])
        self.assertIn([0.9], [list(line.get_ydata()) for line in pages[0].axes[3].lines])

    def test_values_of_several_points_or_clients_or_ranked_by_their_ratios_are_not_marked(self):
        row = lambda metric, relation, value, *more: ['fig7', 0, 'dfq', '', metric, relation, value, 1, 0, 'order', '', 'pass', '', *more]
        rows = [row('stp', 'order', 0.9), row('stp/direct', '=', 0.9), row('dntt', '=', 0.5)]
        taken = row('antt', '=', 1)
        taken[3] = 'max of all'
        swept = {REQUEST: ['10 us', '20 us', '1 ms']}
        for more, marked in [(row('antt', '=', 1), ['antt', 'dntt']), (row('antt', '=', 1, '', '', 'mean', 2), ['dntt']), (taken, ['dntt'])]:
            found = self.loops({'A': 1, 'B': 2}, [more, *rows], **swept)
            self.assertEqual([row.metric for row in found.published_metrics()], marked)

    def test_overheads_are_marked_where_the_metric_stands(self):
        row = lambda change: ['fig7', 0, 'dfq', '', 'antt', '=', 0.15, 0.18, 0.2, 'moderate', '', 'miss', '', change]
        swept = {REQUEST: ['10 us', '20 us', '1 ms']}
        for change, marked in [('', [0.15]), ('overhead', [1.15]), ('loss', []), ('speedup', [])]:
            found = self.loops({'A': 1, 'B': 2}, [row(change)], **swept)
            self.assertEqual([row.published for row in found.published_metrics()], marked, change)


class ClientSweeps(InAFolder):
    SIZES = ['10 us', '20 us', '1 ms']
    NEON = Path(__file__).resolve().parents[2] / 'experiments/neon/fig6.yaml'

    def loops(self, *arguments, **swept):
        synthetic.write_loops(self.folder, *arguments, **swept)
        return results.read(self.folder)

    def test_a_column_for_each_policy_and_a_row_for_each_set_of_clients(self):
        found = self.loops({'A': 1, 'B': 2, 'T': 3}, **{'clients': ['A+T', 'B+T'], REQUEST: self.SIZES})
        self.assertTrue(client_sweep.applies(found))
        page, = client_sweep.draw(found)
        self.assertEqual([axes.get_title() for axes in page.axes], ['direct', 'dfq', '', ''])
        self.assertEqual([axes.get_ylabel() for axes in page.axes], ['A + T\nNTT', '', 'B + T\nNTT', ''])
        self.assertEqual(len({axes.get_ylim() for axes in page.axes}), 1)
        lines = [[list(line.get_ydata()) for line in axes.lines] for axes in page.axes]
        slower = lambda ntt, point: [ntt * 1.5 ** (point + step) for step in range(3)]
        self.assertEqual(lines[0], [slower(1, 0), slower(3, 0), [1, 1], [2, 2]])
        self.assertEqual(lines[2], [slower(2, 3), slower(3, 3), [1, 1], [2, 2]])
        self.assertEqual(lines[3], [[2] * 3, [2] * 3, [1, 1], [2, 2]])
        self.assertEqual(page.axes[0].lines[1].get_color(), page.axes[2].lines[1].get_color())  # T in both rows
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()],
                         ['A', 'B', 'T', 'as fast as alone', '2 times as slow: fair'])

    def test_fair_is_only_for_clients_that_always_have_a_job(self):
        found = self.loops({'A': 1, 'B': 2}, **{REQUEST: self.SIZES})
        page, = client_sweep.draw(replace(found, busy=False))
        self.assertNotIn('fair', ' '.join(text.get_text() for text in page.legends[0].get_texts()))
        self.assertEqual([len(axes.lines) for axes in page.axes], [3, 3])

        def busy(repeat, swept=(REQUEST,), throttle=None, **more):
            clients = [{'name': 'A', 'repeat': {'jobs': 'endless'}}, {'name': 'B', 'repeat': repeat, 'throttle': throttle or {}}]
            return load.is_full({'workload': {'clients': clients}, **more}, swept)
        for repeat in ({'jobs': 'endless'}, {'jobs': 'endless', 'think': '0 us'}):
            self.assertTrue(busy(repeat), repeat)
        for repeat in ({'jobs': '3'}, {'jobs': 'endless', 'think': '1 us'}, {'jobs': 'endless', 'period': '1 ms'}, None,
                       {'jobs': 'endless', 'arrivals': {'process': 'poisson', 'rate': '60/s'}}, {'releases': ['0 ms']}):
            self.assertFalse(busy(repeat), repeat)
        self.assertTrue(busy({'jobs': '3'}, clients=['A']))  # B does not take part
        self.assertFalse(busy({'jobs': 'endless'}, throttle={'request': '1 ms', 'sleep': '0.2'}))
        self.assertFalse(busy({'jobs': 'endless'}, ('workload.clients.B.throttle.sleep',)))
        self.assertFalse(load.is_full({}, ()))

    def test_published_ntts_of_one_point_are_marked(self):
        row = ['fig6', 1, 'dfq', 'A', 'ntt', '=', 2.5, 2, -0.2, 'moderate', '', 'pass', '']
        page, = client_sweep.draw(self.loops({'A': 1, 'B': 2}, [row], **{REQUEST: self.SIZES}))
        marks = [[(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() == 'd'] for axes in page.axes]
        self.assertEqual(marks, [[], [(20, 2.5)]])

    def test_published_ntts_of_several_points_and_bounds_are_marked(self):
        of_all = ['fig6', 0, 'dfq', 'A', 'ntt', '=', 2.5, 2, -0.2, 'moderate', '', 'pass', '']
        rows = [[*of_all, '', '', 'mean', 2], ['fig6', 2, 'direct', 'B', 'ntt', '>', 7, 9, 0.2, 'input', '', 'input', '']]
        page, = client_sweep.draw(self.loops({'A': 1, 'B': 2}, rows, **{REQUEST: self.SIZES}))
        marks = [[(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() == 'd'] for axes in page.axes]
        places = page.axes[0].lines[0].get_xdata()
        self.assertEqual(marks, [[(places[2], 7)], [(places[1], 2.5)]])
        spans = [[(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_alpha()] for axes in page.axes]
        self.assertEqual(spans, [[], [(places[0], places[2], 2.5, 2.5)]])
        arrows = [[line.get_marker() for line in axes.lines if isinstance(line.get_marker(), int)] for axes in page.axes]
        self.assertEqual(arrows, [[CARETUPBASE], []])
        legend = [text.get_text() for text in page.legends[0].get_texts()]
        self.assertIn('printed as a lower bound', legend)
        self.assertIn('printed for all these points: mean, least or largest', legend)

    def test_neons_figure_6_shows_what_the_paper_prints(self):
        """Every NTT that the paper prints for Fig. 6 has a diamond, except values compared between clients."""
        printed = [row for row in yaml.safe_load(self.NEON.read_text())['published']
                   if row['metric'] == 'ntt' and 'relative_to_client' not in row]
        rows = [['fig6', row['point'], row['policy'], row['client'], 'ntt', row.get('relation', '='), row['published'], 2, 0, row['class'],
                 '', 'input', '', '', '', *row.get('over', {'take': '', 'to': ''}).values()] for row in printed]
        for row in rows:  # `over` is written {to, take}
            row[-2:] = sorted(row[-2:], key=str, reverse=True)
        ntts = dict.fromkeys(['DCT', 'FFT', 'glxgears', 'oclParticles', 'Throttle'], 1)
        found = self.loops(ntts, rows, clients=[f'{name}+Throttle' for name in list(ntts)[:4]],
                           **{REQUEST: [f'{size} us' for size in (19, 47, 115, 283, 694, 1700)]})
        policies = ('direct', 'timeslice', 'disengaged-timeslice', 'dfq')
        for table in (found.summary, found.clients):
            table[:] = [replace(row, policy=policy) for row in table if row.policy == 'dfq' for policy in policies]
        drawn = [line for page in client_sweep.draw(found) for axes in page.axes for line in axes.lines if line.get_marker() == 'd']
        values = {(row['point'], row['policy'], row['client'], row['published'], str(row.get('over'))) for row in printed}
        self.assertEqual(len(drawn), len(values))
        self.assertGreater(len(drawn), 25)

    def test_only_where_a_few_clients_meet_and_a_quantity_is_swept(self):
        for ntts, swept in [({'A': 1}, {REQUEST: self.SIZES}), (dict.fromkeys('ABCDE', 1), {REQUEST: self.SIZES}),
                            ({'A': 1, 'B': 1}, {REQUEST: self.SIZES[:2]}), ({'A': 1, 'B': 1}, {}),
                            ({'A': 1, 'B': 1, 'T': 1}, {'clients': ['A+T', 'B+T', 'A+B']})]:
            self.assertFalse(client_sweep.applies(self.loops(ntts, **swept)), (ntts, swept))
        found = self.loops({'A': 1, 'B': 1}, **{REQUEST: self.SIZES})
        found.clients[:] = [row for row in found.clients if row.policy == 'dfq']
        self.assertFalse(client_sweep.applies(found))
        self.assertFalse(client_sweep.applies(self.sweep(**{QUANTUM: ['1 ms', '2 ms', '4 ms']})))  # nine clients

    def test_the_folder_gets_the_figure_the_same_bytes_when_drawn_again(self):
        self.loops({'A': 1, 'B': 2}, **{REQUEST: self.SIZES})
        outs = [self.folder / seed for seed in ('1', '2')]
        processes = [start('figures.py', self.folder, '--out', out, PYTHONHASHSEED=out.name) for out in outs]
        expected = [f'{name}.{suffix}' for name in ('sweep', 'clients-sweep') for suffix in ('png', 'pdf')]
        for out, process in zip(outs, processes):
            self.assertEqual(finish(process), (0, ''.join(f'{out / name}\n' for name in expected), ''))
        for name in expected:
            self.assertEqual(*((out / name).read_bytes() for out in outs), name)


class Responses(InAFolder):
    GROWING = [1 + job for job in range(10)]

    def draw(self, found):
        synthetic.write_responses(self.folder, found)
        times = results.read_responses(self.folder)
        return responses.draw(times, 'title', {run: f'point {run[0]}' for run in times})

    def test_a_line_for_each_point_and_the_growing_client_first(self):
        page, = self.draw({(0, 'steady'): [2, 2, 2], (1, 'steady'): [2, 2, 2], (0, 'tau'): self.GROWING, (1, 'tau'): [1] * 10})
        self.assertEqual([axes.get_title('left') for axes in page.axes], ['tau', 'steady'])
        first = page.axes[0]
        self.assertEqual([list(line.get_ydata()) for line in first.lines], [self.GROWING, [1] * 10])
        self.assertEqual((first.get_xlabel(), first.get_ylabel()), ('job', 'response time (ms)'))
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()], ['point 0', 'point 1'])

    def test_clients_that_do_the_same_share_a_panel(self):
        page, = self.draw({(0, f'noise{number}'): [1, 2, None] for number in range(4)})
        self.assertEqual([axes.get_title('left') for axes in page.axes], ['noise0 … noise3 (4 alike)'])

    def marked(self, page, marker, size=None):
        """(x, y, colour) of these marks in each panel."""
        return [[(*map(float, (line.get_xdata()[0], line.get_ydata()[0])), line.get_color()) for line in axes.lines
                 if line.get_marker() == marker and len(line.get_xdata()) == 1 and size in (None, line.get_markersize())] for axes in page.axes]

    def test_who_starved_has_a_cross_at_the_end_of_the_axis(self):
        for draw in (responses.draw, responses.draw_distribution):
            runs = {(0, policy): {'A': dict(enumerate(times))} for policy, times in (
                ('fcfs', [5, 6, 7, 8]), ('rr', [math.nan] * 3), ('piv', [math.nan] * 4))}
            page, = draw(runs, 'title', {run: run[1] for run in runs})
            looks, end = style.styles(['fcfs', 'rr', 'piv']), page.axes[0].get_xlim()[1]
            self.assertEqual(self.marked(page, 'x'), [[(end, 0.03, looks[policy].colour) for policy in ('rr', 'piv')]])
            self.assertIn('starved: a client finished no job', [text.get_text() for text in page.legends[0].get_texts()])
            page, = draw({(0, 'fcfs'): runs[0, 'fcfs']}, 'title', {(0, 'fcfs'): ''})
            self.assertEqual((self.marked(page, 'x'), page.legends), ([[]], []))

    def test_where_all_starved_there_are_only_crosses(self):
        for draw in (responses.draw, responses.draw_distribution):
            page, = draw({(0, 'rr'): {'A': dict.fromkeys(range(3), math.nan)}}, 'title', {(0, 'rr'): ''})
            self.assertEqual([len(panel) for panel in self.marked(page, 'x')], [1])

    def test_who_starved_has_the_scale_of_the_others(self):
        page, = self.draw({(0, 'A'): [40, 50, 60], (0, 'B'): [None] * 3})
        self.assertEqual(len({(axes.get_ylabel(), axes.get_ylim()) for axes in page.axes}), 1)

    def test_a_circle_ends_a_line_of_which_later_jobs_did_not_finish(self):
        for jobs, place in ((4, (1, 6)), (400, (199, 6))):  # of these many each mark stands for eight
            half = jobs // 2
            runs = {(0, 'fcfs'): {'A': dict(enumerate([6] * half + [math.nan] * half))}, (0, 'rr'): {'A': dict(enumerate([7] * jobs))}}
            page, = responses.draw(runs, 'title', {run: run[1] for run in runs})
            (x, y, colour), = self.marked(page, 'o', 7.5)[0]
            self.assertAlmostEqual(x, place[0], delta=jobs / 50)
            self.assertEqual((y, colour), (6, style.styles(['fcfs', 'rr'])['fcfs'].colour))
            self.assertIn('later jobs did not finish', [text.get_text() for text in page.legends[0].get_texts()])
        page, = self.draw({(0, 'A'): [1, None, 3]})  # a gap shows as one
        self.assertEqual(self.marked(page, 'o', 7.5), [[]])

    def test_without_a_sweep_a_policy_looks_as_everywhere(self):
        policies = ['rr', 'piv', 'sjf', 'cfs', 'frs', 'fcfs', 'rr-own', 'mine']  # on two pages
        looks = style.styles(policies)
        for draw in (responses.draw, responses.draw_distribution):
            runs = {(0, policy): {'A': {job: float(1 + place + job) for job in range(4)}} for place, policy in enumerate(policies)}
            lines = [line for page in draw(runs, 'title', {run: run[1] for run in runs}) for line in page.axes[0].lines]
            self.assertEqual([(line.get_color(), line.get_marker()) for line in lines],
                             [(looks[policy].colour, looks[policy].marker) for policy in policies])
        evictions = {(0, policy): {1: 2, 2: 3, 3: 4} for policy in policies}
        pages = list(priorities.draw(evictions, 'title', {run: run[1] for run in evictions}))
        self.assertEqual([line.get_color() for page in pages for line in page.axes[0].lines], [looks[policy].colour for policy in policies])

    def test_in_a_sweep_each_line_of_a_page_has_another_colour(self):
        runs = {(point, 'rr'): {1: 2, 2: 3, 3: 4} for point in range(3)}
        page, = priorities.draw(runs, 'title', dict.fromkeys(runs, 'label'))
        self.assertEqual(len({line.get_color() for line in page.axes[0].lines}), 3)

    def test_the_title_says_that_other_runs_are_not_shown(self):
        synthetic.write_bars(self.folder)
        found = results.read(self.folder)
        self.assertEqual((found.runs, found.title_of_first_runs()), (2000, 'FRS against SJF, SRT, RR and CFS – the first of 2000 runs'))
        self.assertEqual(replace(found, runs=0).title_of_first_runs(), 'FRS against SJF, SRT, RR and CFS – the first run')
        self.assertEqual(replace(found, runs=1).title_of_first_runs(), found.title)
        (self.folder / 'manifest.json').write_text('{"configuration": {"policies": ["rr"], "replications": 3}}')
        self.assertEqual(results.read(self.folder).runs, 3)
        (self.folder / 'manifest.json').unlink()
        self.assertEqual(results.read(self.folder).runs, 0)

    def test_only_where_a_client_has_several_jobs(self):
        synthetic.write_responses(self.folder, {(0, 'once'): [1], (0, 'twice'): [1, 2]})
        self.assertFalse(responses.applies(results.read_responses(self.folder)))
        self.assertFalse(responses.applies(results.read_responses(self.folder / 'absent')))


class WrongInput(InAFolder):
    def refused(self, *expected, command='report.py'):  # the quicker one: both read alike
        """The command ends with exit code 2 and one line that has all of `expected`."""
        code, out, errors = finish(start(command, self.folder))
        self.assertEqual((code, out), (2, ''))
        self.assertRegex(errors, r'\Aerror: [^\n]*\n\Z')
        for text in expected:
            self.assertIn(text, errors)

    def change(self, file, before, after):
        text = (self.folder / file).read_text()
        self.assertIn(before, text)
        (self.folder / file).write_text(text.replace(before, after, 1))

    def test_a_folder_without_results(self):
        self.refused('summary.csv: found no such file', command='figures.py')

    def test_a_missing_column(self):
        synthetic.write_bars(self.folder)
        self.change('summary.csv', 'dntt_ci95', 'spread')
        self.refused("summary.csv:1: key 'dntt_ci95': found no such column, expected")

    def test_garbage_where_a_number_belongs(self):
        synthetic.write_bars(self.folder)
        self.change('clients.csv', '13570000', '13 ms')
        self.refused("clients.csv:3: key 'standalone_ns': found '13 ms', expected a number")

    def test_a_broken_trace(self):
        synthetic.write_bars(self.folder)
        file = synthetic.write_trace(self.folder, 'rr')
        file.write_text(file.read_text()[:-20])
        with self.assertRaisesRegex(results.InputError, 'json:1: found .*, expected JSON'):
            gantt.read(file)


class Words(unittest.TestCase):
    def test_a_logarithmic_axis_has_the_unit_of_times_in_the_middle(self):
        self.assertEqual(quantity.unit_of_times([1, 2, 5000]), ('s', 1e-3))
        self.assertEqual(quantity.unit_of_times([1, 2, 5000, math.nan], log=True), ('ms', 1))
        self.assertEqual(quantity.unit_of_times([], log=True), ('ms', 1))

    def test_quantities(self):
        for text, number, unit in [('0.25 ms', 0.25, 'ms'), ('4 us', 4, 'us'), ('4us', 4, 'us'), ('64 KiB', 64, 'KiB'),
                                   ('55 GB/s', 55, 'GB/s'), ('0.5', 0.5, ''), ('5 %', 5, '%'), ('1e-3', 0.001, '')]:
            self.assertEqual(quantity.parse(text), quantity.Quantity(number, unit), text)
        for text in ('', 'flag-copy', '4 parrots', 'ms', '1 2', 'nan'):
            self.assertIsNone(quantity.parse(text), text)

    def test_common_units(self):
        self.assertEqual(quantity.in_common_unit(['500 us', '1 ms', '2 ms']), ([0.5, 1, 2], 'ms'))
        self.assertIsNone(quantity.in_common_unit(['1 ms', '1 MiB']))
        self.assertIsNone(quantity.in_common_unit(['1 ms', 'never']))

    def test_geometric_points(self):
        for points in ([1, 2, 4], [0.25, 0.5, 1, 2], [1, 2, 5, 10, 20]):
            self.assertTrue(quantity.is_geometric(points), points)
        for points in ([1, 2, 3], [0, 1, 2, 4], [1, 2], [5, 10, 15, 20]):
            self.assertFalse(quantity.is_geometric(points), points)

    def test_parameters_are_named_briefly(self):
        for path, name in [(QUANTUM, 'rr quantum'), (GAP, 'arrivals gap'), ('device.queue_order', 'device queue order'),
                           ('workload.clients.K4.kernels.K4.block_task_length', 'K4 block task length'),
                           ('workload.clients.A.kernels.b.time', 'A kernel b time'), (REQUEST, 'Throttle request'),
                           ('workload.repeat.think', 'think time')]:
            self.assertEqual(names.parameter(path), name)
        self.assertEqual(names.setting(GAP, '10 us'), 'arrivals gap 10 µs')
        self.assertEqual(names.setting('clients', 'DCT+Throttle'), 'DCT + Throttle')

    def test_a_policy_looks_the_same_whoever_stands_beside_it(self):
        few, many = style.styles(['frs', 'rr']), style.styles(['zeta', 'rr-long', 'rr', 'frs', 'alpha'])
        self.assertEqual((few['frs'], few['rr']), (many['frs'], many['rr']))
        self.assertEqual(many['rr-long'].colour, many['rr'].colour)
        self.assertEqual(len({(look.colour, look.marker) for look in many.values()}), 5)
        self.assertEqual(names.in_order(many), ['rr', 'rr-long', 'frs', 'alpha', 'zeta'])

    def test_policies_of_two_families_that_meet_have_markers_of_their_own(self):
        for one, other in [('rr', 'disengaged-timeslice'), ('stride', 'stride-timeslice'), ('sjf', 'disengaged-fair-queueing'),
                           ('edf', 'microkernel-rr'), ('fcfs', 'trap-per-request'), ('srt', 'timeslice')]:
            looks = style.styles([other, one])
            self.assertEqual(looks[one], style.styles([one])[one])
            self.assertNotEqual(looks[one].marker, looks[other].marker, other)
            self.assertNotEqual(looks[one].colour, looks[other].colour, other)

    def test_labels_may_come_one_by_one(self):
        labels = ['zeta', 'rr-long', 'rr', 'direct']
        self.assertEqual(style.styles(iter(labels)), style.styles(labels))
        self.assertEqual(sorted(style.styles(iter(labels))), sorted(labels))

    def test_a_label_names_a_policy_in_full_for_short_or_as_a_variant(self):
        for label, known, base in [('timeslice', 'timeslice', 'timeslice'), ('dfq', *['disengaged-fair-queueing'] * 2),
                                   ('direct', 'passthrough', 'passthrough'), ('direct-2', None, 'passthrough'),
                                   ('disengaged-timeslice', *['disengaged-timeslice'] * 2), ('rr-long', None, 'rr'),
                                   ('disengaged-timeslice 5 ms', None, 'disengaged-timeslice'), ('rrr', None, None),
                                   ('disengaged', None, None), ('RR', 'rr', 'rr')]:
            self.assertEqual((names.policy(label), names.base(label)), (known, base), label)

    def test_a_policy_looks_the_same_under_its_short_name(self):
        for short, known in [('direct', 'passthrough'), ('dfq', 'disengaged-fair-queueing')]:
            self.assertEqual(style.styles([short])[short], style.styles([known])[known])
            both = style.styles([short, known])
            self.assertEqual(both[known], style.styles([known])[known])
            self.assertNotEqual(both[short], both[known])
        four = style.styles(['direct', 'timeslice', 'disengaged-timeslice', 'dfq'])
        self.assertEqual(list(four), ['direct', 'timeslice', 'disengaged-timeslice', 'dfq'])
        self.assertEqual(len({look.colour for look in four.values()}), 4)


class Legends(InAFolder):
    def test_a_label_that_begins_with_an_underscore_is_there(self):
        figure = style.pyplot.figure()
        style.lay_out(figure, '', [style.Line2D([], [], label=label) for label in ('fcfs', '_rr', '_')])
        self.assertEqual([text.get_text().strip() for text in figure.legends[0].get_texts()], ['fcfs', '_rr', '_'])


if __name__ == '__main__':
    unittest.main()
