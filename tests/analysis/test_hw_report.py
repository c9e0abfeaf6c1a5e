"""The page of ./dev hw, made from folders that were made up."""
import json
import unittest

from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from gangway.drawing.commands import hw_report
from gangway.drawing import results
import synthetic

# kernel -> time in ms, overhead, eviction delay in us
KERNELS = {'CEDD.GCEDD': (2, 1.0, 20), 'CEDD.SCEDD': (2, 1.0, 20), 'CEDD.NCEDD': (2, 1.0, 20), 'CEDD.HCEDD': (7, 1.21, 20), 'SPMV': (8, 1, 30),
           'VA': (4, 1, 24), 'CONV.RCONV': (2, 1, 9), 'CONV.CCONV': (1, 1, 9), 'BS': (2, 1, 9), 'PF': (2, 1, 9), 'MM': (1, 1.03, 40),
           'HST256': (1, 0.98, 19), 'RED': (1, 1, 17)}


def quantity(what, kernel, value, parameter=0, mechanism='flag-copy'):
    return {'quantity': what, 'mechanism': mechanism, 'kernel': kernel, 'parameter': parameter, 'count': 60,
            'median': {'value': value, 'low': value, 'high': value}, 'p99': 2 * value}


def calibration(kernels):
    quantities = [quantity('eviction beside its block-task', f'throttle-{length // 1000}us', 3.2 * length, length) for length in (10_000, 2_000)]
    for kernel, (time, overhead, delay) in kernels.items():
        quantities += [quantity('original', kernel, time * 1e6), quantity('transformed', kernel, time * overhead * 1e6),
                       quantity('eviction', kernel, delay * 1e3), quantity('block-task', kernel, 5e3)]
    forms = [{'kernel': kernel, 'block_tasks': 12345, 'threads': 256, 'original': {'registers': 30, 'shared_memory': 0, 'blocks_per_sm': 8},
              'transformed': {'registers': 32, 'shared_memory': 8, 'blocks_per_sm': 7}} for kernel in kernels]
    return {'kind': 'calibration', 'version': 1, 'device': 'h100', 'gpu': 'NVIDIA H100', 'driver': 'CUDA 13.0', 'gangway': '0.1.0', 'commit': 'abc',
            'command': 'gangway calibrate', 'useful': 0.9, 'unit': 'ns', 'kernels': forms, 'quantities': quantities, 'fits': []}


class Page(InAFolder):
    def calibrate(self, name='calibration-nine-applications', kernels=None, **more):
        (self.folder / name).mkdir()
        (self.folder / name / 'calibration.json').write_text(json.dumps({**calibration(kernels or KERNELS), **more}))

    def play(self, worlds=('sim', 'cuda')):
        for world in worlds:
            synthetic.write_bars(self.folder / 'frs-fig4' / world)

    def row(self, first, table=0):
        """The cells of the row that begins so, in the table of that number among those that have one."""
        lines = [[cell.strip() for cell in line.strip('|').split('|')] for line in hw_report.text(self.folder).splitlines()]
        return [cells[1:] for cells in lines if cells[0] == first][table]

    def test_an_empty_folder_says_so(self):
        self.assertIn('Nothing has been measured yet.', hw_report.text(self.folder))

    def test_tables_of_kernels_beside_the_papers(self):
        self.calibrate()
        self.assertEqual(self.row('CEDD'), ['4', '13.57', '13.00'])  # 2 + 2 + 2 + 7
        self.assertEqual(self.row('RED'), ['1', '0.87', '1.00'])
        self.assertEqual(self.row('RED', 1), ['1.00', '12,345', '256', '30 / 32', '0 / 8', '8 / 7'])
        self.assertEqual(self.row('HCEDD'), ['1.04', '1.210', '37.00', '20.00', '40.00', '5.00'])
        self.assertEqual(self.row('SPMV', 2), ['0.73', '1.000', '229', '30.00', '60.00', '5.00'])
        page = hw_report.text(self.folder)
        self.assertTrue(page.startswith('# Gangway on NVIDIA H100\n'))
        mean = (1.21 * 1.03 * 0.98) ** (1 / 13)
        self.assertIn(f'geometric mean {mean:.3f} (goal 1.00), worst 1.210', page)
        self.assertIn('not of these kernels but of a throttle kernel with block-tasks of 2.00 µs: '
                      'median 6.40 µs (goal 7), 99th percentile 12.80 µs (goal 25)', page)  # of the shortest block-tasks

    def test_the_expected_error_of_predictions_is_told(self):
        self.calibrate(expected_error={'pairs': 6, 'jobs': 144, 'ntt_p50': 0.0123, 'ntt_p90': 0.04, 'ntt_bias': -0.01})
        self.assertIn('NTT of single jobs 1.2 % (median), 4.0 % (90th percentile), by 144 jobs of 6 pairs', hw_report.text(self.folder))
        self.assertNotIn('for a while', hw_report.text(self.folder))

    def test_kernels_that_were_slow_for_a_while_are_told(self):
        self.calibrate(slower_for_a_while={'CCONV': 0.087, 'BS': 0.052})
        self.assertIn('longer for a while, which predictions leave out: BS (5 %), CCONV (9 %).', hw_report.text(self.folder))

    def test_other_kernels_have_no_paper_beside_them(self):
        self.calibrate(kernels={'VA': KERNELS['VA']})
        self.assertEqual(self.row('VA', 1), ['1.000', '24.00', '48.00', '5.00'])
        self.assertNotIn('FRS paper', hw_report.text(self.folder))

    def test_an_experiment_is_printed_predicted_and_measured(self):
        self.play(['cuda'])
        self.assertIn('Nothing', hw_report.text(self.folder))  # no prediction yet
        self.play(['sim'])
        self.assertEqual(self.row('frs')[0], '2.44')
        found = {row.policy: row.metrics for row in results.read(self.folder / 'frs-fig4' / 'cuda').summary}
        self.assertTrue(self.row('frs')[2].startswith(f'{found["frs"]["antt"].mean:.2f} ± '))
        self.assertEqual(self.row('frs')[3], '+0.0 %')
        self.assertEqual(len(self.row('RED')), 5)  # a client, under each policy

    def test_only_sets_whose_assumptions_held_are_near_their_bounds(self):
        (self.folder / 'bound').mkdir()
        for name, text in (('sets', 'set,form,jobs,assumptions,violated\n'
                                    '0,queue,10,held,no\n1,queue,20,block,yes\n2,round-robin,30,held,yes\n3,round-robin,40,held,no\n'),
                           ('tasks', 'set,ratio\n0,0.5\n0,0.7\n1,1.5\n2,1.25\n3,\n'),
                           ('assumptions', 'set,assumption,measured_ns,allowed_ns\n0,block,5,5\n1,block,6,5\n1,block,7,5\n1,head,1,2\n')):
            (self.folder / 'bound' / f'{name}.csv').write_text(text)
        self.assertEqual(self.row('queues'), ['2', '30', '1', '2', '0.50', '0.70', '0.70', '0.70', '0', '1'])
        self.assertEqual(self.row('round robin'), ['2', '70', '2', '1', '1.25', '1.25', '1.25', '1.25', '1', '0'])
        self.assertEqual(self.row('all'), ['4', '100', '3', '3', '0.70', '1.25', '1.25', '1.25', '1', '1'])
        self.assertIn('Assumptions that did not hold: `block` in 1 set.', hw_report.text(self.folder))

    def test_bounds_have_their_sign_and_no_error(self):
        self.play()
        folder = self.folder / 'frs-fig4' / 'cuda'
        for name, column, told in (('summary', 'understated', 'RED'), ('clients', 'lower_bounds', 'ntt')):
            head, *rows = (folder / f'{name}.csv').read_text().splitlines()
            (folder / f'{name}.csv').write_text('\n'.join([f'{head},{column}', *(f'{row},{told if ",frs," in row else ""}' for row in rows), '']))
        frs, srt = self.row('frs'), self.row('srt')
        self.assertTrue(frs[2].startswith('≥ ') and not srt[2].startswith('≥'), (frs, srt))
        self.assertEqual([frs[3], srt[3]], ['-', '+0.0 %'])
        self.assertEqual([sum('/ ≥ ' in cell for cell in self.row('RED')), sum(cell.startswith('≥') for cell in self.row('RED'))], [1, 0])

    def test_agreement_is_held_against_the_goals(self):
        self.play()
        group = {metric: {'relative_error': error} for metric, error in (('antt', -0.03), ('stp', 0.01), ('dntt', None))}
        told = {'ntt_error': {'jobs': 4500, 'p50': 0.004, 'p90': 0.062}, 'groups': [group]}
        file = self.folder / 'frs-fig4' / 'compare.json'
        file.write_text(json.dumps(told))
        self.assertIn('NTT of 4,500 single jobs is off by 0.4 % (median; goal 1 %), 6.2 % (90th percentile; goal 5 %); at worst ANTT by 3.0 % '
                      '(goal 2 %), STP by 1.0 % (goal 2 %), DNTT by - (goal 5 %).', hw_report.text(self.folder))
        clients = [{'response_ns_mean': {'relative_error': error}} for error in (0.01, -0.2, 0.03, 0.05, None)]
        told.update(clients=clients, rankings=[{'equal': True}, {'equal': False}])
        (file.parent / 'again.json').write_text(json.dumps(told))
        self.assertIn('single jobs differs from a second measurement by 0.4 % (median; goal 1 %), ', hw_report.text(self.folder))
        self.assertIn('the mean response of a client under a policy by 4.0 % (median; goal 2 %), 20.0 % at most (goal 8 %). '
                      'Equal rankings of the policies: 1 of 2.', hw_report.text(self.folder))
        file.write_text('{}')
        with self.assertRaisesRegex(results.InputError, 'compare.json: found KeyError'):
            hw_report.text(self.folder)

    def test_parts_rules_figures_and_late_rows(self):
        self.play()
        (self.folder / 'parts.csv').write_text('part,result,seconds\ntests,failed,12\ntests,done,40\n')
        (self.folder / 'rules.log').write_text('YA.R1 holds\n')
        (self.folder / 'rules.done').write_text('')
        (self.folder / 'frs-fig4' / 'compare-printed.png').write_text('')
        summary = self.folder / 'frs-fig4' / 'cuda' / 'summary.csv'
        lines = summary.read_text().splitlines()
        summary.write_text('\n'.join([lines[0] + ',too_late', *(line + (',yes' if ',srt,' in line else ',') for line in lines[1:])]) + '\n')
        page = hw_report.text(self.folder)
        self.assertEqual(self.row('tests'), ['done', '40'])
        self.assertIn('```\nYA.R1 holds\n```', page)
        self.assertIn('![compare-printed](frs-fig4/compare-printed.png)', page)
        self.assertIn('too late under srt:', page)

    def test_missed_values_are_told(self):
        self.play()
        file = self.folder / 'frs-fig4' / 'cuda' / 'published.csv'
        text = file.read_text()
        self.assertIn(',pass,', text)
        file.write_text(text.replace(',pass,', ',miss,', 1))
        self.assertRegex(hw_report.text(self.folder), r'\n- missed: fig4, \w+ under \w+: measured [\d.]+, printed [\d.]+')

    def test_as_a_command(self):
        self.calibrate()
        self.assertEqual(finish(start('hw_report.py', self.folder)), (0, f'{self.folder / "report.md"}\n', ''))
        self.assertEqual((self.folder / 'report.md').read_text(), hw_report.text(self.folder))
        (self.folder / 'calibration-nine-applications' / 'calibration.json').write_text('{"kind": "calibration"}')
        code, out, errors = finish(start('hw_report.py', self.folder))
        self.assertEqual((code, out), (2, ''))
        self.assertRegex(errors, r"\Aerror: [^\n]*calibration.json: found KeyError 'gpu', expected [^\n]*\n\Z")
        self.assertEqual(finish(start('hw_report.py', self.folder / 'none'))[0], 2)


if __name__ == '__main__':
    unittest.main()
