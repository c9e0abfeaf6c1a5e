"""What the program makes of policies that do what no policy may do, and of Ctrl-C meanwhile."""

import os
import signal
import subprocess
import unittest
from pathlib import Path

import program
from program import ProgramTest, finished_groups

TWICE = Path(os.environ.get("GANGWAY_TWICE", program.GANGWAY.parent / "tests/gangway_twice")).resolve()
FAULTY = Path(os.environ.get("GANGWAY_FAULTY", program.GANGWAY.parent / "tests/gangway_faulty")).resolve()

EXPERIMENT = """kind: experiment
version: 1
name: faulty
workload:
  {kind: workload, version: 1, name: two, clients: [
    {name: A, arrive: 0 ms, kernels: [{name: k, block_tasks: 100, time: 1 ms}]},
    {name: B, arrive: 0.5 ms, kernels: [{name: k, block_tasks: 100, time: 1 ms}]}]}
device: titan-x-pascal
mechanism: flag-copy
policies: [fcfs, {name: faulty, label: mine, params: {how: HOW}}]
seed: 11
watchdog: 1 s
"""


class RegisteredTwice(unittest.TestCase):
    def test_two_policies_of_one_name_stop_the_program_before_it_does_anything(self):
        for call in ([], ["--help"], ["list", "policies"]):
            with self.subTest(call):
                done = subprocess.run([TWICE, *call], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                place = r"\S*(models/policy/rr\.cpp|tests/faults/registered_twice\.cpp):\d+"
                self.assertRegex(done.stderr, rf"\Aerror: 'rr' is registered twice: at {place} and at {place}\n\Z")
                for file in ("models/policy/rr.cpp", "tests/faults/registered_twice.cpp"):
                    line = int(done.stderr.split(file + ":")[1].split()[0])  # somewhere in the statement
                    before = (program.ROOT / file).read_text().splitlines()[:line]
                    self.assertRegex("".join("".join(before).split(";")[-2:]), r"registered\w*{")


class Faults(ProgramTest):
    def setUp(self):
        super().setUp()
        self.usual, program.GANGWAY = program.GANGWAY, FAULTY
        self.addCleanup(setattr, program, "GANGWAY", self.usual)

    def experiment(self, how):
        return self.file("e.yaml", EXPERIMENT.replace("HOW", how))

    def test_the_message_says_where_and_what(self):
        for how, complaint in [("evict-launch", "the policy ordered an eviction of an unknown launch"),
                               ("exception", "the policy threw std::runtime_error: out of luck"),
                               ("own-input-error", "the policy threw gangway::InputError: mine"),
                               ("number", "the policy threw int"),
                               ("job-of-nobody", "client 7, of 2"),
                               ("instant-without-end", "the same instant endlessly")]:
            with self.subTest(how):
                done = self.gangway("run", self.experiment(how), "--out", self.folder / how, code=1)
                first, *history = done.stderr.splitlines()
                self.assertRegex(first, r"\Aerror: point 0, policy 'mine', seed 11, replication 0, permutation 0: at \d+ ns ")
                self.assertIn(complaint, first)
                self.assertIn("what happened before:", first)
                self.assertTrue(history)
                self.assertFalse((self.folder / how / "summary.csv").exists() and "mine,1" in (self.folder / how / "summary.csv").read_text())

    def test_in_real_time(self):
        done = self.gangway("run", self.experiment("job-of-nobody"), "--world", "host", "--out", self.folder / "o", code=1)
        self.assertRegex(done.stderr, r"(?m)^error: point 0, policy 'mine', seed 11, replication 0, permutation 0: at \d+ ns ")

    def test_a_call_without_end_ends_the_program(self):
        for how in ("hang", "hang-with-orders"):
            for world in ("sim", "host"):
                with self.subTest(how=how, world=world):
                    out = self.folder / f"{how}-{world}"
                    done = self.gangway("run", self.experiment(how), "--jobs", 1, "--world", world, "--out", out, code=1)
                    hangs, first, *history = done.stderr.splitlines()
                    self.assertEqual(hangs, "hangs")
                    self.assertRegex(first, r"\Aerror: point 0, policy 'mine', seed 11, replication 0, permutation 0: at \d+ ns "
                                            r"the policy has not returned from a call after ")
                    self.assertTrue(any("A job 0 kernel 0 launch 0: released" in line for line in history))
                    self.assertEqual(finished_groups(out), 1)  # of fcfs
                    self.assertFalse((out / "summary.csv").exists())

    def test_ctrl_c_works_in_a_call_without_end(self):
        file = self.file("e.yaml", EXPERIMENT.replace("HOW", "hang").replace("watchdog: 1 s", "watchdog: 3600 s"))
        out = self.folder / "o"
        process = self.start_and_wait_for_groups(out, 1, "run", file)
        self.assertEqual(process.stderr.readline(), "hangs\n")
        _, error = self.end(process, signal.SIGINT, 130)
        self.assertRegex(error, r"\Ainterrupted: point 0, policy 'mine', seed 11")
        self.assertEqual(finished_groups(out), 1)

    def test_a_second_ctrl_c_does_not_wait(self):
        file = self.file("e.yaml", EXPERIMENT.replace("HOW", "hang").replace("watchdog: 1 s", "watchdog: 3600 s"))
        out = self.folder / "o"
        process = self.start_and_wait_for_groups(out, 1, "run", file)
        self.assertEqual(process.stderr.readline(), "hangs\n")
        process.send_signal(signal.SIGINT)
        self.end(process, signal.SIGINT, 130)
        self.assertEqual(finished_groups(out), 1)

    def test_what_is_finished_is_kept(self):
        out = self.folder / "o"
        self.gangway("run", self.experiment("hang"), "--jobs", 1, "--out", out, code=1)
        self.assertEqual(finished_groups(out), 1)


if __name__ == "__main__":
    unittest.main()
