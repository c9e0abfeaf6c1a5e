"""The figures of folders whose policies move memory."""
import math
import unittest

from in_a_folder import InAFolder  # (which adds the path of the modules below)
from test_bounds import marks
from gangway.drawing import microkernels
from gangway.drawing import results

SUMMARY = 'point,policy{swept},antt,antt_ci95,dntt,dntt_ci95,stp,stp_ci95,evictions\n'
CLIENTS = 'point,policy,client,ntt,ntt_ci95,standalone_ns,slice_share,slices_in_a_row\n'
JOBS = 'point,policy,replication,permutation,client,job,standalone_ns,response_ns,launches\n'


class Microkernels(InAFolder):
    def read(self, clients, swept=(), path='policies.p.params.slice', more=''):
        name = f',{path}' if swept else ''
        rows = [f'{point},p,{value},2,,0,,1,,0\n' for point, value in enumerate(swept)] or ['0,p,2,,0,,1,,0\n', '0,q,2,,0,,1,,0\n']
        (self.folder / 'summary.csv').write_text(SUMMARY.format(swept=name) + ''.join(rows))
        (self.folder / 'clients.csv').write_text(CLIENTS.replace('\n', f'{more}\n') + ''.join(clients))
        return results.read(self.folder)

    def figures(self, found, launches=None):
        return {name: draw()[0] for name, draw in microkernels.kinds(found, launches or {})}

    def test_a_sweep_shows_shares_and_slices_in_a_row(self):
        found = self.read([f'{point},p,{client},2,,1000,{share},{row}\n' for point, client, share, row in (
            (0, 'A', 0.5, 1), (0, 'B', 0.5, 1), (1, 'A', 0.75, 3), (1, 'B', 0.25, 1))], ('1000 ms', '500 ms'))
        self.assertTrue(microkernels.applies(found))
        figure = self.figures(found)['slices']
        heights = [[bar.get_height() for bar in axes.patches] for axes in figure.axes]
        self.assertEqual(heights, [[50, 75, 50, 25], [1, 3, 1, 1]])
        self.assertEqual([label.get_text() for label in figure.axes[0].get_xticklabels()], ['1000 ms', '500 ms'])

    def test_long_sweeps_are_lines(self):
        swept = [f'{n}00 ms' for n in range(1, 8)]
        found = self.read([f'{point},p,{client},2,,1000,0.5,{point}\n' for point in range(7) for client in 'AB'], swept)
        figure = self.figures(found)['slices']
        line, _ = figure.axes[1].lines
        self.assertEqual(list(line.get_xdata()), [100, 200, 300, 400, 500, 600, 700])
        self.assertEqual(list(line.get_ydata()), list(range(7)))

    def test_no_shares_of_who_is_alone_nor_on_several_gpus(self):
        rows = [f'{point},p,{client},2,,1000,0.5,1\n' for point in range(2) for client in 'AB']
        self.assertIn('slices', self.figures(self.read(rows, ('1', '2'), 'device.channels')))
        self.assertEqual(self.figures(self.read(rows, ('1', '2'), 'device.gpus')), {})
        self.assertEqual(self.figures(self.read(rows[::2], ('1', '2'), 'device.channels')), {})
        self.assertEqual(self.figures(self.read(rows[::3], ('A', 'B'), 'clients')), {})

    def test_without_a_sweep_overheads_and_what_each_launch_costs(self):
        found = self.read([f'0,{policy},{client},{ntt},,1000,,\n' for policy, client, ntt in (
            ('p', 'A', 1.02), ('p', 'B', 1.04), ('q', 'A', 1.01), ('q', 'B', 1.02))])
        (self.folder / 'jobs.csv').write_text(JOBS + ''.join(
            f'0,{policy},0,{run},{client},0,1000000,{response},{count}\n' for policy, client, run, response, count in (
                ('p', 'A', 0, 3000000, 1), ('p', 'A', 1, 5000000, 2), ('p', 'B', 0, 1500000, 5), ('q', 'A', 0, 2000000, 4),
                ('q', 'B', 0, 4000000, 3), ('q', 'B', 1, '', 7))))
        launches = results.read_launches(self.folder)
        self.assertEqual(launches, {('p', 'A'): 2, ('p', 'B'): 0.1, ('q', 'A'): 0.25, ('q', 'B'): 1})
        bars, marks = self.figures(found, launches)['overheads'].axes
        self.assertEqual([round(bar.get_height(), 9) for bar in bars.patches], [2, 4, 1, 2])
        self.assertEqual([list(line.get_ydata()) for line in marks.lines], [[2, 0.1], [0.25, 1]])

    def unsure(self, ntts):
        """The figure where B starved under p, and the NTT of A under q is a lower bound."""
        found = self.read([f'0,{policy},{client},{ntt},,1000,,,{unfinished},{int(not ntt)},{"ntt" if unfinished and ntt else ""}\n'
                           for (policy, client), (ntt, unfinished) in ntts.items()], more=',unfinished,starved_runs,lower_bounds')
        return self.figures(found, {('p', 'A'): 2, ('q', 'A'): 0.25, ('q', 'B'): 1})['overheads']

    def test_who_starved_has_a_cross_and_who_is_understated_a_mark(self):
        figure = self.unsure({('p', 'A'): (1.02, 0), ('p', 'B'): ('', 1), ('q', 'A'): (1.01, 2), ('q', 'B'): (1.02, 0)})
        axes, launches = figure.axes
        heights = [bar.get_height() for bar in axes.patches]
        self.assertEqual([round(height, 9) for height in heights if not math.isnan(height)], [2, 1, 2])
        self.assertEqual([round(line.get_xdata()[0], 2) for line in axes.lines if line.get_marker() == 'x'], [0.8])
        self.assertEqual([[value for value in line.get_ydata() if not math.isnan(value)] for line in launches.lines], [[2], [0.25, 1]])
        (x, y, kind), = marks(axes)
        self.assertTrue(0 < x < 0.2, 'left of the middle of its bar')
        self.assertEqual((round(y, 9), kind), (1, 'up'))
        legend = [text.get_text() for text in figure.legends[0].get_texts()]
        self.assertEqual(legend[2:], ['p, each launch of finished jobs', 'q, each launch of finished jobs', 'at least: unfinished jobs',
                                      'starved: a client finished no job'])

    def test_where_all_others_starved_likewise(self):
        figure = self.unsure({('p', 'A'): ('', 1), ('p', 'B'): ('', 1), ('q', 'A'): ('', 2), ('q', 'B'): ('', 1)})
        self.assertEqual(len([line for line in figure.axes[0].lines if line.get_marker() == 'x']), 4)

    def test_other_folders_have_neither(self):
        (self.folder / 'summary.csv').write_text(SUMMARY.format(swept='') + '0,rr,2,,0,,1,,0\n')
        (self.folder / 'clients.csv').write_text('point,policy,client,ntt,ntt_ci95,standalone_ns\n0,rr,A,2,,1000\n')
        self.assertFalse(microkernels.applies(results.read(self.folder)))


if __name__ == '__main__':
    unittest.main()
