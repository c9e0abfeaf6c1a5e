"""A set on multiprocessors whose responses grow although T3's conditions hold: why T3 is offered for one pool only.

Where a block goes is left to the hardware, so an adversary places here: when alpha ends together with a task of one thread, that
task's next job takes a place on alpha's multiprocessor, and alpha's own next job has to wait for two threads side by side. The
simulator's two placements never do that; this model of queue and multiprocessors stands by itself.
"""
import heapq
import unittest

SMS, THREADS = 3, 3
# name: (block time, period, threads, first release)
TASKS = {
    "beta1": (100, 108, 1, 1), "beta2": (100, 108, 1, 37), "beta3": (100, 108, 1, 73), "alpha": (100, 144, 2, 1),
    **{f"gamma{i}": (46, 145, 1, 0) for i in range(1, 5)}, "starter": (46, 10**6, 1, 0),
}
ORDER = list(TASKS)  # at ties


def responses(jobs, adversary):
    """Of alpha's first jobs, in release order among ready jobs (V2b), one block each."""
    free = [THREADS] * SMS
    queue, found = [], []  # of (release, place at ties, task)
    number, running = dict.fromkeys(TASKS, 0), {}  # running: task -> (release, multiprocessor)
    events = [(first, 1, ORDER.index(task), task) for task, (_, _, _, first) in TASKS.items()]  # 0: an end, 1: ready
    heapq.heapify(events)
    while len(found) < jobs:
        now, left = events[0][0], None
        while events and events[0][0] == now:
            _, ready, _, task = heapq.heappop(events)
            w, T, b, first = TASKS[task]
            if ready:
                heapq.heappush(queue, (first + number[task] * T, ORDER.index(task), task))
                continue
            release, sm = running.pop(task)
            free[sm] += b
            if task == "alpha":
                found.append(now - release)
                left = sm
            number[task] += 1
            heapq.heappush(events, (max(now, first + number[task] * T), 1, ORDER.index(task), task))
        while queue:
            release, _, task = queue[0]
            w, _, b, _ = TASKS[task]
            room = [sm for sm in range(SMS) if free[sm] >= b]
            if not room:
                break  # nobody passes the head
            heapq.heappop(queue)
            if adversary and task == "alpha":
                sm = room[-1]
            elif adversary and task.startswith("beta") and left in room:
                sm = left
            else:
                sm = max(room, key=lambda sm: (free[sm], -sm))  # most room first
            free[sm] -= b
            running[task] = release, sm
            heapq.heappush(events, (now + w, 0, ORDER.index(task), task))
    return found


class OnMultiprocessors(unittest.TestCase):
    def test_the_conditions_of_t3_hold(self):
        self.assertTrue(all(w <= T for w, T, _, _ in TASKS.values()))
        self.assertAlmostEqual(sum(w * b / T for w, T, b, _ in TASKS.values()), 5.4357, places=4)
        # A head of two threads waits only while every multiprocessor has two busy at least.
        self.assertLess(sum(w * b / T for w, T, b, _ in TASKS.values()), SMS * (THREADS - 1))

    def test_an_adversary_who_places_blocks_makes_them_grow_by_one_a_job(self):
        found = responses(1497, True)
        self.assertEqual((found[0], found[100], found[1496]), (145, 245, 1641))
        self.assertTrue(all(response == 145 + k for k, response in enumerate(found)))

    def test_placed_where_most_room_is_they_stay(self):
        self.assertLess(max(responses(3000, False)), 300)


if __name__ == "__main__":
    unittest.main()
