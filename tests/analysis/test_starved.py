"""Cells in which a client finished nothing, and unfinished jobs, as results.py reads them and report.py tells them."""
import math
import unittest

from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from gangway.drawing import bars
from gangway.drawing import client_sweep
from gangway.drawing.commands import report
from gangway.drawing import results
from gangway.drawing import sweep

SUMMARY = 'point,policy,antt,antt_ci95,dntt,dntt_ci95,stp,stp_ci95,evictions,jobs,unfinished,starved,percentiles'
CLIENTS = 'point,policy,client,ntt,ntt_ci95,standalone_ns,jobs,unfinished,starved_runs,percentiles'


class Starved(InAFolder):
    def write(self, summary, clients):
        (self.folder / 'summary.csv').write_text('\n'.join([SUMMARY, *summary, '']))
        (self.folder / 'clients.csv').write_text('\n'.join([CLIENTS, *clients, '']))
        return results.read(self.folder)

    def starving(self):
        return self.write(['0,piv,,,,,,,3,9,2,b|d,lower-bound', '0,rr,2,0.1,1,,3,,4,12,0,,exact'],
                          ['0,piv,a,2,,1000,9,0,0,exact', '0,piv,b,,,1000,0,2,1,', '0,rr,a,2,,1000,12,0,0,exact'])

    def test_a_starved_cell_has_names_instead_of_numbers(self):
        found = self.starving()
        piv, rr = found.summary
        self.assertEqual((piv.starved, piv.unfinished, piv.percentiles), (('b', 'd'), 2, 'lower-bound'))
        self.assertTrue(math.isnan(piv.metrics['antt'].mean))
        self.assertEqual((rr.starved, rr.unfinished, rr.percentiles), ((), 0, 'exact'))
        self.assertEqual(found.starved(0, 'piv'), ('b', 'd'))
        self.assertEqual((found.starved(0, 'rr'), found.starved(1, 'piv')), ((), ()))
        self.assertEqual([(row.unfinished, row.starved_runs, row.percentiles) for row in found.clients],
                         [(0, 0, 'exact'), (2, 1, ''), (0, 0, 'exact')])

    def test_the_report_names_them(self):
        text = report.text(self.starving())
        self.assertIn('1 of 2 starved', text)
        self.assertRegex(text, r'\| piv +\| starved +\| starved +\| starved +\| 2 +\| b, d +\|')
        self.assertRegex(text, r'\| rr +\| 2.00 ± 0.10 +\| 1.00 +\| 3.00 +\| +\| +\|')

    def test_where_all_is_well_the_report_has_no_such_columns(self):
        text = report.text(self.write(['0,rr,2,0.1,1,,3,,4,12,0,,exact'], ['0,rr,a,2,,1000,12,0,0,exact']))
        self.assertNotIn('starved', text)
        self.assertNotIn('unfinished', text)

    def bounded(self):
        (self.folder / 'published.csv').write_text('\n'.join([
            'figure,point,policy,client,metric,relation,published,measured,relative_error,class,group,verdict,note,bound',
            'f,0,rr,a,response_ns_p99,<,1100000000,999990126,-0.09,order,,miss,unfinished jobs of a,at least',
            'f,0,piv,,stp/rr,=,2,1.04,-0.48,tight,,miss,,at most', '']))
        (self.folder / 'summary.csv').write_text('\n'.join([
            SUMMARY + ',understated', '0,piv,12.7,,11.7,,1.04,,4,9,40,,lower-bound,a|b', '0,rr,31.4,0.1,18,,0.1,,4,12,20,,lower-bound,', '']))
        (self.folder / 'clients.csv').write_text('\n'.join([
            CLIENTS + ',lower_bounds', '0,piv,a,24,,1000,1,39,0,lower-bound,ntt|response_ns_mean', '0,piv,b,1,,1000,1,1,0,lower-bound,', '']))
        return results.read(self.folder)

    def test_bounds_say_so(self):
        found = self.bounded()
        piv, rr = found.summary
        self.assertEqual((piv.understated, rr.understated), (('a', 'b'), ()))
        self.assertEqual([piv.bound(metric) for metric in ('antt', 'stp', 'dntt', 'utilisation', 'p99_response_ns')],
                         ['at least', 'at most', 'rough', '', 'at least'])
        self.assertEqual([rr.bound(metric) for metric in ('antt', 'p99_response_ns')], ['', 'at least'])
        self.assertEqual([row.bounds for row in found.clients], [('ntt', 'response_ns_mean'), ()])
        text = report.text(found)
        self.assertRegex(text, r'\| piv +\| ≥ 12.70 +\| ~ 11.70 +\| ≤ 1.04 +\| 40 +\| a, b +\|')
        self.assertRegex(text, r'\| rr +\| 31.40 ± 0.10 +\|')
        self.assertIn('1 of 2 with bounds', text)
        self.assertIn(r'$\leq$ 1.04', report.tex(found))

    def test_published_times_have_a_unit_and_bounds_a_sign(self):
        text = report.text(self.bounded())
        self.assertRegex(text, r'\| < 1100 ms +\| ≥ 1000 ms +\| -9.0 % +\| order +\| miss +\|')
        self.assertRegex(text, r'\| 2.00 +\| ≤ 1.04 +\| -48.0 % ')

    def test_the_command_prints_it(self):
        self.starving()
        code, printed, errors = finish(start('report.py', self.folder))
        self.assertEqual((code, errors), (0, ''))
        self.assertIn('b, d', printed)

    def crosses(self, figure):
        """(x, colour) of each in each panel, and the legend's entries."""
        marks = [[(line.get_xdata()[0], line.get_color()) for line in axes.lines if line.get_marker() == 'x']
                 for axes in figure.axes]
        return marks, [text.get_text() for legend in figure.legends for text in legend.get_texts()]

    def test_figures_have_a_cross_where_a_cell_has_no_value(self):
        found = self.starving()
        policies = bars.names.in_order(['piv', 'rr'])
        marks, legend = self.crosses(bars.draw_metrics(found))
        self.assertEqual([[x for x, _ in panel] for panel in marks], [[policies.index('piv')]] * len(marks))
        self.assertIn('starved: a client finished no job', legend)
        marks, legend = self.crosses(bars.draw_clients(found))
        self.assertEqual([len(panel) for panel in marks], [1])
        self.assertIn('starved: a client finished no job', legend)

    def test_so_have_sweeps(self):
        summary = ['point,policy,workload.arrivals.gap,' + SUMMARY.split(',', 2)[2]]
        clients = [CLIENTS]
        for point, gap in enumerate(('1 ms', '2 ms', '3 ms')):
            for policy, starved in (('piv', point == 1), ('rr', False)):
                cells = ',,,,,,3,9,2,b,lower-bound' if starved else '2,,1,,3,,4,12,0,,exact'
                summary.append(f'{point},{policy},{gap},{cells}')
                clients += [f'{point},{policy},a,2,,1000,9,0,0,exact',
                            f'{point},{policy},b,' + (',,1000,0,2,1,' if starved else '2,,1000,9,0,0,exact')]
        (self.folder / 'summary.csv').write_text('\n'.join([*summary, '']))
        (self.folder / 'clients.csv').write_text('\n'.join([*clients, '']))
        found = results.read(self.folder)
        page, = sweep.draw(found)
        marks, legend = self.crosses(page)
        named = [axes.get_ylabel().split(' ')[0] for axes in page.axes]
        self.assertEqual({name: [x for x, _ in panel] for name, panel in zip(named, marks) if name in ('ANTT', 'DNTT', 'STP')},
                         {'ANTT': [2], 'DNTT': [2], 'STP': [2]})
        self.assertIn('starved: a client finished no job', legend)
        page, = client_sweep.draw(found)
        self.assertEqual([x for panel in self.crosses(page)[0] for x, _ in panel], [2])

    def test_metrics_that_are_no_averages_over_clients_have_their_value(self):
        self.starving()
        file = self.folder / 'summary.csv'
        head, *rows = file.read_text().splitlines()
        file.write_text('\n'.join([f'{head},utilisation,makespan_ns,jain', *(f'{row},0.5,2e6,{value}' for row, value in zip(rows, ('', 0.9))), '']))
        found = results.read(self.folder, ['utilisation', 'makespan_ns', 'jain'])
        self.assertRegex(report.text(found), r'\| piv +\| 0.50 +\| ≥ 2.00 +\| starved +\| 2 +\| b, d +\|')
        marks, legend = self.crosses(bars.draw_metrics(found))
        self.assertEqual([len(panel) for panel in marks], [0, 0, 1])
        self.assertIn('starved: a client finished no job', legend)
        self.assertNotIn('starved: a client finished no job', self.crosses(bars.draw_metrics(results.read(self.folder, ['utilisation'])))[1])

    def test_where_all_is_well_no_figure_has_one(self):
        found = self.write(['0,rr,2,0.1,1,,3,,4,12,0,,exact'], ['0,rr,a,2,,1000,12,0,0,exact'])
        for figure in (bars.draw_metrics(found), bars.draw_clients(found)):
            marks, legend = self.crosses(figure)
            self.assertEqual((sum(marks, []), [text for text in legend if 'starved' in text]), ([], []))


if __name__ == '__main__':
    unittest.main()
