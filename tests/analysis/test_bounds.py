"""Values that unfinished jobs make bounds: marked in every figure that shows them, ranked as they stand."""
import json
import math
import unittest

from in_a_folder import InAFolder  # (which adds the path of the modules below)
from gangway import page
from gangway.drawing import bars, client_sweep, fairness, family, heat_map, ranking, results, service_agreement, services, style, sweep
from matplotlib.path import Path

SUMMARY = ('antt,antt_ci95,dntt,dntt_ci95,stp,stp_ci95,makespan_ns,evictions,jain,p99_response_ns,concurrency_efficiency,'
           'starved,percentiles,p99_response_ns_most,understated')
CLIENTS = 'client,ntt,ntt_ci95,standalone_ns,jobs,unfinished,starved_runs,percentiles,lower_bounds'
SERVICES = ('client,jobs,starved_runs,' + ','.join(f'latency_ns_{p}' for p in ('p50', 'p90', 'p95', 'p99', 'p999'))
            + ',lower_bounds,latency_ns_p99_most,slo_ns,attainment,throughput_per_s')
MARKS = {style.UP: 'up', style.DOWN: 'down', style.LEFT: 'left', style.RIGHT: 'right'}
WORDS = ['at least: unfinished jobs', 'at most: unfinished jobs', 'could be more or less: unfinished jobs']
GAPS = ['1 ms', '2 ms', '4 ms']


def marks(axes):
    """(x, y, where it points, or 'wave') of each mark of a bound. Other markers are letters; those of policies are not looked at."""
    shown = []
    for line in axes.lines:
        kind = MARKS.get(line.get_marker(), 'wave') if isinstance(line.get_marker(), Path) else None
        if kind and line.get_linestyle() == 'None':
            shown += [(*place, kind) for place in zip(*line.get_data())]
    return shown


def legend(figure):
    return [text.get_text() for found in figure.legends for text in found.get_texts() if 'unfinished' in text.get_text()]


class WithBounds(InAFolder):
    def write(self, understated=(), points=((),), swept='', policies=('piv', 'rr'), percentiles='exact', most='', ntts=(2, 4)):
        """A folder of clients a and b, whose NTTs are `ntts` under each policy. understated: (point, policy) in which b is. points: cells
        of the swept paths."""
        head = f'point,policy,{swept}'
        summary, clients, table = [head + SUMMARY], [head + CLIENTS], [head + SERVICES]
        for point, cells in enumerate(points):
            for policy in policies:
                key = ','.join([str(point), policy, *cells])
                bound = (point, policy) in understated
                summary.append(f'{key},3,,1,,0.75,,1000,4,0.5,1000000,0.75,,{percentiles},{most},{"b" if bound else ""}')
                for client, ntt in zip('ab', ntts):
                    low = bound and client == 'b'
                    clients.append(f'{key},{client},{ntt},,1000,9,0,0,exact,{"ntt" if low else ""}')
                    table.append(f'{key},{client},9,0,2e6,2e6,2e6,8e6,9e6,{"p50|p99" if low else ""},{most},5000000,0.5,10')
        for name, lines in (('summary', summary), ('clients', clients), ('services', table)):
            (self.folder / f'{name}.csv').write_text('\n'.join([*lines, '']))
        (self.folder / 'manifest.json').write_text(json.dumps({'configuration': {'title': 'T', 'policies': list(policies)}}))
        return results.read(self.folder)

    def swept(self, understated=((1, 'piv'),), **more):
        return self.write(understated, [(gap,) for gap in GAPS], 'gap,', **more)


class Figures(WithBounds):
    def test_bars_have_marks_above_them(self):
        figure = bars.draw_metrics(self.write([(0, 'piv')]))
        at = bars.names.in_order(['piv', 'rr']).index('piv')
        antt, dntt, stp = map(marks, figure.axes)
        self.assertEqual((antt, dntt, stp), ([(at, 3, 'up')], [(at, 1, 'wave')], [(at, 0.75, 'down')]))
        self.assertEqual(legend(figure), WORDS)
        figure = bars.draw_clients(self.write([(0, 'piv')]))
        (x, y, kind), = marks(figure.axes[0])
        self.assertEqual((round(x), y, kind, legend(figure)), (1, 4, 'up', WORDS[:1]))

    def test_marks_leave_the_limits_of_axes_as_they_are(self):
        limits = [[axes.get_ylim() for axes in bars.draw_metrics(self.write(understated)).axes] for understated in ([(0, 'piv')], [])]
        self.assertEqual(*limits)

    def test_lines_of_a_sweep_have_marks_at_their_points(self):
        figure, = sweep.draw(self.swept())
        self.assertEqual([marks(axes) for axes in figure.axes], [[(2, 3, 'up')], [(2, 1, 'wave')], [(2, 0.75, 'down')]])
        self.assertEqual(legend(figure), WORDS)

    def test_bars_of_a_sweep_likewise(self):
        found = self.write([(1, 'piv')], [(name,) for name in ('proxy', 'slice')], 'mechanism.name,')
        figure, = sweep.draw(found)
        self.assertEqual([(round(x), y, kind) for axes in figure.axes for x, y, kind in marks(axes)],
                         [(1, 3, 'up'), (1, 1, 'wave'), (1, 0.75, 'down')])

    def test_so_have_families_of_lines(self):
        points = [(gap, size) for gap in GAPS for size in ('1 KiB', '2 KiB')]
        figure = family.draw(self.write([(1, 'rr')], points, 'gap,size,', policies=('rr',)))
        self.assertEqual([marks(axes) for axes in figure.axes], [[(1, 3, 'up')], [(1, 1, 'wave')], [(1, 0.75, 'down')]])
        self.assertEqual(legend(figure), WORDS)

    def test_clients_of_a_sweep(self):
        figure, = client_sweep.draw(self.swept())
        self.assertEqual([marks(axes) for axes in figure.axes if axes.get_title() == 'piv'], [[(2, 4, 'up')]])
        self.assertEqual([marks(axes) for axes in figure.axes if axes.get_title() == 'rr'], [[]])
        self.assertEqual(legend(figure), WORDS[:1])

    def test_cells_of_a_heat_map(self):
        points = [(gap, size) for gap in GAPS for size in ('1 KiB', '2 KiB')]
        figure, = heat_map.draw(self.write([(3, 'rr')], points, 'gap,size,', policies=('rr',)))
        self.assertEqual([marks(axes) for axes in figure.axes if axes.images], [[(1, 1, 'up')], [(1, 1, 'wave')], [(1, 1, 'down')]])
        self.assertEqual(legend(figure), WORDS)

    def test_fairness_has_them_beside_stp_and_above_dntt(self):
        figure = fairness.draw([ranking.Workload(self.write([(0, 'piv')]))], 'T')
        self.assertEqual(sorted(marks(figure.axes[0])), [(0.75, 1, 'left'), (0.75, 1, 'wave')])
        self.assertEqual(legend(figure), WORDS[1:])

    def test_latencies_of_two_results(self):
        one, other = self.write([(0, 'piv')]), self.write()
        figure = service_agreement.draw(one, other, 0)
        self.assertEqual([kind for axes in figure.axes for *_, kind in marks(axes)], ['right', 'right'])
        self.assertEqual(legend(figure), WORDS[:1])

    def test_without_bounds_nothing_is_marked(self):
        points = [(gap, size) for gap in GAPS for size in ('1 KiB', '2 KiB')]
        drawn = [bars.draw_metrics(self.write()), bars.draw_clients(self.write()), *sweep.draw(self.swept(())), *client_sweep.draw(self.swept(())),
                 *heat_map.draw(self.write((), points, 'gap,size,')), fairness.draw([ranking.Workload(self.write())], 'T'),
                 service_agreement.draw(self.write(), self.write(), 0), *services.draw_latency(self.swept(()))]
        self.assertEqual([(marks(axes), legend(figure)) for figure in drawn for axes in figure.axes if marks(axes) or legend(figure)], [])

    def test_no_mark_is_the_marker_of_a_policy(self):
        of_policies = {look.marker for look in (*style._POLICIES.values(), *style._SPARE)}
        self.assertEqual({type(marker) for marks in style._MARKS.values() for marker, _, _ in marks.values()}, {Path})
        self.assertTrue(of_policies.isdisjoint(MARKS))
        for arrow, tip in ((style.UP, (0, 1)), (style.DOWN, (0, -1)), (style.LEFT, (-1, 0)), (style.RIGHT, (1, 0))):
            stem, head = arrow.vertices[:2].tolist(), arrow.vertices[2:].tolist()
            self.assertEqual((stem, head[1]), ([[-tip[0], -tip[1]], [*tip]], [*tip]))

    def test_where_a_client_starved_there_is_no_value_to_mark(self):
        _, axes = style.pyplot.subplots()
        style.mark_bounds(axes, [(0, math.nan, 'at least'), (1, 2, '')])
        self.assertEqual(list(axes.lines), [])


class Percentiles(WithBounds):
    """p99 is 1 ms over all jobs, 8 ms of each service."""

    def test_a_p99_whose_largest_value_hardly_differs_counts_as_exact(self):
        for most, bound in (('1009000', ''), ('1011000', 'at least'), ('', 'at least')):
            found = self.write(percentiles='lower-bound', most=most)
            self.assertEqual(found.summary[0].bound('p99_response_ns'), bound, most)
            self.assertEqual(found.summary[0].bound('p50_response_ns'), 'at least')

    def test_so_it_does_of_services(self):
        for most, bounds in (('8070000', ('p50',)), ('8090000', ('p50', 'p99')), ('', ('p50', 'p99'))):
            self.assertEqual(self.write([(0, 'piv')], most=most).services[1].bounds, bounds, most)

    def test_rankings_have_no_sign_for_it(self):
        for most, sign, bound in (('1009000', '', ''), ('1011000', '≥', 'at least')):
            workload = ranking.Workload(self.write(percentiles='lower-bound', most=most))
            table = next(table for table in ranking.tables([workload]) if table.metric.name == 'p99')
            self.assertIn(f'| rr | {sign}1.00 **1** |', ranking.markdown([table]))
            self.assertEqual({row[-2] for row in ranking.csv_rows([table])}, {'bound', bound})


class Rankings(WithBounds):
    SAID = 'Values that unfinished jobs make bounds (≥, ≤, ~) are ranked as they stand, so real ranks may differ.'

    def test_the_page_says_how_bounds_are_ranked(self):
        for understated, times in (([(0, 'piv')], 1), ([], 0)):
            page = ranking.markdown(ranking.tables([ranking.Workload(self.write(understated))]))
            self.assertEqual(page.count(self.SAID), times)


class PageOfDifferences(unittest.TestCase):
    def test_bounds_are_marked(self):
        row = {'point': 0, 'policy': 'rr', 'client': None, 'metric': 'p99_response_ns', 'a': {'mean': 9e6, 'is': 'at least'}, 'b': {'mean': 2e6, 'is': ''},
               'difference': -7e6, 'low': -8e6, 'high': -6e6, 'p': 0.01, 'p_holm': 0.01, 'at_least': True, 'finding': 'significant', 'words': ''}
        self.assertEqual(page._difference(row)[3:6], ['≥ 9', '2', '≤ -7'])
        row |= {'difference': 7e6, 'at_least': True, 'b': {'mean': None, 'is': ''}}
        self.assertEqual(page._difference(row)[3:6], ['≥ 9', '-', '≥ 7'])
        self.assertEqual(page._difference(row | {'difference': None, 'at_least': False})[5], '-')


class Makespans(unittest.TestCase):
    def test_one_of_a_run_that_was_cut_off_is_a_bound_whoever_is_understated(self):
        for unfinished, understated, starved, expected in ((0, (), (), ''), (3, (), (), 'at least'), (3, ('a',), (), 'at least'),
                                                           (3, (), ('a',), 'at least')):
            row = results.Summary(0, 'rr', (), {}, 0.0, 1.0, 1e6, 1e6, starved, unfinished, 'exact', understated)
            self.assertEqual(row.bound('makespan_ns'), expected)


if __name__ == '__main__':
    unittest.main()
