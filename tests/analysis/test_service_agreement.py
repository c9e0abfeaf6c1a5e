"""The table of how well services were predicted, by hand."""
import math
import unittest
from types import SimpleNamespace

from in_a_folder import InAFolder, finish, start  # (which adds the path of the modules below)
from gangway.drawing import service_agreement
import synthetic


def mean(value):
    return SimpleNamespace(mean=value)


def service(policy, p50_ms, p99_ms, attainment, throughput, client='a', slo_ns=5e6, bounds=(), upper=(), point=0, swept=(), starved_runs=0):
    return SimpleNamespace(bound=lambda name: 'at least' if name in bounds else 'at most' if name in upper else '',
                           point=point, swept=swept, starved_runs=starved_runs, policy=policy, client=client,
                           latency={'p50': mean(p50_ms * 1e6), 'p99': mean(p99_ms * 1e6)},
                           attainment=mean(attainment), slo_ns=slo_ns, throughput=mean(throughput), bounds=bounds)


def side(*services):
    return SimpleNamespace(services=list(services), swept=('workload.clients.web.repeat.arrivals.rate',) if services[0].swept else (), world='',
                           title='by hand')


class ServiceAgreement(unittest.TestCase):
    def test_measured_stands_first_and_errors_are_relative_to_it(self):
        predicted = side(service('piv', 1, 6, 0.9, 50), service('nobody-measured', 1, 1, 1, 1))
        measured = side(service('piv', 2, 5, 0.95, 40))
        head, _, row, _, left_out, *errors = service_agreement.table(predicted, measured)
        self.assertEqual(head, '| policy | client | median: measured, predicted | p99 | within its objective | jobs a second |')
        self.assertEqual(row, '| `piv` | a | 2, 1 ms (-50 %) | 5, 6 ms (+20 %) | 95 %, 90 % | 40, 50 (+25 %) |')
        self.assertEqual(left_out, 'left out: 1 rows that are predicted and not measured')
        self.assertEqual(errors, ['a, p50: errors of 1 predictions: median 50.0 %, largest 50.0 %',
                                  'a, p99: errors of 1 predictions: median 20.0 %, largest 20.0 %',
                                  'a, throughput: errors of 1 predictions: median 25.0 %, largest 25.0 %'])

    def test_what_cannot_be_compared_is_counted(self):
        predicted = side(service('piv', 1, 6, 0.9, 50), service('fcfs', math.nan, math.nan, 0, 0))
        measured = side(service('piv', 2, 5, 0.95, 40), service('fcfs', 9, 9, 0, 10))
        lines = list(service_agreement.table(predicted, measured))
        self.assertIn('a, p50: errors of 1 predictions: median 50.0 %, largest 50.0 %; 1 without a value to compare', lines)
        self.assertIn('a, throughput: errors of 2 predictions: median 62.5 %, largest 100.0 %', lines)

    def test_lower_bounds_have_no_errors(self):
        predicted = side(service('piv', 1, 6, 0.9, 50), service('fcfs', 4, 9, 0, 10, bounds=('p50', 'p99')))
        measured = side(service('piv', 2, 5, 0.95, 40), service('fcfs', 5, 8, 0, 10, bounds=('p99', 'p999')))
        lines = list(service_agreement.table(predicted, measured))
        self.assertIn('| `fcfs` | a | 5, ≥4 ms | ≥8, ≥9 ms | 0 %, 0 % | 10, 10 (+0 %) |', lines)
        self.assertIn('a, p50: errors of 1 predictions: median 50.0 %, largest 50.0 %; 1 left out, as unfinished or killed jobs make it a lower bound',
                      lines)
        self.assertIn('a, p99: errors of 1 predictions: median 20.0 %, largest 20.0 %; 1 left out, as unfinished or killed jobs make it a lower bound',
                      lines)

    def test_a_killed_client_has_no_error_of_its_throughput(self):
        killed = service('fcfs', 4, 9, 0.9, 10, bounds=('p50', 'p99'), upper=('attainment', 'throughput'))
        predicted = side(service('piv', 1, 6, 0.9, 50), killed)
        measured = side(service('piv', 2, 5, 0.95, 40), service('fcfs', 5, 8, 0.8, 20))
        lines = list(service_agreement.table(predicted, measured))
        self.assertIn('| `fcfs` | a | 5, ≥4 ms | 8, ≥9 ms | 80 %, ≤90 % | 20, ≤10 |', lines)
        self.assertIn('a, throughput: errors of 1 predictions: median 25.0 %, largest 25.0 %; 1 left out, as unfinished or killed jobs make it '
                      'an upper bound', lines)


    def test_rows_say_what_is_swept_and_who_starved(self):
        def both(factor):
            return side(*(service('piv', 2 * factor, 4 * factor, 0.9, 50, point=point, swept=(f'{rate}/s',)) for point, rate in enumerate((50, 9))),
                        service('fcfs', math.nan, math.nan, math.nan, 0, point=1, swept=('9/s',), starved_runs=3))
        predicted, measured = both(1), both(2)
        head, _, *rows = list(service_agreement.table(predicted, measured))[:5]
        self.assertEqual(head, '| web rate | policy | client | median: measured, predicted | p99 | within its objective | jobs a second |')
        self.assertEqual(rows, ['| 50/s | `piv` | a | 4, 2 ms (-50 %) | 8, 4 ms (-50 %) | 90 %, 90 % | 50, 50 (+0 %) |',
                                '| 9/s | `piv` | a | 4, 2 ms (-50 %) | 8, 4 ms (-50 %) | 90 %, 90 % | 50, 50 (+0 %) |',
                                '| 9/s | `fcfs` | a | starved, starved | starved, starved | -, - | 0, 0 (none measured) |'])
        figure = service_agreement.draw(predicted, measured, 1)
        axes, = figure.axes
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ['fcfs', 'piv'])
        self.assertEqual(sum(line.get_marker() == 'x' for line in axes.lines), 2)
        self.assertIn('starved: a client finished no job', [text.get_text() for text in figure.legends[0].get_texts()])
        self.assertEqual(axes.get_xlabel(), 'latency of a (ms)')


class Folders(InAFolder):
    def test_what_gangway_compare_refuses_is_refused(self):
        gap = 'workload.arrivals.gap'
        for name, values in (('one', ['1 ms', '2 ms']), ('other', ['2 ms', '1 ms'])):
            synthetic.write_sweep(self.folder / name, **{gap: values})
        code, _, errors = finish(start('service_agreement.py', self.folder / 'one', self.folder / 'other'))
        self.assertEqual((code, errors), (2, f"error: {self.folder / 'other'}/summary.csv: found '2 ms' at point 0, expected '1 ms' as in "
                                             f"{self.folder / 'one'}\n"))


if __name__ == '__main__':
    unittest.main()
