"""A set on multiprocessors whose responses grow although T3's conditions hold: why T3 is offered for one pool only.

Where a block goes is left to the hardware. An adversary can place it so: when alpha ends together with a task of one thread, that
task's next job takes a place on alpha's multiprocessor, and alpha's own next job has to wait for two threads side by side. The
program has no such adversary, but two placements, of which one lets responses grow by itself. So the model of queue and
multiprocessors here is held against the program under both, job by job. And `gangway bound` must not offer T3, whose value they exceed.

    test_counterexample_on_sms.py    # with the program that $GANGWAY names
"""
import csv
import heapq
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
from fractions import Fraction

SMS, THREADS = 3, 3
# name: (block time, period, threads, first release)
TASKS = {
    "beta1": (100, 108, 1, 1), "beta2": (100, 108, 1, 37), "beta3": (100, 108, 1, 73), "alpha": (100, 144, 2, 1),
    **{f"gamma{i}": (46, 145, 1, 0) for i in range(1, 5)}, "starter": (46, 10**6, 1, 0),
}
ORDER = list(TASKS)  # at ties
ALPHA_FIRST = sorted(ORDER, key=lambda task: task != "alpha")
T3 = 641.6  # what it would be, if it held here
GANGWAY = os.environ.get("GANGWAY", "build/release/gangway")

# Which of the multiprocessors with room takes a block of b threads.
PLACEMENTS = {
    "most-room-first": lambda room, free, b: max(room, key=lambda sm: (free[sm] // b, -sm)),
    "lowest-index-first": lambda room, free, b: room[0],
}


def responses(jobs, placement, order=ORDER):
    """Of alpha's first jobs, in release order among ready jobs (V2b), one block each; placement: a name, or "adversary"."""
    free = [THREADS] * SMS
    queue, found = [], []  # of (release, place at ties, task)
    number, running = dict.fromkeys(TASKS, 0), {}  # running: task -> (release, multiprocessor)
    adversary = placement == "adversary"
    events = [(first, 1, order.index(task), task) for task, (_, _, _, first) in TASKS.items()]  # 0: an end, 1: ready
    heapq.heapify(events)
    while len(found) < jobs:
        now, left = events[0][0], None
        while events and events[0][0] == now:
            _, ready, _, task = heapq.heappop(events)
            w, T, b, first = TASKS[task]
            if ready:
                heapq.heappush(queue, (first + number[task] * T, order.index(task), task))
                continue
            release, sm = running.pop(task)
            free[sm] += b
            if task == "alpha":
                found.append(now - release)
                left = sm
            number[task] += 1
            heapq.heappush(events, (max(now, first + number[task] * T), 1, order.index(task), task))
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
                sm = PLACEMENTS["most-room-first" if adversary else placement](room, free, b)
            free[sm] -= b
            running[task] = release, sm
            heapq.heappush(events, (now + w, 0, order.index(task), task))
    return found


def played(jobs, placement, order):
    """The same from the program: of alpha's jobs that end before a horizon, one time unit being 1 us."""
    clients = [
        {"name": task, "arrive": f"{first} us", "repeat": {"jobs": "endless", "period": f"{T} us"},
         "kernels": [{"name": "k", "block_tasks": 1, "block": [b], "block_task_length": f"{w} us"}]}
        for task in order for w, T, b, first in [TASKS[task]]]
    device = {"kind": "device", "version": 1, "name": "d", "sms": SMS, "placement": placement, "queue_order": "release-ready",
              "sm": {"threads": THREADS, "blocks": THREADS, "registers": 1, "shared_memory": "0 B"}}
    spec = {"kind": "experiment", "version": 1, "name": "counterexample", "mechanism": "ideal", "policies": ["passthrough"],
            "workload": {"kind": "workload", "version": 1, "name": "w", "source": "made up", "clients": clients},
            "device": device, "horizon": f"{TASKS['alpha'][1] * jobs} us"}
    with tempfile.TemporaryDirectory() as folder:
        file, out = pathlib.Path(folder) / "e.yaml", pathlib.Path(folder) / "out"
        file.write_text(json.dumps(spec))
        subprocess.run([GANGWAY, "run", str(file), "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
        with open(out / "jobs.csv", newline="") as rows:
            alpha = [row["response_ns"] for row in csv.DictReader(rows) if row["client"] == "alpha" and row["finish_ns"]]
    return [int(response) // 1000 for response in alpha]


class OnMultiprocessors(unittest.TestCase):
    def test_the_conditions_of_t3_hold(self):
        self.assertTrue(all(w <= T for w, T, _, _ in TASKS.values()))
        self.assertAlmostEqual(sum(w * b / T for w, T, b, _ in TASKS.values()), 5.4357, places=4)
        # A head of two threads waits only while every multiprocessor has two busy at least.
        self.assertLess(sum(w * b / T for w, T, b, _ in TASKS.values()), SMS * (THREADS - 1))

    def test_an_adversary_who_places_blocks_makes_them_grow_by_one_a_job(self):
        found = responses(1497, "adversary")
        self.assertEqual((found[0], found[100], found[1496]), (145, 245, 1641))
        self.assertTrue(all(response == 145 + k for k, response in enumerate(found)))

    def test_placed_on_the_lowest_index_they_stay(self):
        self.assertLess(max(responses(3000, "lowest-index-first")), 300)

    def test_the_program_and_the_model_agree_job_by_job(self):
        for placement in PLACEMENTS:
            for order in (ORDER, ALPHA_FIRST):
                with self.subTest(placement=placement, first=order[0]):
                    found = played(1000, placement, order)
                    self.assertGreater(len(found), 980)
                    self.assertEqual(found, responses(len(found), placement, order))

    def test_in_the_program_they_grow_beyond_what_t3_would_say(self):
        found = played(1100, "most-room-first", ALPHA_FIRST)
        self.assertGreater(max(found), T3)
        self.assertGreater(found[900], found[800])
        self.assertLess(max(played(1100, "lowest-index-first", ALPHA_FIRST)), 300)

    def test_the_program_offers_no_bound_for_alpha_here_and_t3_in_one_pool(self):
        rows = "".join(f"  - {{name: {task}, C: {w * b}, T: {T}, g: 1, b: {b}}}\n" for task, (w, T, b, _) in TASKS.items())
        report = {}
        for layout in ("{layout: sm, sms: 3, threads: 3}", "{layout: pool, m: 9}"):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(f"kind: taskset\nversion: 1\nname: ce4\ndevice: {layout}\norder: release-ready\ntasks:\n{rows}")
                file.flush()
                done = subprocess.run([GANGWAY, "bound", file.name, "--json"], stdout=subprocess.PIPE, check=True)
                report[layout[9:11]] = json.loads(done.stdout)
        on_sms, in_pool = report["sm"], report["po"]
        self.assertEqual(on_sms["M*"], SMS * (THREADS - 1))
        self.assertEqual(Fraction(on_sms["U"]["exact"]), sum(Fraction(w * b, T) for w, T, b, _ in TASKS.values()))
        alpha = next(task for task in on_sms["tasks"] if task["name"] == "alpha")
        self.assertIsNone(alpha["tightest"])
        bounds = {bound["bound"]: bound for bound in alpha["bounds"]}
        for name in ("T3", "T3-closed", "T4"):
            self.assertTrue(bounds[name]["needs"].startswith("layout: pool"), bounds[name])
        alpha = next(task for task in in_pool["tasks"] if task["name"] == "alpha")
        self.assertIn(alpha["tightest"]["bound"], ("T3", "T3-closed"))


if __name__ == "__main__":
    unittest.main()
