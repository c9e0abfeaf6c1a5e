"""Policies ranked over several workloads: tables, and fairness against throughput."""
import csv
import json
import math
import unittest

from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from gangway.drawing import bars
from gangway.drawing import fairness
from gangway.drawing import label_places
from gangway.drawing import names
from gangway.drawing import ranking
from gangway.drawing import results
from gangway.drawing import style

SUMMARY = ('point,policy,antt,antt_ci95,dntt,dntt_ci95,stp,stp_ci95,evictions,makespan_ns,jain,p99_response_ns,'
           'concurrency_efficiency,starved,percentiles,understated\n')
CLIENTS = 'point,policy,client,ntt,ntt_ci95,standalone_ns\n'


class Workloads(InAFolder):
    def write(self, name, rows, starving=(), clients=4, percentiles='exact', understated=None, **configuration):
        """rows: policy -> (ANTT, its interval, DNTT, STP, makespan, Jain, p99, efficiency). starving: policies with how
        many clients starve under each, as the runner tells it."""
        folder = self.folder / name
        folder.mkdir()
        starved = {policy: [f'C{client}' for client in range(count)] for policy, count in starving}
        lines = []
        for policy, (antt, ci95, dntt, stp, makespan, jain, p99, efficiency) in rows.items():
            averages = [antt, ci95, dntt, 0.01, stp, 0.01]
            if policy in starved:
                averages, jain, efficiency = [''] * 6, '', ''
            lines.append([0, policy, *averages, 0, makespan, jain, p99, efficiency, '|'.join(starved.get(policy, [])), percentiles,
                          (understated or {}).get(policy, '')])
        (folder / 'summary.csv').write_text(SUMMARY + ''.join(','.join(map(str, line)) + '\n' for line in lines))
        (folder / 'clients.csv').write_text(CLIENTS + ''.join(
            f"0,{policy},C{client},{'' if f'C{client}' in starved.get(policy, []) else 2},,1000\n"
            for policy in rows for client in range(clients)))
        about = {'title': name.upper(), 'policies': list(rows), 'replications': 3, 'permutations': 20, **configuration}
        (folder / 'manifest.json').write_text(json.dumps({'configuration': about}))
        return folder

    def read(self, *arguments, **more):
        return ranking.Workload(results.read(self.write(*arguments, **more)))

    def finite(self, name='finite', **more):
        return self.read(name, {
            'fcfs': (7, 0.1, 4, 2, 100e6, 0.6, 30e6, 0.9), 'sjf': (1.8, 0.1, 0.6, 5, 102e6, 0.9, 34e6, 0.9),
            'srt': (1.7, 0.1, 0.4, 5.1, 110e6, 0.95, 34.1e6, 0.9)}, **more)


class Rankings(Workloads):
    def table(self, metric, *workloads):
        return next(table for table in ranking.tables(list(workloads)) if table.metric.name == metric)

    def test_policies_within_each_others_intervals_share_a_rank(self):
        self.assertEqual(self.finite().ranks(ranking.METRICS[0]), {'fcfs': 3, 'sjf': 1, 'srt': 1})
        apart = self.read('apart', {'sjf': (1.8, 0.04, 1, 1, 1, 1, 1, 1), 'srt': (1.7, 0.04, 1, 1, 1, 1, 1, 1)})
        self.assertEqual(apart.ranks(ranking.METRICS[0]), {'sjf': 2, 'srt': 1})

    def test_higher_is_better_of_throughput_and_values_without_intervals_tie_within_a_percent(self):
        self.assertEqual(self.table('stp', self.finite()).ranks['finite'], {'fcfs': 3, 'sjf': 2, 'srt': 1})
        self.assertEqual(self.table('p99', self.finite('b')).ranks['b'], {'fcfs': 1, 'sjf': 2, 'srt': 2})

    def test_percentiles_are_ranked_by_their_means_over_replications_where_they_have_intervals(self):
        pooled = {'fcfs': 48e6, 'sjf': 7e6, 'srt': 5e6, 'rr': 90e6}
        folder = self.write('many', {policy: (2, 0, 1, 1, 1, 1, p99, 1) for policy, p99 in pooled.items()})
        means = {'fcfs': (5e6, 6e6), 'sjf': (6e6, 0.5e6), 'srt': (4e6, 0.5e6)}
        head, *rows = (folder / 'summary.csv').read_text().splitlines()
        rows = [f"{row},{means.get(row.split(',')[1], ('', ''))[1]}" for row in rows]
        (folder / 'summary.csv').write_text('\n'.join([head + ',p99_response_ns_ci95', *rows, '']))
        (folder / 'replications.csv').write_text('\n'.join(['point,policy,replication,p99_response_ns', *(
            f'0,{policy},{run},{mean + 1e5 * sign}' for policy, (mean, _) in means.items() for run, sign in enumerate((-1, 1))), '']))
        many = ranking.Workload(results.read(folder))
        table = self.table('p99', many)
        self.assertEqual(table.ranks['many'], {'fcfs': 1, 'sjf': 2, 'srt': 1, 'rr': 4})
        page = ranking.markdown([table])
        self.assertIn('| srt | 5.00 [3.50, 4.50] **1** |', page)
        self.assertIn('| rr | 90.0 **4** |', page)
        rows = {row[2]: row for row in ranking.csv_rows([table])}
        self.assertEqual([rows[policy][-1] for policy in ('policy', 'srt', 'rr')], ['centre', '4000000.0', ''])

    def test_overhead_is_makespan_beyond_the_shortest_or_lost_efficiency(self):
        endless = self.read('loops', {'fcfs': (4, 0, 1, 1, 5e9, 1, 1, 0.8), 'sjf': (4, 0, 1, 1, 1e9, 1, 1, 1.0)}, horizon='3 s')
        table = self.table('overhead', self.finite(), endless)
        value = {workload.name: {policy: round(table.entry(policy, workload).value.mean, 9) for policy in workload.policies}
                 for workload in table.workloads}
        self.assertEqual(value, {'finite': {'fcfs': 0, 'sjf': 0.02, 'srt': 0.1}, 'loops': {'fcfs': 0.2, 'sjf': 0}})
        self.assertEqual(table.mean_rank, {'fcfs': 1.5, 'sjf': 1.5, 'srt': 3})
        self.assertIn('| policy | finite (%) | loops (%)\\* | mean rank |', ranking.markdown([table]))

    def test_who_kills_jobs_does_less_work_and_is_neither_first_nor_a_yardstick(self):
        folder = self.write('kills', {'fcfs': (2, 0, 1, 1, 1e9, 1, 1, 1), 'killer': (2, 0, 1, 1, 0.5e9, 1, 1, 1), 'srt': (2, 0, 1, 1, 1.1e9, 1, 1, 1),
                                      'rr': (2, 0, 1, 1, 2e9, 1, 1, 1)}, starving=[('rr', 1)])
        head, *rows = (folder / 'summary.csv').read_text().splitlines()
        (folder / 'summary.csv').write_text('\n'.join([head + ',unfinished', *(f"{row},{3 * (',killer,' in row)}" for row in rows), '']))
        table = self.table('overhead', ranking.Workload(results.read(folder)))
        self.assertEqual(table.ranks['kills'], {'fcfs': 1, 'killer': 3, 'srt': 2, 'rr': 4})
        page = ranking.markdown([table])
        self.assertIn('| killer | ≥-50.0 **3** |', page)
        self.assertIn('| srt | 10.0 **2** |', page)
        (folder / 'summary.csv').write_text('\n'.join([head + ',unfinished', *(f'{row},3' for row in rows), '']))
        self.assertIn('| srt | ~120.0 **3** |', ranking.markdown([self.table('overhead', ranking.Workload(results.read(folder)))]))

    def test_who_lets_clients_starve_comes_last(self):
        starving = self.finite('starves', starving={'srt': 3}.items())
        for table in ranking.tables([starving]):  # by every metric: its makespan, too, is of less work
            self.assertEqual(table.ranks['starves']['srt'], 3, table.metric.name)
            self.assertIn('| srt | starved: C0, C1, C2 **3** |', ranking.markdown([table]))
            self.assertTrue(math.isnan(table.entry('srt', starving).value.mean))
        self.assertEqual(starving.starved('srt'), ('C0', 'C1', 'C2'))

    def test_where_clients_starve_under_all_nobody_is_best(self):
        everywhere = self.finite('starves', starving={'fcfs': 1, 'sjf': 1, 'srt': 1}.items())
        table = self.table('antt', everywhere)
        self.assertEqual((table.ranks['starves'], table.mean_rank), ({}, {}))
        self.assertIn('| fcfs | starved: C0 | - |', ranking.markdown([table]))
        both = self.table('antt', everywhere, self.finite())  # the other workload decides
        self.assertEqual(both.mean_rank, {'fcfs': 3, 'sjf': 1, 'srt': 1})

    def test_what_a_starving_policy_measures_is_no_yardstick(self):
        starving = self.read('short', {'fcfs': (4, 0, 1, 1, 1e9, 1, 1, 1), 'sjf': (4, 0, 1, 1, 2e9, 1, 1, 1)}, starving=[('fcfs', 1)])
        self.assertEqual(self.table('overhead', starving).entry('sjf', starving).value.mean, 0)

    def test_percentiles_that_are_lower_bounds_say_so(self):
        bound = self.finite('bound', percentiles='lower-bound')
        self.assertIn('| fcfs | ≥30.0 **1** |', ranking.markdown([self.table('p99', bound)]))
        self.assertNotIn('≥', ranking.markdown([self.table('antt', bound)]))

    def test_averages_that_are_bounds_say_so(self):
        loops = {'fcfs': (4, '', 1, 2, 1e9, 1, 1e6, 0.8), 'piv': (12, '', 11, 1.04, 1e9, 0.5, 2e6, 1)}
        bound = self.read('loops', loops, understated={'piv': 'long|slow'}, horizon='1 s')
        page = {name: ranking.markdown([self.table(name, bound)]) for name in ('antt', 'stp', 'dntt', 'jain', 'p99', 'overhead')}
        self.assertIn('| fcfs | 4.00 **1** |', page['antt'])
        self.assertIn('| piv | ≥12.0 **2** |', page['antt'])
        self.assertIn('Unfinished jobs make values bounds: ≥ at least.', page['antt'])
        self.assertIn('| piv | ≤1.04', page['stp'])
        self.assertIn('| piv | ~11.0', page['dntt'])
        self.assertIn('| piv | ~0.500', page['jain'])
        self.assertIn('| piv | ~0.0 ', page['overhead'])
        self.assertIn('| fcfs | ~20.0 ', page['overhead'])  # against that of piv, which is one
        self.assertNotIn('bounds', page['p99'])
        self.assertEqual([line[-2] for line in ranking.csv_rows([self.table('antt', bound)])], ['bound', '', 'at least'])

    def test_a_policy_that_a_workload_lacks_has_no_cell_and_the_mean_is_of_the_others(self):
        other = self.read('other', {'srt': (2, 0, 1, 1, 1, 1, 1, 1), 'frs': (1, 0, 1, 1, 1, 1, 1, 1)})
        table = self.table('antt', self.finite(), other)
        self.assertEqual(table.mean_rank, {'fcfs': 3, 'sjf': 1, 'srt': 1.5, 'frs': 1})
        self.assertIn('| frs |  | 1.00 **1** | 1.0 |', ranking.markdown([table]))
        self.assertEqual(table.policies, ['frs', 'sjf', 'srt', 'fcfs'])

    def test_numbers_have_three_digits(self):
        self.assertEqual([ranking.digits(value) for value in (0.04936, 0.9996, 1.764, 28.44, 621.9, 1560.2, 0, -3.456)],
                         ['0.0494', '1.00', '1.76', '28.4', '622', '1560', '0', '-3.46'])
        self.assertEqual([ranking.digits(value, 2) for value in (0.0044, 14.26, 102.9)], ['0.0044', '14', '100'])

    def test_long_responses_are_in_seconds(self):
        long = self.read('long', {'rr': (2, 0, 1, 1, 1, 1, 403e9, 1)})
        page = ranking.markdown([self.table('p99', self.finite(), long)])
        self.assertIn('| policy | finite (ms) | long (s) | mean rank |', page)
        self.assertIn('| rr |  | 403 **1** | 1.0 |', page)

    def test_the_command_writes_tables_and_a_figure_that_are_the_same_bytes_again(self):
        self.finite('a'), self.finite('b', horizon='1 s')
        outs = [self.folder / seed for seed in ('1', '2')]
        processes = [start('rankings.py', self.folder / 'a', self.folder / 'b', '--out', out, PYTHONHASHSEED=out.name) for out in outs]
        expected = ['rankings.md', 'rankings.csv', 'fairness.png', 'fairness.pdf']
        for out, process in zip(outs, processes):
            code, printed, errors = finish(process)
            self.assertEqual((code, errors), (0, ''))
            self.assertTrue(printed.startswith('# Mean ranks'))
            self.assertTrue(printed.endswith(''.join(f'{out / name}\n' for name in expected)))
        for name in expected:
            self.assertEqual(*((out / name).read_bytes() for out in outs), name)
        rows = list(csv.DictReader((outs[0] / 'rankings.csv').read_text().splitlines()))
        self.assertEqual(len(rows), 6 * 2 * 3)
        self.assertEqual(rows[0], {'metric': 'antt', 'workload': 'a', 'policy': 'fcfs', 'value': '7.0', 'ci95': '0.1', 'rank': '3',
                                   'starved': '', 'bound': '', 'centre': '7.0'})

    def test_sweeps_and_folders_of_one_name_are_refused(self):
        swept = self.sweep(**{'policies.rr.params.quantum': ['1 ms', '2 ms']})
        with self.assertRaises(results.InputError):
            ranking.Workload(swept)
        (self.folder / 'x').mkdir()
        folders = [self.write('a', {'rr': (2, 0, 1, 1, 1, 1, 1, 1)}), self.write('x/a', {'rr': (2, 0, 1, 1, 1, 1, 1, 1)})]
        code, _, errors = finish(start('rankings.py', *folders, '--out', self.folder / 'out'))
        self.assertEqual(code, 2)
        self.assertEqual(errors, 'error: a: found two folders of that name, expected different names\n')
        self.assertFalse((self.folder / 'out').exists())


class Bars(Workloads):
    def test_names_of_many_policies_stand_upright_and_metrics_far_apart_are_logarithmic(self):
        rows = {f'policy-{n}': (1 + n * n, 0.1, 1, 2, 1, 1, 1, 1) for n in range(14)}
        antt, dntt, _ = bars.draw_metrics(results.read(self.write('many', rows))).axes
        self.assertEqual({label.get_rotation() for label in antt.get_xticklabels()}, {90})
        self.assertEqual((antt.get_yscale(), dntt.get_yscale()), ('log', 'linear'))


    def test_a_value_of_0_is_on_the_logarithmic_axis(self):
        rows = {'fcfs': (7, 0.1, 0, 2, 1, 1, 1, 1), 'sjf': (7, 0.1, 0.1, 2, 1, 1, 1, 1), 'srt': (7, 0.1, 4, 2, 1, 1, 1, 1)}
        figure = bars.draw_metrics(results.read(self.write('fair', rows)))
        figure.canvas.draw()
        dntt = figure.axes[1]
        self.assertEqual((dntt.get_yscale(), dntt.get_ylim()), ('symlog', (0, 6)))
        self.assertTrue(dntt.get_window_extent().y0 > 0 and all(math.isfinite(y) for line in dntt.lines for _, y in dntt.transData.transform(
            list(zip(*line.get_data())))))
        self.assertIn(0, dntt.get_yticks())


class Families(unittest.TestCase):
    def test_what_policies_decide(self):
        families = {'frs': 'ownership', 'rr-long': 'ownership', 'microkernel-rr-keep': 'slicing', 'timeslice': 'access',
                    'dfq': 'access', 'direct': 'native', 'native-timeslice': 'native', 'mine': 'other'}
        self.assertEqual({label: names.family(label) for label in families}, families)


class Fairness(Workloads):
    def test_a_workload_in_which_somebody_starves_under_all_has_an_empty_panel(self):
        starving = self.finite('starves', starving={'fcfs': 1, 'sjf': 1, 'srt': 3}.items())
        figure = fairness.draw([starving], 'all')
        self.assertIn('not shown, as clients starve', figure.axes[0].get_title())
        self.assertFalse(figure.axes[0].axison)
        style.pyplot.close(figure)

    def test_a_panel_for_each_workload_with_a_point_for_each_policy_that_serves_all(self):
        figure = fairness.draw([self.finite(), self.finite('starves', starving={'srt': 1}.items())], 'both')
        first, second = figure.axes
        self.assertEqual([sorted(text.get_text() for text in axes.texts) for axes in figure.axes],
                         [['fcfs', 'sjf', 'srt'], ['fcfs', 'sjf']])
        points = sorted((bar.lines[0].get_xdata()[0], bar.lines[0].get_ydata()[0]) for bar in first.containers)
        self.assertEqual(points, [(2, 4), (5, 0.6), (5.1, 0.4)])
        self.assertEqual(first.get_title(), 'FINITE')
        self.assertEqual(second.get_title(), 'STARVES\nnot shown, as clients starve: srt')
        self.assertGreater(*first.get_ylim())  # fairer above

    def test_a_policy_under_which_all_slow_down_alike_is_the_uppermost(self):
        rows = {'fcfs': (7, 0.1, 0, 2, 1, 1, 1, 1), 'sjf': (7, 0.1, 0.6, 3, 1, 1, 1, 1), 'srt': (7, 0.1, 4, 4, 1, 1, 1, 1)}
        figure = fairness.draw([self.read('fair', rows)], '')
        axes, = figure.axes
        height = {bar.lines[0].get_ydata()[0]: axes.transAxes.inverted().transform(axes.transData.transform((3, bar.lines[0].get_ydata()[0])))[1]
                  for bar in axes.containers}
        self.assertTrue(0 < height[4] < height[0.6] < height[0] < 1, height)
        self.assertTrue(all(0 < text.get_window_extent().y0 < figure.bbox.y1 for text in axes.texts))
        legend, = figure.legends
        self.assertLess(axes.get_window_extent().y1, legend.get_window_extent().y0)
        alike = fairness.draw([self.read('alike', {policy: (7, 0.1, 0, 2, 1, 1, 1, 1) for policy in ('fcfs', 'sjf')})], '')
        self.assertEqual([text.get_text() for text in alike.axes[0].texts], ['fcfs\nsjf'])

    def test_points_that_lie_on_each_other_share_a_name(self):
        row = (7, 0.1, 4, 2, 100e6, 0.6, 30e6, 0.9)
        figure = fairness.draw([self.read('same', {'fcfs': row, 'piv': row, 'srt': (1.7, 0.1, 0.4, 5.1, 1, 1, 1, 1)})], '')
        self.assertEqual(sorted(text.get_text() for text in figure.axes[0].texts), ['fcfs\npiv', 'srt'])

    def test_no_two_names_overlap_nor_any_a_point(self):
        figure, axes = style.pyplot.subplots(figsize=(4, 4))
        angles = [2 * math.pi * n / 18 for n in range(18)]
        places = {(math.cos(angle) / (1 + n % 3), math.sin(angle) / (1 + n % 3)): f'policy-{n}' for n, angle in enumerate(angles)}
        axes.set_xlim(-3, 3), axes.set_ylim(-3, 3)
        figure.canvas.draw()
        texts = label_places.write(axes, places, dict.fromkeys(places, 'black'))
        boxes = [text.get_window_extent() for text in texts.values()]
        for index, box in enumerate(boxes):
            self.assertFalse(any(box.overlaps(other) for other in boxes[:index]))
            self.assertFalse(any(box.contains(*axes.transData.transform(place)) for place in places))
            self.assertTrue(all(axes.get_window_extent().contains(*corner) for corner in box.corners()))


if __name__ == '__main__':
    unittest.main()
