"""The figures and reports of synthetic result folders."""
import csv
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

_ANALYSIS = Path(__file__).resolve().parents[2] / 'analysis'
sys.path.insert(0, str(_ANALYSIS))

import agreement  # noqa: E402  (the path comes first)
import bars  # noqa: E402
import blocks  # noqa: E402
import calibration  # noqa: E402
import client_sweep  # noqa: E402
import compare  # noqa: E402
import costs  # noqa: E402
import device_run  # noqa: E402
import figures  # noqa: E402
import gantt  # noqa: E402
import names  # noqa: E402
import quantity  # noqa: E402
import queues  # noqa: E402
import readings  # noqa: E402
import report  # noqa: E402
import request_times  # noqa: E402
import responses  # noqa: E402
import results  # noqa: E402
import style  # noqa: E402
import sweep  # noqa: E402
import synthetic  # noqa: E402

QUANTUM = 'policies.rr.params.quantum'
GAP = 'workload.arrivals.gap'
REQUEST = 'workload.clients.Throttle.throttle.request'


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(style.pyplot.close, 'all')
        self.folder = Path(folder.name)
        style.prepare()

    def sweep(self, **swept):
        synthetic.write_sweep(self.folder / 'swept', **swept)
        return results.read(self.folder / 'swept')


def start(command, *arguments, **environment):
    return subprocess.Popen([sys.executable, '-B', _ANALYSIS / command, *arguments], text=True,
                            env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    """(exit code, standard output, standard error)"""
    out, errors = process.communicate()
    return process.returncode, out, errors


class Files(InAFolder):
    def test_bars_and_a_gantt_chart_that_are_the_same_bytes_when_drawn_again(self):
        synthetic.write_bars(self.folder / 'fig4')
        synthetic.write_trace(self.folder / 'fig4', 'rr')
        outs = [self.folder / seed for seed in ('1', '2')]  # another order of sets must not show
        processes = [start('figures.py', self.folder / 'fig4', '--out', out, PYTHONHASHSEED=out.name) for out in outs]
        expected = [f'{name}.{suffix}' for name in ('clients', 'metrics', 'gantt') for suffix in ('png', 'pdf')]
        for out, process in zip(outs, processes):
            self.assertEqual(finish(process), (0, ''.join(f'{out / name}\n' for name in expected), ''))
        for name in expected:
            first, second = ((out / name).read_bytes() for out in outs)
            self.assertGreater(len(first), 5000, name)
            self.assertEqual(first, second, name)

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


class Sweeps(InAFolder):
    def test_a_log_axis_where_the_points_are_geometric(self):
        page, = sweep.draw(self.sweep(**{QUANTUM: ['0.25 ms', '500 us', '1 ms', '2 ms']}))
        self.assertEqual({axes.get_xscale() for axes in page.axes}, {'log'})
        self.assertEqual(list(page.axes[0].lines[0].get_xdata()), [0.25, 0.5, 1, 2])
        self.assertEqual(page.axes[-1].get_xlabel(), 'rr quantum (ms)')
        self.assertEqual([label.get_text() for label in page.axes[-1].get_xticklabels()], ['0.25', '0.5', '1', '2'])
        page, = sweep.draw(self.sweep(**{GAP: ['1 ms', '2 ms', '3 ms', '4 ms']}))
        self.assertEqual({axes.get_xscale() for axes in page.axes}, {'linear'})

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

    def test_values_of_several_points_or_ranked_by_their_ratios_are_not_marked(self):
        row = lambda metric, relation, value: ['fig7', 0, 'dfq', '', metric, relation, value, 1, 0, 'order', '', 'pass', '']
        rows = [row('antt', '=', 1), row('stp', 'order', 0.9), row('stp/direct', '=', 0.9), row('dntt', '=', 0.5)]
        over = {'figure': 'fig7', 'point': '0', 'policy': 'dfq', 'metric': 'antt', 'published': '1.0',
                'over': {'to': '2', 'take': 'mean'}}
        swept = {REQUEST: ['10 us', '20 us', '1 ms']}
        for values, marked in [((), ['antt', 'dntt']), ((over,), ['dntt']), (({**over, 'point': '1'},), ['antt', 'dntt']),
                               (({**over, 'published': 'about 1'},), ['antt', 'dntt'])]:
            found = self.loops({'A': 1, 'B': 2}, rows, values, **swept)
            self.assertEqual([row.metric for row in found.published_metrics()], marked)


class ClientSweeps(InAFolder):
    SIZES = ['10 us', '20 us', '1 ms']

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

    def test_published_ntts_of_one_point_are_marked(self):
        row = ['fig6', 1, 'dfq', 'A', 'ntt', '=', 2.5, 2, -0.2, 'moderate', '', 'pass', '']
        page, = client_sweep.draw(self.loops({'A': 1, 'B': 2}, [row], **{REQUEST: self.SIZES}))
        marks = [[(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() == 'd'] for axes in page.axes]
        self.assertEqual(marks, [[], [(20, 2.5)]])

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


class Gantt(InAFolder):
    def test_rows_are_the_clients_in_order_and_times_are_milliseconds(self):
        trace = gantt.read(synthetic.write_trace(self.folder, 'rr'))
        self.assertEqual([client.name for client in trace.clients], list(synthetic.CLIENTS))
        ran = sum(length for _, length in trace.clients[0].spans['running'])
        self.assertAlmostEqual(ran, synthetic.CLIENTS['CEDD'], places=2)
        self.assertEqual(len(trace.clients[0].marks['evict ordered']), 13)
        self.assertEqual(gantt.draw([trace], 'title').axes[0].get_title('left'), 'rr')

    def test_one_trace_per_policy_that_of_the_first_run(self):
        files = [synthetic.write_trace(self.folder, policy, permutation=permutation)
                 for policy in ('frs', 'sjf') for permutation in (3, 1)]
        self.assertEqual([(trace.policy, trace.run) for trace in gantt.read_first_of_each_policy(files)],
                         [('sjf', (0, 0, 1)), ('frs', (0, 0, 1))])


    ACCESS = [('A', 'deny', 4, 2), ('A', 'sampled', 6, 4), ('B', 'deny', 0, 10)]

    def draw(self, requests, access=(), policies=('timeslice',)):
        return gantt.draw([gantt.read(synthetic.write_requests(self.folder, requests, policy, access))
                           for policy in policies], 'title')

    def labels(self, figure):
        return [text.get_text() for text in figure.legends[0].get_texts()]

    def test_below_each_row_is_how_its_client_may_submit(self):
        figure = self.draw([('A', 'k', 1, 2), ('B', 'k', 3, 7)], self.ACCESS)
        self.assertEqual(self.labels(figure),
                         ['running', 'finished', 'submits directly', 'intercepted to sample', 'denied'])
        strips = [(extents.x0, extents.x1, round(extents.y0, 1)) for bars in figure.axes[0].collections
                  for extents in [path.get_extents() for path in bars.get_paths()] if extents.height < 0.21]
        self.assertEqual(sorted(strips), [(0, 4, 0.4), (0, 10, 1.4), (4, 6, 0.4), (6, 10, 0.4)])  # directly until the first
        plain = self.draw([('A', 'k', 1, 2), ('B', 'k', 3, 7)])
        self.assertEqual(self.labels(plain), ['running', 'finished'])
        self.assertLess(plain.get_figheight(), figure.get_figheight())

    def test_of_a_long_run_the_beginning_which_the_axis_tells(self):
        requests = [('A' if number % 2 else 'B', 'k', 0.1 * number, 0.05) for number in range(7000)]
        figure = self.draw(requests, [('A', 'deny', 100, 600)])
        axes, = figure.axes
        self.assertEqual(axes.get_xlabel(), 'time (ms): the first 500 of 700')
        self.assertEqual(max(path.get_extents().x1 for bars in axes.collections for path in bars.get_paths()), 500)
        self.assertLess(axes.get_xlim()[1], 510)
        self.assertEqual(self.labels(figure), ['running', 'submits directly', 'denied'])  # 2,500 marks would be a smear
        self.assertEqual(self.draw(requests[:5000]).axes[0].get_xlabel(), 'time (ms)')

    def test_marks_that_hide_the_bars_of_one_panel_are_in_none(self):
        few, many = [('A', 'k', 0, 1), ('A', 'k', 2, 1)], [('A', 'k', 0.1 * number, 0.05) for number in range(200)]
        traces = [gantt.read(synthetic.write_requests(self.folder, requests, policy))
                  for policy, requests in (('timeslice', few), ('dfq', many))]
        self.assertNotIn('finished', self.labels(gantt.draw(traces, 'title')))
        self.assertIn('finished', self.labels(gantt.draw(traces[:1], 'title')))


class Blocks(InAFolder):
    # Two wide blocks and then, when the first ends, three narrow ones in what is free.
    SPANS = [('A', 0, 0, 1, 3, 0, 2), ('B', 0, 0, 1, 3, 0, 4), ('C', 0, 0, 3, 1, 2, 3)]

    def read(self, spans, **more):
        return device_run.read(synthetic.write_blocks(self.folder, spans, **more))

    def places(self, spans, threads=8):
        run = self.read(spans, layout='pool', sms=1, threads=threads)
        return [(piece.span.client, piece.low, piece.high) for piece in blocks._lay(run, run.spans)]

    def test_blocks_lie_on_the_lowest_free_threads(self):
        self.assertEqual(self.places(self.SPANS), [('A', 0, 3), ('B', 3, 6), ('C', 0, 3)])

    def test_of_a_gap_as_many_whole_blocks_as_fit(self):
        spans = [*self.SPANS[:2], ('D', 0, 0, 2, 2, 2, 1)]
        self.assertEqual(self.places(spans), [('A', 0, 3), ('B', 3, 6), ('D', 0, 2), ('D', 6, 8)])

    def test_a_block_is_split_where_no_gap_holds_it_and_never_stands_above_the_device(self):
        spans = [*self.SPANS[:2], ('D', 0, 0, 1, 5, 2, 1)]
        self.assertEqual(self.places(spans), [('A', 0, 3), ('B', 3, 6), ('D', 0, 3), ('D', 6, 8)])

    def test_a_device_is_no_smaller_than_what_ran_on_it(self):
        self.assertEqual(self.read(self.SPANS[:2]).threads, 6)
        self.assertEqual(self.places(self.SPANS[:2], threads=4), [('A', 0, 3), ('B', 3, 6)])  # a rule may be off

    def test_rectangles_of_a_pool_with_what_they_are_called(self):
        run = self.read(self.SPANS, layout='pool', sms=1, threads=8, releases=[('A', 0), ('B', 0), ('C', 1)])
        page, = blocks.draw([run], 'title', ['point'])
        axes, = page.axes
        corners = [path.get_extents().extents.tolist() for polygons in axes.collections[:3] for path in polygons.get_paths()]
        self.assertEqual(corners, [[0, 0, 2, 3], [0, 3, 4, 6], [2, 0, 5, 3]])
        self.assertEqual([text.get_text() for text in axes.texts], ['A', 'B', 'C'])
        self.assertEqual([line.get_xdata()[0] for line in axes.lines], [0, 0, 1])
        self.assertEqual(len({line.get_ydata()[0] for line in axes.lines}), 2)  # of one instant above each other
        self.assertEqual((axes.get_title('left'), axes.get_xlabel(), axes.get_ylabel()), ('point', 'time (ms)', 'threads'))
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()], ['A', 'B', 'C', 'release'])

    def test_sms_above_each_other_and_jobs_by_number(self):
        spans = [('A', 1, 0, 4, 512, 0, 5), ('A', 2, 1, 2, 1024, 0, 10, 2)]
        page, = blocks.draw([self.read(spans, layout='sm', sms=2, threads=2048)], 'title', [''])
        axes, = page.axes
        corners = [path.get_extents().extents.tolist() for path in axes.collections[0].get_paths()]
        self.assertEqual(corners, [[0, 0, 5, 2048], [0, 2048, 10, 4096]])
        self.assertEqual([text.get_text() for text in axes.texts], ['1', '2'])
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ['0', '1'])

    def test_many_blocks_are_summed_below_the_first_of_them(self):
        spans = [('A' if number % 3 else 'B', number, 0, 1, 1 + number % 3, number, 1) for number in range(600)]
        page, = blocks.draw([self.read(spans, layout='pool', sms=1, threads=4)], 'title', ['point'])
        self.assertEqual([axes.get_title('left') for axes in page.axes],
                         ['point: the first blocks', 'all of this run: threads in use by kernel'])

    def test_what_is_summed_is_the_thread_time_whether_by_steps_or_by_means(self):
        spans = [('A' if number % 3 else 'B', number, number % 132, 2, 128, number * 0.01, 0.5) for number in range(6000)]
        for part in (spans[:300], spans):
            run = self.read(part, layout='sm', sms=132, threads=2048)
            times, used = blocks._threads_in_use(run)
            for label in 'AB':
                area = sum(threads * (after - before) for threads, before, after in zip(used[label], times, times[1:]))
                self.assertAlmostEqual(area, sum(256 * 0.5 for client, *_ in part if client == label))
        self.assertEqual(len(times), blocks._BINS + 1)
        page, = blocks.draw([run], 'title', [''])
        self.assertEqual([axes.get_title('left') for axes in page.axes],
                         ['threads in use by kernel (means over 1/100 of the time)'])
        self.assertEqual(page.axes[0].get_ylim()[1], 132 * 2048)

    def test_lengths_of_queues_are_steps(self):
        run = self.read(self.SPANS, queues=[('streams', 0, 3), ('streams', 2, 2), ('primary queue', 0, 1),
                                            ('primary queue', 2, 0), ('streams', 5, 0)])
        page, = queues.draw([run], 'title', ['point'])
        self.assertEqual(page.axes[0].get_ylabel(), 'kernels')
        self.assertEqual(queues._steps(run.queues['streams'], 6), ([0, 2, 5, 6], [3, 2, 0, 0]))

    def test_of_many_steps_the_highest_in_each_part_of_the_time(self):
        points = [(time, 7 if time == 1234 else time % 2) for time in range(4000)]
        times, kernels = queues._steps(points, 4000)
        self.assertEqual((len(times), set(kernels), kernels[1234 // 20]), (queues._BINS + 1, {1, 7}, 7))

    def test_every_figure_the_same_bytes_when_drawn_again(self):
        file = synthetic.write_blocks(self.folder, self.SPANS, [('A', 0)], [('streams', 0, 3), ('streams', 5, 0)])
        outs = [self.folder / seed for seed in ('1', '2')]
        processes = [start('figures.py', file, '--out', out, PYTHONHASHSEED=out.name) for out in outs]
        expected = [f'{file.stem}{figure}.{suffix}' for figure in ('', '-blocks', '-queues') for suffix in ('png', 'pdf')]
        for out, process in zip(outs, processes):
            self.assertEqual(finish(process), (0, ''.join(f'{out / name}\n' for name in expected), ''))
        for name in expected:
            self.assertEqual(*((out / name).read_bytes() for out in outs), name)

    def test_the_first_run_of_each_point_and_of_many_points_the_first(self):
        files = []
        for point in (*range(11, 0, -1), 1):
            file = synthetic.write_blocks(self.folder, self.SPANS, point=point, permutation=len(files))
            files.append(file.rename(self.folder / f'{len(files)}.json'))
        runs = device_run.read_first_runs(files)
        self.assertEqual([run.run for run in runs], [(point, 0, 11 - point) for point in range(1, 9)])

    def test_a_trace_without_blocks_has_no_such_figures(self):
        self.assertEqual(device_run.read_first_runs([synthetic.write_trace(self.folder, 'rr')]), [])

    def test_garbage_in_a_trace_is_refused(self):
        text = synthetic.write_blocks(self.folder, self.SPANS).read_text()
        for before, after, expected in [('"sm": 0', '"sm": "0"', "args.sm': found '0', expected a whole number from 0"),
                                        ('"client": "B"', '"client": "Z"', "args.client': found 'Z', expected the name"),
                                        ('"dur": 2000', '"dur": null', "dur': found None, expected microseconds")]:
            (self.folder / 'bad.json').write_text(text.replace(before, after))
            with self.assertRaises(results.InputError) as caught:
                device_run.read(self.folder / 'bad.json')
            self.assertIn(expected, str(caught.exception))


class RequestTimes(InAFolder):
    ACCESS = [('A', 'deny', 0, 1), ('B', 'deny', 0, 1)]
    REQUESTS = [('A', 'first', 0, 0.01), ('A', 'next one', 0.01, 0.03), ('B', 'k', 0.05, 0.1), ('A', 'first', 0.2, 0.02),
                ('B', 'k', 0.3, 0.2), ('B', 'k', 0.5, 0.001)]

    def test_lengths_and_gaps_of_each_client_but_no_length_of_the_last_request(self):
        a, b = request_times.read(synthetic.write_requests(self.folder, self.REQUESTS, access=self.ACCESS))
        rounded = lambda values: [round(value, 6) for value in values]
        self.assertEqual((a.client, rounded(a.lengths), rounded(a.gaps)), ('A', [10, 20, 30], [10, 190]))
        self.assertEqual((b.client, rounded(b.lengths), rounded(b.gaps)), ('B', [100, 200], [200, 250]))

    def test_a_line_for_each_client_that_rises_from_0_to_1(self):
        found = request_times.read(synthetic.write_requests(self.folder, self.REQUESTS, access=self.ACCESS))
        page, = request_times.draw(found, 'title', {0: ''})
        lengths, gaps = page.axes
        self.assertEqual((lengths.get_xscale(), gaps.get_xscale()), ('log', 'log'))
        line = lengths.lines[0]
        self.assertEqual([round(x, 6) for x in line.get_xdata()], [10, 10, 20, 30])
        self.assertEqual([round(y, 6) for y in line.get_ydata()], [0, 0.333333, 0.666667, 1])
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()], ['A', 'B'])

    def test_of_many_values_the_distribution_keeps_its_ends_and_its_shape(self):
        values, shares = request_times._distribution(list(range(1, 100_001)))
        self.assertLess(len(values), 1100)
        self.assertEqual((values[0], values[-1], shares[0], shares[-1]), (1, 100_000, 0, 1))
        for value, share in zip(values[1:], shares[1:]):
            self.assertAlmostEqual(share, value / 100_000)

    def test_the_first_policy_at_each_point_and_clients_told_apart_by_it(self):
        files = [synthetic.write_requests(self.folder, self.REQUESTS, policy, self.ACCESS if policy == 'dfq' else (), point)
                 for point in (1, 0) for policy in ('dfq', 'direct')]
        self.assertTrue(request_times.applies(files))
        policy, found = request_times.read_first_runs(files)
        self.assertEqual((policy, [(each.client, each.point) for each in found]),
                         ('direct', [('A', 0), ('B', 0), ('A', 1), ('B', 1)]))
        page, = request_times.draw(found, 'title', {0: 'gap 1 ms', 1: 'gap 2 ms'})
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()],
                         ['A, gap 1 ms', 'B, gap 1 ms', 'A, gap 2 ms', 'B, gap 2 ms'])

    def test_of_many_points_a_client_is_drawn_where_it_first_takes_part(self):
        requests = [request_times.Requests(client, point, [1, 2 + point], [3]) for point in range(9)
                    for client in ('A' if point else 'B', 'T')]
        page, = request_times.draw(requests, 'title', {point: f'point {point}' for point in range(9)})
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()], ['B', 'T', 'A'])
        self.assertEqual([max(line.get_xdata()) for line in page.axes[0].lines], [2, 2, 3])
        self.assertEqual(len(list(request_times.draw(requests[:16], 'title', dict.fromkeys(range(9), '')))), 2)

    def test_only_where_clients_submit_by_themselves(self):
        self.assertFalse(request_times.applies([synthetic.write_trace(self.folder, 'rr')]))
        self.assertFalse(request_times.applies([]))

    def test_a_trace_by_itself_gets_the_figure_the_same_bytes_when_drawn_again(self):
        file = synthetic.write_requests(self.folder, self.REQUESTS, access=self.ACCESS)
        outs = [self.folder / seed for seed in ('1', '2')]
        processes = [start('figures.py', file, '--out', out, PYTHONHASHSEED=out.name) for out in outs]
        expected = [f'{file.stem}{figure}.{suffix}' for figure in ('', '-requests') for suffix in ('png', 'pdf')]
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
        self.assertEqual([text.get_text() for text in first.texts], ['1', '10'])
        self.assertEqual((first.get_xlabel(), first.get_ylabel()), ('job', 'response time (ms)'))
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()], ['point 0', 'point 1'])

    def test_clients_that_do_the_same_share_a_panel(self):
        page, = self.draw({(0, f'noise{number}'): [1, 2, None] for number in range(4)})
        self.assertEqual([axes.get_title('left') for axes in page.axes], ['noise0 … noise3 (4 alike)'])

    def test_only_where_a_client_has_several_jobs(self):
        synthetic.write_responses(self.folder, {(0, 'once'): [1], (0, 'twice'): [1, 2]})
        self.assertFalse(responses.applies(results.read_responses(self.folder)))
        self.assertFalse(responses.applies(results.read_responses(self.folder / 'absent')))


class Comparisons(InAFolder):
    def setUp(self):
        super().setUp()
        self.sides = [self.folder / 'predicted', self.folder / 'measured']
        for side, factors, world in zip(self.sides, ((1.1, 0.9, 1), (1, 1, 1)), ('sim', 'cuda')):
            synthetic.write_bars(side)
            synthetic.write_jobs(side, factors, world, left_out={('RED', 2)} if world == 'cuda' else ())

    def pair(self):
        return agreement.read_pair(*self.sides)

    def test_every_figure_the_same_bytes_when_drawn_again(self):
        for side, quantum in zip(self.sides, (1.0, 1.3)):
            synthetic.write_trace(side, 'rr', quantum)
            synthetic.write_trace(side, 'frs', quantum, permutation=round(quantum))  # of both sides the same run
        synthetic.write_trace(self.sides[0], 'sjf')
        outs = [self.folder / seed for seed in ('1', '2')]
        processes = [start('compare.py', *self.sides, '--out', out, PYTHONHASHSEED=out.name) for out in outs]
        expected = [f'compare-{name}.{suffix}' for name in ('jobs', 'errors', 'metrics', 'gantt-rr', 'gantt-frs')
                    for suffix in ('png', 'pdf')]
        for out, process in zip(outs, processes):
            self.assertEqual(finish(process), (0, ''.join(f'{out / name}\n' for name in expected), ''))
        for name in expected:
            first, second = ((out / name).read_bytes() for out in outs)
            self.assertGreater(len(first), 5000, name)
            self.assertEqual(first, second, name)

    def test_jobs_are_matched_and_unfinished_ones_left_out(self):
        jobs = self.pair().jobs
        self.assertEqual({policy: len(own) for policy, own in jobs.items()}, dict.fromkeys(synthetic.PUBLISHED, 26))
        found = agreement.errors(jobs['rr'])
        for index, error in ((0, -10), (8, -10), (9, 0), (16, 0), (17, 10), (25, 10)):
            self.assertAlmostEqual(found[index], error)

    def test_a_panel_for_each_policy_with_the_same_limits(self):
        panels = [axes for axes in agreement.draw_jobs(self.pair()).axes if axes.get_visible()]
        self.assertEqual([axes.get_title() for axes in panels],
                         [f'{policy} (26 jobs)' for policy in ('sjf', 'srt', 'rr', 'cfs', 'frs')])
        self.assertEqual(len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}), 1)
        self.assertEqual([panels[0].get_ylabel(), panels[-1].get_xlabel()],
                         ['NTT predicted (sim)', 'NTT measured (cuda)'])

    def test_a_log_axis_where_small_values_would_be_crowded(self):
        self.assertEqual(agreement.draw_jobs(self.pair()).axes[0].get_xscale(), 'linear')
        synthetic.write_jobs(self.sides[0], (20, 1, 1))
        self.assertEqual(agreement.draw_jobs(self.pair()).axes[0].get_xscale(), 'log')

    def test_the_legend_tells_medians_and_the_axis_what_lies_beyond(self):
        figure = agreement.draw_errors(self.pair())
        self.assertIn('rr (median +0.0 %)', [text.get_text() for text in figure.legends[0].get_texts()])
        self.assertEqual(agreement._window([[0.0] * 999 + [1000.0]])[2], 0.001)
        self.assertNotIn('beyond', figure.axes[1].get_xlabel())

    def test_errors_stand_above_the_bars(self):
        text = (self.sides[0] / 'summary.csv').read_text().splitlines()
        cells = text[1].split(',')
        self.assertEqual(cells[1], 'cfs')
        cells[2] = str(float(cells[2]) * 0.8)
        (self.sides[0] / 'summary.csv').write_text('\n'.join([text[0], ','.join(cells), *text[2:]]) + '\n')
        page, = agreement.draw_metrics(self.pair())
        self.assertEqual([text.get_text() for text in page.axes[0].texts], ['+0.0', '+0.0', '+0.0', '−20.0', '+0.0'])

    def test_a_sweep_has_a_row_of_panels_for_each_point_on_pages(self):
        for side in self.sides:
            synthetic.write_sweep(side, **{GAP: ['1 ms', '2 ms', '3 ms', '4 ms', '5 ms']})
        pages = agreement.draw_metrics(self.pair())
        self.assertEqual([len(page.axes) for page in pages], [6, 9])
        self.assertEqual(pages[1].axes[0].get_title('left'), 'arrivals gap 3 ms')

    def refused(self, *expected):
        with self.assertRaises(results.InputError) as caught:
            self.pair()
        for text in expected:
            self.assertIn(text, str(caught.exception))

    def test_what_cannot_be_compared_is_refused(self):
        text = (self.sides[1] / 'jobs.csv').read_text()
        (self.sides[1] / 'jobs.csv').write_text(text.replace(',ntt\n', ',speed\n', 1))
        self.refused("measured/jobs.csv:1: key 'ntt': found no such column")
        (self.sides[1] / 'jobs.csv').write_text(text + '0,rr,0,1,VA,0,-1\n')
        self.refused(f"jobs.csv:{len(text.splitlines()) + 1}: key 'ntt': found '-1', expected a number above 0")
        (self.sides[1] / 'jobs.csv').write_text(text)
        synthetic.write_sweep(self.sides[1], **{GAP: ['1 ms']})
        self.refused('measured/summary.csv:1: found swept', GAP)
        synthetic.write_sweep(self.sides[0], **{GAP: ['2 ms']})
        self.refused("found '1 ms' at point 0, expected '2 ms' as in")
        code, out, errors = finish(start('compare.py', self.sides[0]))
        self.assertEqual((code, out), (2, ''))
        self.assertRegex(errors, r'\Aerror: [^\n]*DIR_B\n\Z')

    def test_folders_without_jobs_get_the_metrics(self):
        (self.sides[0] / 'jobs.csv').unlink()
        written = [path.name for path in compare.draw(*self.sides, self.folder / 'out')]
        self.assertEqual(written, ['compare-metrics.png', 'compare-metrics.pdf'])


class Calibrations(InAFolder):
    def setUp(self):
        super().setUp()
        synthetic.write_calibration(self.folder)

    def read(self):
        return readings.read(self.folder)

    def test_every_figure_the_same_bytes_when_drawn_again(self):
        outs = [self.folder / seed for seed in ('1', '2')]
        processes = [start('calibration.py', self.folder, '--out', out, PYTHONHASHSEED=out.name) for out in outs]
        expected = [f'{name}.{suffix}' for name in ('eviction-delay', 'kernels', 'copies', 'polls') for suffix in ('png', 'pdf')]
        for out, process in zip(outs, processes):
            self.assertEqual(finish(process), (0, ''.join(f'{out / name}\n' for name in expected), ''))
        for name in expected:
            first, second = ((out / name).read_bytes() for out in outs)
            self.assertGreater(len(first), 5000, name)
            self.assertEqual(first, second, name)

    def test_delays_are_medians_and_beside_them_less_the_longest_block_task(self):
        whole, rest = costs.draw_evictions(self.read()).axes
        medians = [series.lines[0].get_ydata() for series in whole.containers]  # one for each mechanism
        self.assertEqual([round(y, 3) for y in medians[0]], [9.725, 17.725, 32.725])
        beyond = [series.lines[0].get_ydata() for series in rest.containers]
        self.assertEqual([[round(y, 3) for y in series] for series in beyond],
                         2 * [[7.525, 7.525, -17.475]] + [[19.8, 19.8, -5.2], [13.8, 13.8, -11.2]])
        lows, highs = whole.containers[0].lines[1]
        self.assertEqual([round(y, 3) for y in highs.get_ydata()], [10.45, 18.45, 57.617])
        self.assertEqual([round(y, 3) for y in lows.get_ydata()], [9, 17, 7.833])

    def test_the_line_is_the_block_task_and_what_an_eviction_costs_at_the_shortest(self):
        lines = [line for line in costs.draw_evictions(self.read()).axes[0].lines if len(line.get_xdata()) > 5]
        self.assertEqual(len(lines), 2)
        for line in lines:
            for x, y in zip(line.get_xdata(), line.get_ydata()):
                self.assertAlmostEqual(y - x, 7.525)

    def test_the_overhead_stands_above_the_longest_kernel_first(self):
        times, lengths = costs.draw_kernels(self.read()).axes
        self.assertEqual([label.get_text() for label in times.get_xticklabels()], ['VA', 'RED'])
        self.assertEqual([text.get_text() for text in times.texts], ['+2.0 %', '+2.0 %'])
        self.assertEqual(lengths.get_yscale(), 'log')

    def test_the_legend_of_copies_tells_the_fit_and_the_axis_the_sizes(self):
        figure = costs.draw_copies(self.read())
        self.assertIn('host to device: 7.00 µs + size / (50.0 GB/s)',
                      [text.get_text() for text in figure.legends[0].get_texts()])
        self.assertEqual([label.get_text() for label in figure.axes[1].get_xticklabels()],
                         ['4\nKiB', '64\nKiB', '1\nMiB'])

    def test_polls_are_medians_with_the_lines_of_the_fits(self):
        figure = costs.draw_polls(self.read())
        for axes, slope, medians in ((figure.axes[0], 1, [1.3, 4, 16, 64, 132, 264, 528, 1056]),
                                     (figure.axes[1], 0.8, [20, 40, 80, 160])):
            self.assertEqual([round(y, 3) for y in axes.containers[0].lines[0].get_ydata()], medians)
            line, = (line for line in axes.lines if len(line.get_xdata()) > 10)
            for x, y in zip(line.get_xdata(), line.get_ydata()):
                self.assertAlmostEqual(y, slope * x)
        self.assertEqual(min(figure.axes[0].lines[-1].get_xdata()), 132)  # fewer blocks than SMs are not in the fit
        self.assertIn('device poll: 0.800 µs each, by the fit',
                      [text.get_text() for text in figure.legends[0].get_texts()])

    def test_what_was_not_measured_is_not_drawn(self):
        lines = (self.folder / 'samples.csv').read_text().splitlines()
        kept = [line for line in lines if not line.startswith(('copy', 'original', 'host poll'))]
        (self.folder / 'samples.csv').write_text('\n'.join(kept) + '\n')
        written = [path.name for path in calibration.draw(self.folder, self.folder / 'out')]
        self.assertEqual(written, ['eviction-delay.png', 'eviction-delay.pdf'])

    def test_one_mechanism_is_enough(self):
        synthetic.write_calibration(self.folder, ['flag-copy'])
        self.assertEqual(len(costs.draw_evictions(self.read()).axes[1].containers), 2)

    def refused(self, expected):
        with self.assertRaises(results.InputError) as caught:
            self.read()
        self.assertIn(expected, str(caught.exception))

    def test_what_is_no_calibration_is_refused(self):
        samples, about = ((self.folder / name).read_text() for name in ('samples.csv', 'calibration.json'))
        (self.folder / 'samples.csv').write_text(samples + 'eviction,flag-copy,VA,0,soon\n')
        self.refused(f"samples.csv:{len(samples.splitlines()) + 1}: key 'value_ns': found 'soon', expected a number")
        (self.folder / 'samples.csv').write_text(samples.splitlines()[0] + '\n')
        self.refused('samples.csv:1: found no rows')
        (self.folder / 'samples.csv').write_text(samples)
        (self.folder / 'calibration.json').write_text(about.replace('"slope"', '"rise"'))
        self.refused("calibration.json: key 'fits': found KeyError 'slope'")
        (self.folder / 'calibration.json').write_text('{"kind": "result"}')
        self.refused("calibration.json: key 'kind': found no calibration")
        (self.folder / 'calibration.json').unlink()
        code, out, errors = finish(start('calibration.py', self.folder))
        self.assertEqual((code, out), (2, ''))
        self.assertRegex(errors, r'\Aerror: [^\n]*calibration.json: found no such file, expected [^\n]*\n\Z')


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


class Reports(InAFolder):
    def test_the_tables_and_the_tally(self):
        synthetic.write_bars(self.folder)
        code, out, errors = finish(start('report.py', self.folder, '--write'))
        self.assertEqual((code, errors), (0, ''))
        self.assertRegex(out, r'\| sjf +\| 1\.89 ± 0\.04 \| 0\.63 ± 0\.03 \| 5\.23 ± 0\.05 \|')
        self.assertRegex(out, r'\| fig4 +\| cfs +\| ANTT +\| 6\.00 +\| 5\.82 +\| -3\.0 % +\| open +\| shown')
        self.assertEqual(out.strip().splitlines()[-1], '23 pass, 1 miss, 1 shown')
        self.assertEqual((self.folder / 'report.md').read_text(), report.text(results.read(self.folder)))


class Words(unittest.TestCase):
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
                           ('workload.clients.A.kernels.b.time', 'A kernel b time'), (REQUEST, 'Throttle request')]:
            self.assertEqual(names.parameter(path), name)
        self.assertEqual(names.setting(GAP, '10 us'), 'arrivals gap 10 µs')
        self.assertEqual(names.setting('clients', 'DCT+Throttle'), 'DCT + Throttle')

    def test_a_policy_looks_the_same_whoever_stands_beside_it(self):
        few, many = style.styles(['frs', 'rr']), style.styles(['zeta', 'rr-long', 'rr', 'frs', 'alpha'])
        self.assertEqual((few['frs'], few['rr']), (many['frs'], many['rr']))
        self.assertEqual(many['rr-long'].colour, many['rr'].colour)
        self.assertEqual(len({(look.colour, look.marker) for look in many.values()}), 5)
        self.assertEqual(names.in_order(many), ['rr', 'rr-long', 'frs', 'alpha', 'zeta'])

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


if __name__ == '__main__':
    unittest.main()
