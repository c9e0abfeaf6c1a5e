"""The figures of synthetic traces."""
import unittest

from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from gangway.drawing import bars
from gangway.drawing import blocks
from gangway.drawing import device_run
from gangway.drawing.commands import figures
from gangway.drawing import gantt
from gangway.drawing import queues
from gangway.drawing import request_times
from gangway.drawing import results
import synthetic


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
        # 2,500 marks would be a smear.
        self.assertEqual(self.labels(figure), ['running', 'one state for each 1/600 of the time', 'submits directly', 'denied'])
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

    def test_what_was_stopped_and_went_on_is_one_request(self):
        """A's last one may be cut, though B has the GPU at the end."""
        requests = [('A', 'k', 0, 0.01, 1), ('B', 'k', 0.01, 0.02, 2), ('A', 'k', 0.03, 0.04, 1), ('A', 'k', 0.1, 0.05, 3), ('B', 'k', 0.2, 0.01, 4)]
        a, b = request_times.read(synthetic.write_requests(self.folder, requests, access=self.ACCESS))
        rounded = lambda values: [round(value, 6) for value in values]
        self.assertEqual((rounded(a.lengths), rounded(a.gaps)), ([50], [100]))
        self.assertEqual((rounded(b.lengths), rounded(b.gaps)), ([20], [190]))

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


if __name__ == '__main__':
    unittest.main()
