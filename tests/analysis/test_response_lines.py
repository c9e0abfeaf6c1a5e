"""Which lines figures of response times have, and how these look."""
import unittest
from types import SimpleNamespace

from in_a_folder import InAFolder  # (which adds the path of the modules below)
from gangway.drawing import response_lines, responses, results, style

QUANTUM, DELAY = 'policies.rr.params.quantum', 'workload.clients.slow.kernels.k.eviction_delay'


def results_of(paths, *points):
    """Results of fcfs, piv and rr at these values of the paths."""
    summary = [SimpleNamespace(point=number, policy=policy, swept=values) for number, values in enumerate(points) for policy in ('fcfs', 'piv', 'rr')]
    return SimpleNamespace(swept=paths, summary=summary, label=lambda point, policy: policy)


def times_of(found, time):
    """time: (policy, swept values) -> ms of each job."""
    return {(row.point, row.policy): {'A': {job: time(row.policy, row.swept) + job for job in range(4)}} for row in found.summary}


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


class Lines(InAFolder):
    def drawn(self, found, time):
        times = times_of(found, time)
        return [(setting, list(labels.values()), page) for setting, runs, labels in response_lines.pages(found, times)
                for page in responses.draw(runs, 'title', labels, times)]

    def test_a_policys_own_parameter_is_told_of_it_alone_and_the_others_are_drawn_once(self):
        found = results_of((QUANTUM,), ('1 ms',), ('2 ms',), ('4 ms',))
        (setting, labels, page), = self.drawn(found, lambda policy, swept: {'fcfs': 9, 'piv': 5}.get(policy) or int(swept[0][0]))
        self.assertEqual((setting, labels), ('', ['fcfs', 'rr quantum 1 ms', 'rr quantum 2 ms', 'rr quantum 4 ms', 'piv']))
        self.assertEqual(legend(page), labels)
        lines = {label: line for label, line in zip(labels, page.axes[0].lines)}
        self.assertEqual([lines[label].get_ydata()[0] for label in labels], [9, 1, 2, 4, 5])
        usual = style.styles(['fcfs', 'piv', 'rr'])
        self.assertEqual([lines[policy].get_color() for policy in ('fcfs', 'piv')], [usual['fcfs'].colour, usual['piv'].colour])
        self.assertEqual(len({line.get_color() for line in lines.values()}), 5)
        self.assertEqual({lines[label].get_marker() for label in labels if 'rr' in label}, {usual['rr'].marker})

    def test_what_was_measured_under_another_policys_parameter_is_not_told(self):
        found = results_of((QUANTUM,), ('1 ms',), ('2 ms',))
        noise = iter(range(100))
        (_, labels, page), = self.drawn(found, lambda policy, swept: 10 + next(noise))
        self.assertEqual(labels, ['fcfs', 'rr quantum 1 ms', 'rr quantum 2 ms', 'piv'])

    def test_many_lines_of_several_points_have_a_page_for_each(self):
        points = [(delay, quantum) for delay in ('50 us', '300 us') for quantum in ('1 ms', '2 ms')]
        found = results_of((DELAY, QUANTUM), *points)
        pages = self.drawn(found, lambda policy, swept: {'fcfs': 9, 'piv': 5, 'rr': int(swept[1][0])}[policy] + len(swept[0]) * (policy != 'fcfs'))
        self.assertEqual([(setting, labels) for setting, labels, _ in pages], [
            (f'slow kernel k eviction delay {delay} µs', ['fcfs', 'rr quantum 1 ms', 'rr quantum 2 ms', 'piv']) for delay in (50, 300)])
        self.assertEqual(len({page.axes[0].get_ylim() for _, _, page in pages}), 1)

    def test_what_changes_nothing_is_not_told_and_equal_lines_are_one(self):
        found = results_of((DELAY,), ('50 us',), ('300 us',))
        (setting, labels, page), = self.drawn(found, lambda policy, swept: 9 if policy == 'rr' else 5)
        self.assertEqual((setting, labels, len(page.axes[0].lines)), ('', ['fcfs = piv', 'rr'], 2))

    def test_lines_that_are_equal_at_all_values_of_something_do_not_tell_it(self):
        found = results_of((DELAY, 'gap'), *((delay, gap) for delay in ('50 us', '300 us') for gap in ('1 ms', '2 ms')))
        found.summary[:] = [row for row in found.summary if row.policy == 'rr']
        (_, labels, _), = self.drawn(found, lambda policy, swept: 5 if swept[0] == '50 us' else int(swept[1][0]))
        delay = 'slow kernel k eviction delay'
        self.assertEqual(labels, [f'{delay} 50 µs', f'{delay} 300 µs, gap 1 ms', f'{delay} 300 µs, gap 2 ms'])

    def test_lines_have_no_bare_numbers_at_their_ends(self):
        found = results_of((DELAY,), ('50 us',))
        (_, _, page), = self.drawn(found, lambda policy, swept: len(policy))
        self.assertEqual(page.axes[0].texts[:], [])

    def test_the_folder_of_a_sweep_is_drawn_so(self):
        found = self.sweep(**{QUANTUM: ['1 ms', '2 ms']})
        times = times_of(found, lambda policy, swept: 9 if policy != 'rr' else int(swept[0][0]))
        (_, _, labels), = response_lines.pages(results.read(found.path), times)
        self.assertEqual(list(labels.values()), ['sjf = srt = cfs = frs', 'rr quantum 1 ms', 'rr quantum 2 ms'])


if __name__ == '__main__':
    unittest.main()
