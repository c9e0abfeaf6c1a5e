"""The table of printed values: counted from published.csv, put into a page, and held against it."""
import unittest

import synthetic
from in_a_folder import InAFolder, finish, start

PAGE = 'before\n<!-- made by ./dev printed -->\nold\n<!-- end -->\nafter\n'


class Printed(InAFolder):
    def folders(self, verdicts, *names):
        """One result folder for each name PAPER/EXPERIMENT, with published values of these verdicts."""
        kinds = {'pass': 'moderate', 'miss': 'moderate', 'input': 'input', 'shown': 'open'}
        rows = [['f', 0, 'dfq', '', 'antt', '=', 1, 1, 0, kinds[verdict], '', verdict] for verdict in verdicts]
        for name in names:
            synthetic.write_loops(self.folder / name, {'A': 1, 'B': 2}, rows)
        return [self.folder / name for name in names]

    def command(self, folders, *options):
        return finish(start('printed.py', *folders, *options))

    def test_counts_by_experiment_and_in_all(self):
        folders = self.folders(['pass', 'miss', 'input', 'shown', 'pass'], 'neon/fig10', 'neon/fig9', 'frs/fig4')
        folders += self.folders([], 'frs/sweep') + self.folders(['pass'], 'mine/fig1')  # nothing printed; no paper of ours
        code, out, errors = self.command(folders)
        self.assertEqual((code, errors), (0, ''))
        lines = out.splitlines()[2:]
        self.assertEqual([line.split(' | ')[2] for line in lines[:-1]], ['`frs/fig4.yaml`', '`neon/fig9.yaml`', '`neon/fig10.yaml`'])
        self.assertEqual([line.split(' | ')[0] for line in lines[:-1]],
                         ['| [FRS](frs/README.md)', '| [NEON](neon/README.md)', '| '])
        self.assertEqual({line.split(' | ', 3)[3] for line in lines[:-1]}, {'2 | 1 | 1 | 1 |'})
        self.assertEqual(lines[-1], '| all | | | 6 | 3 | 3 | 3 |')

    def test_the_page_is_written_and_then_held_against_the_results(self):
        folders, page = self.folders(['pass'], 'frs/fig4'), self.folder / 'page.md'
        page.write_text(PAGE)
        code, _, errors = self.command(folders, '--page', page)
        self.assertEqual(code, 2)
        self.assertIn('differs from the results, expected ./dev printed', errors)
        self.assertEqual(page.read_text(), PAGE)
        self.assertEqual(self.command(folders, '--page', page, '--write')[0], 0)
        self.assertEqual(page.read_text(), PAGE.replace('old\n', self.command(folders)[1]))
        self.assertEqual(self.command(folders, '--page', page)[0], 0)
        self.folders(['miss'], 'frs/fig4')
        self.assertEqual(self.command(folders, '--page', page)[0], 2)

    def test_a_page_without_a_place_for_it_is_refused(self):
        page = self.folder / 'page.md'
        page.write_text('no table')
        code, _, errors = self.command(self.folders(['pass'], 'frs/fig4'), '--page', page, '--write')
        self.assertEqual((code, page.read_text()), (2, 'no table'))
        self.assertIn('found no place for the table', errors)


if __name__ == '__main__':
    unittest.main()
