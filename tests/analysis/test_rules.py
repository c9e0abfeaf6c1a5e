"""Which rules hold, told from synthetic block block_times."""
import csv
import json
import sys
import tempfile
import unittest
from pathlib import Path

_ANALYSIS = Path(__file__).resolve().parents[2] / 'analysis'
sys.path.insert(0, str(_ANALYSIS))

from gangway.drawing import block_times  # noqa: E402  (the path comes first)
from gangway.drawing import findings  # noqa: E402
from gangway.drawing.commands import rules  # noqa: E402
from gangway.drawing.results import InputError  # noqa: E402
from gangway.drawing.block_times import Span, Timeline  # noqa: E402

A, B = ('a', 0, 'k'), ('b', 0, 'k')


def timeline(shift=0, **begins):
    """A timeline in us: of each client one block of 100 us at each of these times."""
    made = Timeline()
    for client, times in begins.items():
        for sm, time in enumerate(times):
            begin = round((time + shift) * 1000)
            made.add((client, 0, 'k'), Span(sm, 1, begin, begin + 100_000))
    return made.sort()


def experiment(measured, with_rule, without=None, name='e'):
    predicted = {0: with_rule, **({1: without} if without else {})}
    swept = ('device.rules.RTSS17.X1',) if without else ()
    return rules.Experiment(name, swept, {0: ('true',), 1: ('false',)}, predicted, measured, [])


def verdict(*arguments):
    return rules.judge(experiment(*arguments))[0]


class Verdicts(unittest.TestCase):
    HELD, NOT_HELD = timeline(a=[0], b=[100]), timeline(a=[0], b=[20])

    def test_a_rule_holds_where_only_the_prediction_with_it_fits(self):
        found = verdict([timeline(7.5, a=[0], b=[102])], self.HELD, self.NOT_HELD)
        self.assertEqual((found.subject, found.holds), ('RTSS17.X1', 'holds'))
        self.assertEqual(found.with_rule.starts, [0, 2000])  # aligned by the first block
        self.assertEqual(found.without.starts, [0, 82_000])

    def test_a_rule_does_not_hold_where_only_the_prediction_without_it_fits(self):
        self.assertEqual(verdict([timeline(a=[0], b=[21])], self.HELD, self.NOT_HELD).holds, 'does not hold')

    def test_what_fits_neither_is_not_as_modelled(self):
        self.assertEqual(verdict([timeline(a=[0], b=[60])], self.HELD, self.NOT_HELD).holds, 'not as modelled')

    def test_what_fits_both_shows_nothing(self):
        self.assertEqual(verdict([timeline(a=[0], b=[100])], self.HELD, self.HELD).holds, 'not shown')

    def test_an_experiment_without_a_rule_is_as_modelled_or_not(self):
        self.assertEqual(verdict([timeline(a=[0], b=[100])], self.HELD).holds, 'as modelled')
        self.assertEqual(verdict([timeline(a=[0], b=[110])], self.HELD).holds, 'not as modelled')

    def test_the_tolerance_is_3_us_and_then_2_percent(self):
        for at, late, good in ((100, 3, True), (100, 3.1, False), (1000, 20, True), (1000, 20.1, False)):
            fit = rules.compare(timeline(a=[0], b=[at]), timeline(a=[0], b=[at + late]))
            starts_outside = 0 if good else 1
            ends_outside = 0 if late <= max(3, 0.02 * (at + 100)) else 1
            self.assertEqual(fit.outside, (starts_outside + ends_outside) / 4, (at, late))

    def test_other_blocks_are_refused(self):
        with self.assertRaises(InputError):
            verdict([timeline(a=[0, 0], b=[100])], self.HELD)


class Findings(unittest.TestCase):
    def test_turnovers_are_between_blocks_of_one_place(self):
        made = Timeline()
        for sm, begin, end in ((0, 0, 10), (0, 1, 12), (0, 13, 20), (0, 14, 22), (1, 0, 10), (1, 15, 20)):
            made.add(A, Span(sm, 1, begin, end))
        self.assertEqual(sorted(findings.turnovers(made.sort(), A)), [2, 3, 5])

    def test_most_kernels_at_once(self):
        self.assertEqual(findings.most_at_once(timeline(a=[0], b=[50], c=[99], d=[100])), 3)

    def test_streams_that_share_a_channel(self):
        made = timeline(late=[402], early=[3])
        made.add(('first', 0, 'k1'), Span(0, 1, 0, 400_000))
        self.assertEqual(findings.sharing(made), {'late': 'first', 'early': None})

    def test_gaps_in_a_stream(self):
        made = Timeline()
        for kernel, begin, end in (('k1', 0, 10), ('k2', 12, 20), ('k3', 25, 30)):
            made.add(('a', 0, kernel), Span(0, 1, begin, end))
        self.assertEqual(findings.gaps_in_streams(made, 'a'), [('k1', 'k2', 2), ('k2', 'k3', 5)])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write_trace(self, folder, begin, uncertainty=None):
        (folder / 'trace').mkdir(parents=True)
        block = {'client': 'a', 'job': 0, 'kernel': 'k', 'launch': 1, 'sm': 3, 'blocks': 2, 'threads': 64, 'waves': 2}
        events = [{'ph': 'M', 'name': 'thread_name', 'pid': 1, 'tid': 1, 'args': {'name': 'a'}},
                  {'ph': 'M', 'name': 'thread_name', 'pid': 2, 'tid': 3, 'args': {'name': 'copy h2d'}},
                  {'ph': 'i', 's': 't', 'name': 'arrived', 'pid': 1, 'tid': 1, 'ts': 0.5, 'args': {'job': 0}},
                  {'ph': 'X', 'name': 'a', 'pid': 2, 'tid': 3, 'ts': 1.0, 'dur': 2.5, 'args': {'job': 0}},
                  {'ph': 'X', 'name': 'a k', 'pid': 3, 'tid': 12289, 'ts': begin, 'dur': 20.0, 'args': block}]
        other = {'policy': 'passthrough', **({'clock_uncertainty_ns': uncertainty} if uncertainty else {})}
        (folder / 'trace/point-0-passthrough-r0-p0.json').write_text(json.dumps({'otherData': other, 'traceEvents': events}))
        with open(folder / 'summary.csv', 'w', newline='', encoding='utf-8') as stream:
            csv.writer(stream).writerows([['point', 'policy', 'antt'], [0, 'passthrough', 1]])
        (folder / 'manifest.json').write_text(json.dumps({'host': {'gpu': 'G', 'driver': 'D'}, 'start': 'S'}))

    def test_waves_and_copies_are_read_from_traces(self):
        self.write_trace(self.folder / 'e', 4.0, 700)
        made = block_times.read_traces(self.folder / 'e')[0]
        self.assertEqual(made.begins(A), [4000, 4000, 14_000, 14_000])
        self.assertEqual(made.spans['a', 0, 'copy in'], [Span(-1, 1, 1000, 3500)])
        self.assertEqual((made.releases['a', 0], made.uncertainty_ns), (500, 700))

    def test_a_recording_stands_for_what_was_measured(self):
        self.write_trace(self.folder / 'sim/e', 4.0)
        self.write_trace(self.folder / 'cuda/e', 5.0, 700)
        found = rules.read_experiments(self.folder / 'sim', [self.folder / 'cuda'])
        rules.record(found, self.folder / 'kept')
        again = rules.read_experiments(self.folder / 'sim', [self.folder / 'kept'])
        self.assertEqual(rules.verdicts_json(again), rules.verdicts_json(found))
        for of in (Timeline.begins, Timeline.ends):
            self.assertEqual(of(again[0].measured[0], A), of(found[0].measured[0], A))
        self.assertEqual(json.loads((self.folder / 'kept/conditions.json').read_text())['e'],
                         {'gpu': 'G', 'driver': 'D', 'start': 'S', 'clock_uncertainty_ns': 700})

    def test_what_is_no_recording_is_refused(self):
        file = self.folder / 'e.csv'
        file.write_text('client,job,kernel,sm,blocks_ns\na,0,k,3,5+x\n')
        with self.assertRaisesRegex(InputError, "key 'blocks_ns': found '5.x', expected BEGIN"):
            block_times.read_recorded(file)

    def test_what_is_no_trace_is_refused(self):
        self.write_trace(self.folder / 'e', 4.0)
        (self.folder / 'e/trace/point-0-passthrough-r0-p0.json').write_text('{"traceEvents": [{}]}')
        with self.assertRaises(InputError):
            block_times.read_traces(self.folder / 'e')
        with self.assertRaises(InputError):
            rules.read_experiments(self.folder, [self.folder / 'nothing'])


if __name__ == '__main__':
    unittest.main()
