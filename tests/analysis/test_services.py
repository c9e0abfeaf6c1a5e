"""Figures of services: values where they belong, and clients that starved among the worst."""
import math
import unittest

from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from gangway.drawing import bars
from gangway.drawing import names
from gangway.drawing import quantity
from gangway.drawing.commands import figures, report
from gangway.drawing import results
from gangway.drawing import services
from gangway.drawing import style
from gangway.drawing import sweep
from gangway.drawing import swept_axis
from gangway.drawing import throughput_tail

RATE = 'workload.clients.web.repeat.arrivals.rate'
RATES = ('50/s', '100/s', '3000/min')
COLUMNS = ['jobs', 'unfinished', 'starved_runs', *(f'latency_ns_{p}{c}' for p in ('p50', 'p90', 'p95', 'p99', 'p999') for c in ('', '_ci95')),
           'lower_bounds', 'slo_ns', 'attainment', 'attainment_ci95', 'throughput_per_s', 'throughput_per_s_ci95']


JOBS = {'web': 1000, 'chat': 500, 'training': 99}


class Services(InAFolder):
    def folder_of(self, rows, swept=True, paths=RATE, cells=RATES):
        """rows: (point, policy, client, starved runs, p50 and p99 in ms, lower bounds, slo in ms, attainment, throughput)."""
        path = f',{paths}' if swept else ''
        cell = {point: f',{text}' if swept else '' for point, text in enumerate(cells)}
        summary = ['point,policy' + path + ',antt,antt_ci95,dntt,dntt_ci95,stp,stp_ci95,evictions,jobs,unfinished,starved,percentiles']
        clients = ['point,policy' + path + ',client,ntt,ntt_ci95,standalone_ns,jobs,unfinished,starved_runs,percentiles']
        table = ['point,policy' + path + ',client,' + ','.join(COLUMNS)]
        for point, policy in dict.fromkeys((row[0], row[1]) for row in rows):
            summary.append(f'{point},{policy}{cell[point]},2,,1,,3,,4,12,0,,exact')
        for point, policy, client, starved, p50, p99, bounds, slo, attainment, throughput in rows:
            clients.append(f'{point},{policy}{cell[point]},{client},2,,1000,12,0,0,exact')
            latency = ['', ''] * 5 if starved else [f'{p50}e6', '', f'{p50}e6', '', f'{p50}e6', '', f'{p99}e6', '1e5', f'{p99}e6', '']
            values = [JOBS[client], 0, starved, *latency, bounds, f'{slo}000000' if slo else '', attainment, '', throughput, '']
            table.append(f'{point},{policy}{cell[point]},{client},' + ','.join(map(str, values)))
        for name, lines in (('summary', summary), ('clients', clients), ('services', table)):
            (self.folder / f'{name}.csv').write_text('\n'.join([*lines, '']))
        return results.read(self.folder)

    def swept(self):
        rows = []
        for point in range(3):
            rows += [(point, 'edf', 'web', 0, 2, 4 + point, '', 5, 0.9, 100), (point, 'edf', 'training', 0, 30, 60, 'p99', '', '', 20),
                     (point, 'fcfs', 'web', 3 if point == 1 else 0, 20, 400, 'p99|p999', 5, 0, 10),
                     (point, 'fcfs', 'training', 0, 30, 60, '', '', '', 40 + point)]
        return self.folder_of(rows)

    def marks(self, axes, marker):
        return [tuple(point) for line in axes.lines if line.get_marker() == marker for point in zip(*line.get_data())]

    def line_of(self, axes, policy, found):
        look = services.style.styles(row.policy for row in found.services)[policy]
        return next(list(zip(*line.get_data())) for line in axes.lines
                    if line.get_color() == look.colour and line.get_marker() == look.marker)

    def legend(self, figure):
        return [text.get_text() for legend in figure.legends for text in legend.get_texts()]

    def test_the_report_has_what_services_are_judged_by(self):
        text = report.text(self.swept())
        self.assertRegex(text, r'\| web rate +\| policy +\| client +\| jobs +\| p50 in ms +\| p99 in ms +\| p99.9 in ms +\| objective in ms +\| attained +\| jobs/s +\|')
        self.assertRegex(text, r'\| 100/s +\| edf +\| web +\| 1000 +\| 2.00 +\| 5.00 +\| 5.00 +\| 5.00 +\| 90.0 % +\| 100 +\|')
        self.assertRegex(text, r'\| 50/s +\| fcfs +\| web +\| 1000 +\| 20.00 +\| ≥ 400 +\| ≥ 400 +\| 5.00 +\| 0.0 % +\| 10.00 +\|')
        self.assertRegex(text, r'\| 100/s +\| fcfs +\| web +\| 1000 +\| starved +\| starved +\| starved +\|')
        self.assertRegex(text, r'\| 50/s +\| edf +\| training +\| 99 +\| 30.00 +\| ≥ 60.00 +\| max 60.00 +\| +\| +\| 20.00 +\|')

    def test_the_report_shows_the_metrics_that_are_asked_for(self):
        self.swept()
        summary = self.folder / 'summary.csv'
        head, *rows = summary.read_text().splitlines()
        summary.write_text('\n'.join([head + ',p99_response_ns,p99_response_ns_ci95', *(row + ',12500000,500000' for row in rows), '']))
        found = results.read(self.folder, ['p99_response_ns'])
        self.assertRegex(report.text(found), r'\| policy +\| p99 response in ms +\|')
        self.assertRegex(report.text(found), r'\| 12.50 +\|')  # without replications there is nothing that an interval is around
        self.assertNotIn('≥ 12.50', report.text(found))
        self.assertNotIn('ANTT', report.text(found))
        self.assertNotIn('0 pass', report.text(found))  # nothing was published
        summary.write_text(summary.read_text().replace(',exact', ',lower-bound'))
        self.assertIn('| ≥ 12.50 ', report.text(results.read(self.folder, ['p99_response_ns'])))
        self.assertEqual(names.metric('p99_response_ns'), 'p99 response (ms, lower is better)')

    def test_rates_are_quantities(self):
        self.assertEqual(quantity.in_common_unit(RATES), ([50, 100, 50], '/s'))
        self.assertEqual(names.parameter(RATE), 'web rate')
        self.assertEqual(swept_axis.choose(self.swept()).label, 'web rate (1/s)')

    def test_the_table_is_read(self):
        row = self.swept().services[2]
        self.assertEqual((row.policy, row.client, row.bounds, row.slo_ns, row.attainment.mean), ('fcfs', 'web', ('p99', 'p999'), 5e6, 0))
        self.assertEqual((row.latency['p99'].mean, row.latency['p99'].ci95), (4e8, 1e5))
        self.assertTrue(math.isnan(self.swept().services[6].latency['p99'].mean))

    def test_latency_against_load_has_crosses_above_all_where_a_client_starved(self):
        found = self.swept()
        page, = services.draw_latency(found)
        self.assertEqual(len(page.axes), 2)  # of the client with an objective alone
        median, tail = page.axes
        self.assertEqual(self.line_of(median, 'edf', found), [(50, 2), (50, 2), (100, 2)])
        self.assertEqual(self.line_of(tail, 'edf', found), [(50, 4), (50, 6), (100, 5)])
        for axes in page.axes:
            self.assertEqual(self.marks(axes, 'x'), [(100, 1.0)])  # the top of the panel
        self.assertEqual(self.marks(median, style.UP), [])
        self.assertEqual([x for x, _ in self.marks(tail, style.UP) if not math.isnan(_)], [50, 50])
        self.assertIn('starved: a client finished no job', self.legend(page))
        self.assertIn('at least: unfinished jobs', self.legend(page))

    def test_attainment_against_load(self):
        found = self.swept()
        page, = services.draw_attainment(found)
        self.assertEqual(self.line_of(page.axes[0], 'edf', found), [(50, 0.9), (50, 0.9), (100, 0.9)])
        self.assertEqual([y for _, y in self.line_of(page.axes[0], 'fcfs', found)], [0, 0, 0])
        self.assertNotIn('objective', self.legend(page))

    def test_what_a_killed_client_attained_and_finished_is_an_upper_bound(self):
        self.swept()
        table = self.folder / 'services.csv'
        head, *rows = table.read_text().splitlines()
        rows = [row + (',attainment|throughput_per_s' if ',fcfs,' in row else ',') for row in rows]
        table.write_text('\n'.join([head + ',upper_bounds', *rows, '']))
        found = results.read(self.folder)
        killed = found.services[2]
        self.assertEqual([killed.bound(name) for name in ('attainment', 'throughput', 'p50', 'p99')], ['at most', 'at most', '', 'at least'])
        self.assertRegex(report.text(found), r'\| 50/s +\| fcfs +\| web +\| 1000 +\| 20.00 +\| .* \| ≤ 0.0 % +\| ≤ 10.00 +\|')
        page, = services.draw_attainment(found)
        self.assertEqual([x for x, y in self.marks(page.axes[0], style.DOWN)], [50, 100, 50])
        self.assertIn('at most: unfinished jobs', self.legend(page))
        page = throughput_tail.draw(found)  # of web against what training got done
        self.assertEqual(len(self.marks(page.axes[0], style.LEFT)), 2)  # at one of three points web starves
        self.assertIn('at most: unfinished jobs', self.legend(page))

    def bands(self, axes):
        """The highest and lowest value of each band at the first place."""
        first = min(path.vertices[:, 0].min() for band in axes.collections for path in band.get_paths())
        return [[round(y, 9) for x, y in path.vertices if x == first] for band in axes.collections for path in band.get_paths()]

    def replicated(self):
        """p99 of all jobs is 4 ms, of the replications 3 and 4 ms; all met the objective in 95 % of all jobs, in 90 and 96 %."""
        self.folder_of([(point, 'edf', 'web', 0, 2, 4, '', 5, 0.95, 100) for point in range(2)])
        table = (self.folder / 'services.csv').read_text().replace(',0.95,,', ',0.95,0.08,')
        (self.folder / 'services.csv').write_text(table)
        columns = [*(f'latency_ns_{name}' for name in ('p50', 'p90', 'p95', 'p99', 'p999')), 'attainment']
        rows = [f'{point},edf,{RATES[point]},web,{run},2e6,2e6,2e6,{p99},5e6,{met}' for point in range(2)
                for run, (p99, met) in enumerate([('3e6', 0.9), ('4e6', 0.96)])]
        (self.folder / 'service_replications.csv').write_text('\n'.join(
            [f'point,policy,{RATE},client,replication,' + ','.join(columns), *rows, '']))
        return results.read(self.folder)

    def test_a_band_is_around_the_mean_over_replications_that_its_width_is_of(self):
        found = self.replicated()
        page, = services.draw_latency(found)
        tail = page.axes[1]
        self.assertEqual(self.line_of(tail, 'edf', found), [(50, 4), (100, 4)])
        self.assertEqual({*self.bands(tail)[0]}, {3.4, 3.6})  # 0.1 to both sides of 3.5
        self.assertIn('95 % interval of the mean over replications', [text.get_text() for text in page.legends[0].get_texts()])

    def test_the_report_has_the_interval_of_a_percentile_as_a_range(self):
        text = report.text(self.replicated())
        self.assertRegex(text, r'\| 50/s +\| edf +\| web +\| 1000 +\| 2.00 +\| 4.00 \[3.40, 3.60\] +\|')
        self.assertIn('[low, high]: 95 % interval of the mean over replications', text)
        self.assertIn('4.00 [3.40, 3.60] &', report.tex(self.replicated()))

    def test_the_interval_of_a_percentile_of_all_responses_is_around_the_mean_over_replications(self):
        self.swept()
        summary, p99 = self.folder / 'summary.csv', 'p99_response_ns'
        head, *rows = summary.read_text().splitlines()
        summary.write_text('\n'.join([f'{head},{p99},{p99}_ci95', *(row + ',12500000,500000' for row in rows), '']))
        (self.folder / 'replications.csv').write_text('\n'.join(
            [f'point,policy,replication,{p99}', *(f'{row.split(",")[0]},{row.split(",")[1]},{run},{value}' for row in rows
                                                  for run, value in enumerate((3e6, 4e6))), '']))
        found = results.read(self.folder, [p99])
        text = report.text(found)
        self.assertIn('| 12.50 [3.00, 4.00] |', text)
        self.assertIn('[low, high]: 95 % interval of the mean over replications', text)
        page, = sweep.draw(found)
        self.assertEqual({*self.bands(page.axes[0])[0]}, {3, 4})
        self.assertIn('95 % interval of the mean over replications', self.legend(page))
        figure, axes = style.pyplot.subplots()
        bars.draw_groups(axes, 1, {'edf': [(0, found.summary[0].metrics[p99])]}, style.styles(['edf']))
        lines, = axes.collections
        self.assertEqual(lines.get_segments()[0].tolist(), [[0, 3], [0, 4]])

    def test_no_interval_of_a_time_reaches_below_0_and_the_legend_says_where_an_axis_cuts_it_off(self):
        self.replicated()
        table = self.folder / 'services.csv'
        table.write_text(table.read_text().replace('4e6,1e5,', '4e6,5e6,'))
        found = results.read(self.folder)
        page, = services.draw_latency(found)
        self.assertEqual({*self.bands(page.axes[1])[0]}, {0, 8.5})  # 3.5 and 5 to both sides
        self.assertEqual((page.axes[1].get_yscale(), page.axes[1].get_ylim()), ('linear', (0, 8.5)))
        self.assertIn('95 % interval of the mean over replications', self.legend(page))
        self.assertRegex(report.text(found), r'4.00 \[0.00, 8.50\]')
        self.assertIn('An interval of a time ends at 0 where it would reach below, as no time is negative.', report.text(found))
        self.assertNotIn('ends at 0', report.text(self.replicated()))
        table.write_text(table.read_text().replace('4e6,5e6,', '40e6,50e6,').replace('4e6,1e5,', '40e6,50e6,'))
        page, = services.draw_latency(results.read(self.folder))
        self.assertEqual(page.axes[1].get_yscale(), 'log')
        self.assertIn('95 % interval of the mean over replications (some cut off)', self.legend(page))

    def test_bands_of_attainment_end_at_100_percent(self):
        found = self.replicated()
        page, = services.draw_attainment(found)
        self.assertEqual({*self.bands(page.axes[0])[0]}, {0.85, 1.0})  # 0.93 and 0.08 to both sides

    def test_crosses_are_within_the_axes_where_all_starved(self):
        found = self.folder_of([(0, 'edf', 'web', 3, 2, 4, '', 5, 0, 0), (0, 'edf', 'training', 0, 30, 60, '', '', '', 20)], swept=False)
        axes, = throughput_tail.draw(found).axes
        self.assertEqual((self.marks(axes, 'x'), axes.get_xlim()), ([(20, 1.0)], (0, 21)))

    def test_latencies_that_hardly_differ_have_an_axis_from_0(self):
        for p99, scale in ((6, 'linear'), (60, 'log')):
            found = self.folder_of([(0, 'edf', 'web', 0, 2, p99, '', 5, 0.9, 100)], swept=False)
            axes, = throughput_tail.draw(found).axes
            self.assertEqual(axes.get_yscale(), scale)
            axes.figure.canvas.draw()
            low, high = axes.get_ylim()
            self.assertGreater(len([tick for tick in axes.get_yticks() if low <= tick <= high]), 2)

    def test_latencies_have_the_unit_of_those_in_the_middle(self):
        found = self.folder_of([(point, 'edf', 'web', 0, 2, 4000 if point else 4, '', 5, 0.9, 100) for point in range(3)])
        page, = services.draw_latency(found)
        self.assertEqual(page.axes[1].get_ylabel(), '99th percentile of latency (ms)')

    def test_throughput_and_tail(self):
        found = self.swept()
        axes, = throughput_tail.draw(found).axes
        self.assertEqual(axes.get_xlabel().split('\n')[0], 'jobs of training finished (1/s)')
        self.assertEqual(self.line_of(axes, 'edf', found), [(20, 4), (20, 6), (20, 5)])  # in the order of the loads
        self.assertEqual(self.marks(axes, 'x'), [(41, 1.0)])

    def test_what_another_service_gets_done_is_its_load_and_does_not_count(self):
        found = self.folder_of([(point, 'edf', client, 0, 2, 4, '', slo, 0.9, rate * (point + 1))
                                for point in range(2) for client, slo, rate in (('web', 5, 100), ('chat', 9, 50), ('training', '', 20))])
        for axes in throughput_tail.draw(found).axes:
            self.assertEqual(axes.get_xlabel().split('\n')[0], 'jobs of training finished (1/s)')
            self.assertEqual(self.line_of(axes, 'edf', found), [(20, 4), (40, 4)])

    def test_where_a_client_is_alone_the_others_finish_nothing(self):
        found = self.folder_of([(0, 'edf', 'web', 0, 2, 4, '', 5, 0.9, 100), (1, 'edf', 'web', 0, 2, 6, '', 5, 0.9, 100),
                                (1, 'edf', 'training', 0, 30, 60, '', '', '', 20), (2, 'edf', 'training', 0, 30, 60, '', '', '', 40)])
        axes, = throughput_tail.draw(found).axes
        self.assertEqual(self.line_of(axes, 'edf', found), [(0, 4), (20, 6)])

    def of_two_parameters(self):
        """A sweep of two rates and two quanta of rr: fcfs does not depend on the quantum, edf is what fcfs is."""
        points = [(rate, quantum) for rate in ('50/s', '100/s') for quantum in ('1 ms', '2 ms')]
        rows = [(point, policy, client, 0, 2, tail, '', slo, 0.9, done)
                for point in range(4)
                for policy, more in (('edf', 0), ('fcfs', 0), ('rr', 1 + point % 2))
                for client, slo, tail, done in (('web', 5, 4 + point // 2 + 20 * more, 100), ('training', '', 60, 20 + 5 * (point // 2) + 10 * more))]
        return self.folder_of(rows, paths=f'{RATE},policies.rr.params.quantum', cells=map(','.join, points))

    def test_of_two_parameters_each_value_of_the_second_has_a_line_and_points_are_named(self):
        found = self.of_two_parameters()
        page = throughput_tail.draw(found)
        axes, = page.axes
        lines = [list(zip(*line.get_data())) for line in axes.lines if len(line.get_xdata()) == 2 and line.get_marker() not in ('None', '_')]
        self.assertEqual(lines, [[(20, 4), (25, 5)], [(30, 24), (35, 25)], [(40, 44), (45, 45)]])
        self.assertEqual(self.legend(page)[:3], ['fcfs = edf', 'rr quantum 1 ms', 'rr quantum 2 ms'])
        self.assertEqual(axes.get_xlabel(), 'jobs of training finished (1/s)\nalong a line: web rate (1/s) from 50 to 100')
        self.assertEqual(sorted(text.get_text() for text in axes.texts), ['100'] * 3 + ['50'] * 3)

    def test_where_the_others_finish_the_same_everywhere_there_is_no_figure(self):
        rows = [(point, 'edf', client, 0, 2, 4, '', slo, 0.9, 20) for point in range(3) for client, slo in (('web', 5), ('training', ''))]
        found = self.folder_of(rows)
        self.assertFalse(throughput_tail.varies(found))
        self.assertNotIn('throughput-tail', [name for name, _ in figures.kinds(self.folder)])
        self.assertIn('throughput-tail', [name for name, _ in figures.kinds(self.folder, (), ('throughput-tail',))])
        self.assertTrue(throughput_tail.varies(self.swept()))

    def test_an_objective_that_is_swept_stands_at_its_own_points(self):
        rows = [(point, 'edf', client, 0, 2, 4 + point, '', slo and slo + point, 0.9, 20 + point) for point in range(2)
                for client, slo in (('web', 5), ('training', ''))]
        found = self.folder_of(rows)
        for axes in next(services.draw_latency(found)).axes:
            step, = (line for line in axes.lines if line.get_linestyle() == '--' and line.get_color() == 'black')
            self.assertEqual((step.get_drawstyle(), list(zip(*step.get_data()))), ('steps-mid', [(50, 5), (100, 6)]))
        axes, = throughput_tail.draw(found).axes
        self.assertEqual(self.marks(axes, '_'), [(20, 5), (21, 6)])
        self.assertEqual([line for line in axes.lines if line.get_linestyle() == '--' and line.get_color() == 'black'], [])

    def test_lines_that_lie_on_each_other_are_one_with_both_names(self):
        found = self.folder_of([(point, policy, 'web', 0, 2, 4 + point + (policy == 'rr'), '', 5, 0.9, 100) for point in range(3)
                                for policy in ('edf', 'piv', 'rr')])
        for page, lines in ((next(services.draw_latency(found)), 2), (next(services.draw_attainment(found)), 1)):
            self.assertEqual(len([line for line in page.axes[-1].lines if line.get_marker() != 'None']), lines)
            self.assertIn('edf = piv' if lines == 2 else 'rr = edf = piv', self.legend(page))
            self.assertFalse({'edf', 'piv'} & {*self.legend(page)})

    def test_of_several_others_the_axis_says_what_their_work_is(self):
        found = self.folder_of([(point, 'edf', client, 0, 2, 4, '', slo, 0.9, rate * (point + 1))
                                for point in range(2) for client, slo, rate in (('web', 5, 100), ('chat', '', 50), ('training', '', 20))])
        axes, = throughput_tail.draw(found).axes
        self.assertEqual(axes.get_xlabel().split('\n')[0], 'work that the others finish per second (s of standalone time)')

    def test_without_a_sweep_each_policy_is_a_point(self):
        found = self.folder_of([(0, 'edf', 'web', 0, 2, 4, '', 5, 0.9, 100), (0, 'fcfs', 'web', 3, 0, 0, '', 5, 0, 0)], swept=False)
        self.assertFalse(services.against_load(found))
        axes, = throughput_tail.draw(found).axes
        self.assertEqual(self.line_of(axes, 'edf', found), [(100, 4)])
        self.assertEqual({line.get_linestyle() for line in axes.figure.legends[0].get_lines()[:2]}, {'None'})
        self.assertEqual(self.marks(axes, 'x'), [(0, 1.0)])

    def test_distributions_count_unfinished_jobs_as_longer_than_all_others(self):
        found = self.folder_of([(0, 'edf', 'web', 0, 2, 4, '', 5, 0.9, 100), (0, 'fcfs', 'web', 3, 0, 0, '', 5, 0, 0)], swept=False)
        times = {(0, 'edf'): {'web': {0: 3.0, 1: 1.0, 2: math.nan, 3: 2.0}}, (0, 'fcfs'): {'web': {0: math.nan, 1: math.nan}}}
        page, = services.draw_distributions(found, times)
        steps = [list(zip(*line.get_data())) for line in page.axes[0].lines if line.get_drawstyle() == 'steps-post']
        self.assertEqual(steps, [[(1, 1), (1, 0.75), (2, 0.5), (3, 0.25)]])
        self.assertIn('along the top: no job finished', self.legend(page))

    def test_the_command_draws_them(self):
        self.swept()
        code, printed, errors = finish(start('figures.py', self.folder))
        self.assertEqual((code, errors), (0, ''))
        for name in ('latency', 'attainment', 'throughput-tail'):
            self.assertIn(f'{name}.png', printed)


if __name__ == '__main__':
    unittest.main()
