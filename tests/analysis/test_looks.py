"""How policies look beside each other, and what is drawn of lines that lie on each other."""
import unittest
from dataclasses import replace

from in_a_folder import InAFolder  # (which adds the path of the modules below)
from gangway.drawing import names, results, style, sweep

QUANTUM = 'policies.rr.params.quantum'


class Policies(unittest.TestCase):
    def test_policies_that_meet_have_colours_of_their_own_while_there_are_enough(self):
        known = ['passthrough', 'microkernel-rr', 'piv', 'edf', 'stride', 'disengaged-timeslice', 'fcfs']
        of_chip = ['mps', 'processes', 'stream-priorities', 'streams', 'sjf', 'srt', 'rr', 'cfs', 'frs']
        for met in (known, of_chip, [*names.FAMILIES['ownership'], 'passthrough']):
            looks = style.styles(met)
            self.assertEqual(len({look.colour for look in looks.values()}), len(met), looks)
            self.assertEqual(len({look.marker for look in looks.values()}), len(met), looks)

    def test_a_policy_that_must_have_another_colour_keeps_the_rest_of_its_look(self):
        alone, beside = (style.styles(met)['microkernel-rr'] for met in (['microkernel-rr'], ['microkernel-rr', 'sjf']))
        self.assertNotEqual(alone.colour, beside.colour)
        self.assertEqual(replace(alone, colour=beside.colour), beside)


class Lines(InAFolder):
    def test_policies_whose_lines_lie_on_each_other_are_one_line(self):
        found = self.sweep(**{QUANTUM: ['0.5 ms', '1 ms', '2 ms']})
        rows = [row for row in found.summary if row.policy in ('rr', 'frs')]
        found = replace(found, summary=[*rows, *(replace(row, policy='rr-too') for row in rows if row.policy == 'rr')], published=[])
        page, = sweep.draw(found)
        self.assertEqual([text.get_text() for text in page.legends[0].get_texts()][:2], ['rr = rr-too', 'frs'])
        self.assertEqual([len(axes.lines) for axes in page.axes], [2] * len(page.axes))
        *others, last = found.summary  # which differs at one point
        page, = sweep.draw(replace(found, summary=[*others, replace(last, metrics={**last.metrics, 'antt': results.Measured(9, 0.1)})]))
        self.assertEqual([len(axes.lines) for axes in page.axes], [3] * len(page.axes))


if __name__ == '__main__':
    unittest.main()
