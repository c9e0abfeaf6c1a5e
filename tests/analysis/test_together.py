"""Paths that a sweep varies together are one swept parameter in figures."""
import csv
import json
import unittest

from in_a_folder import InAFolder  # (which adds the path of the modules below)
from gangway.drawing import results
from gangway.drawing import sweep
from gangway.drawing import together

QUANTUM, GAP, NAME = 'policies.rr.params.quantum', 'workload.arrivals.gap', 'mechanism.name'


def one_of_each(rows, *groups):
    given = groups[0] if len(groups) == 1 else list(groups)
    found = together.OneOfEach(tuple('abcd'[:len(rows[0])]), rows, {'sweep': {'together': given}})
    return found.paths, [found.texts(row) for row in rows]


class OneOfEach(unittest.TestCase):
    def test_the_first_quantity_that_tells_values_apart_stands_for_all(self):
        rows = [('x', '1 ms', '1'), ('y', '2 ms', '1'), ('z', '3 ms', '2')]
        self.assertEqual(one_of_each(rows, {'a': [], 'b': [], 'c': []}), (('b',), [('1 ms',), ('2 ms',), ('3 ms',)]))

    def test_names_where_there_is_no_quantity(self):
        self.assertEqual(one_of_each([('1', 'x'), ('1', 'y')], {'a': [], 'b': []}), (('b',), [('x',), ('y',)]))

    def test_all_of_them_where_none_tells_values_apart(self):
        rows = [('1', '1', 'p'), ('1', '2', 'p'), ('2', '1', 'p')]
        self.assertEqual(one_of_each(rows, {'a': [], 'b': []}),
                         (('a and b', 'c'), [('1, 1', 'p'), ('1, 2', 'p'), ('2, 1', 'p')]))

    def test_several_groups_and_what_is_in_none(self):
        rows = [(a, b, c, d) for a, b in ('12', '34') for c, d in ('56', '78')]
        self.assertEqual(one_of_each(rows, {'a': [], 'c': []})[0], ('a and c', 'b', 'd'))
        self.assertEqual(one_of_each(rows, {'a': [], 'b': []}, {'c': [], 'd': []}), (('a', 'c'), [(row[0], row[2]) for row in rows]))

    def test_nothing_varies_together(self):
        for configuration in ({}, {'sweep': None}, {'sweep': {'a': [1]}}, {'sweep': {'together': 3}}):
            self.assertEqual(together.OneOfEach(('a', 'b'), [('1', '2')], configuration).paths, ('a', 'b'))


class Figures(InAFolder):
    def test_the_sweep_has_one_axis_and_no_panels_for_the_other_path(self):
        folder = self.sweep(**{QUANTUM: ['0.5 ms', '1 ms', '2 ms']}).path
        with open(folder / 'summary.csv', newline='') as file:
            head, *rows = csv.reader(file)
        place = head.index(QUANTUM) + 1
        gaps = {'0.5 ms': '3 us', '1 ms': '2 us', '2 ms': '1 us'}
        with open(folder / 'summary.csv', 'w', newline='') as file:
            csv.writer(file).writerows([[*head[:place], GAP, *head[place:]],
                                        *([*row[:place], gaps[row[place - 1]], *row[place:]] for row in rows)])
        self.assertEqual(self.panels(folder), 12, 'a column for each gap')
        manifest = json.loads((folder / 'manifest.json').read_text())
        manifest['configuration']['sweep'] = {'together': {QUANTUM: list(gaps), GAP: list(gaps.values())}}
        (folder / 'manifest.json').write_text(json.dumps(manifest))
        found = results.read(folder)
        self.assertEqual(found.swept, (QUANTUM,))
        self.assertEqual({row.swept for row in found.summary}, {('0.5 ms',), ('1 ms',), ('2 ms',)})
        self.assertEqual(self.panels(folder), 4)

    def panels(self, folder):
        page, = sweep.draw(results.read(folder))
        return sum(axes.has_data() for axes in page.axes)


if __name__ == '__main__':
    unittest.main()
