"""Kernels of programs that nobody changed, in slices: the stand-in carries their PTX out."""

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import kill_points
from live_daemon import GANGWAY, LIMIT, LOOK, STANDIN, finish
from test_forms import CLIENT, LONG, POINTS, FormsTest, tools
from test_programs import JOBS, OF_SHOC, PROGRAMS, RUNTIME, USUAL


def pkm(blocks):
    """The stand-in holds as many blocks as there are, so slices are given in blocks."""
    return "pkm", "--param", "slice=block-tasks", "--param", f"block_tasks={blocks}"


def microkernels(blocks):
    return "microkernel-rr", "--param", "state=resident", "--param", "blocks=block-tasks", "--param", f"block_tasks={blocks}"


class SlicesTest(FormsTest):
    def sliced(self, *command, policy=pkm(10), least=1, slices=1, options=()):
        """The client's `command` beside an urgent one: the same output as natively; its last status, and its log."""
        daemon = self.begin("--policy", *policy, "--forms", "all", *options)
        result, seen = self.beside_urgent(daemon, *command, least=least)
        self.assertEqual(result[:2], self.native(*command), result[2])
        _, err, steps = daemon.end()
        self.assertEqual(err, "")
        its = [step[1] for step in steps if step[3] == "program"]
        self.assertGreaterEqual(max(seen["slices"], its.count("sliced")), slices, seen)  # the log also knows those after the last look
        if "returned" not in its:  # then its kernels go on with all they have
            self.assertLessEqual(seen["slices"], its.count("sliced") + 1, seen)  # one may be under way
        return seen, [(step[1], int(step[4])) for step in steps if step[3] == "program"]


@unittest.skipUnless(STANDIN and CLIENT, "there is no stand-in driver")
class Results(SlicesTest):
    def test_the_riskiest_order_of_work(self):
        for policy in (pkm(10), microkernels(24)):
            with self.subTest(policy=policy[0]):
                seen, steps = self.sliced("riskiest", "400" if LONG else "60", policy=policy, least=20, slices=100)
                self.assertGreater(seen["launches_in_forms"], 60)
                # Each slice is as long as ordered, or the last of its grid. Of one that others did not wait for, the end is not logged.
                size, before, stayed = int(policy[-1].split("=")[1]), 0, False
                for step, done in steps:
                    if step == "sliced":
                        self.assertTrue(done - before == size or stayed and done - before == 2 * size or before >= done or done == 64,
                                        (before, done, steps))
                        before = done
                    stayed = stayed and step != "sliced" or step == "stays"

    def test_more_streams_at_once_than_a_context_has_connections(self):
        for policy in (pkm(3), microkernels(5)):
            with self.subTest(policy=policy[0]):
                self.sliced("fans", "20", policy=policy, least=0, slices=1)

    def test_slices_of_any_size(self):
        rng = random.Random(11)
        for blocks in [1, 64, 1000] + [rng.randrange(2, 64) for _ in range(12 if LONG else 3)]:
            with self.subTest(blocks=blocks):
                self.sliced("passes", "10", policy=rng.choice((pkm, microkernels))(blocks), least=0, slices=10)

    def test_all_kinds_of_launches(self):
        self.sliced("kinds", "60", slices=60)

    def test_what_a_program_asks_while_its_kernel_is_partly_done(self):
        self.sliced("asks", "60", slices=60)

    def test_with_a_limit_in_flight_and_with_overlap(self):
        for options in (["--in-flight", "2"], ["--overlap"]):
            with self.subTest(options=options):
                self.sliced("passes", "20", options=options, least=0, slices=50)

    def test_the_urgent_one_waits_for_a_slice_and_not_for_a_kernel(self):
        _, steps = self.sliced("passes", "40", policy=pkm(4), least=5)
        done = [value for step, value in steps if step == "sliced"]
        self.assertGreater(sum(value not in (0, 64) for value in done), 100)

    def test_unprepared_programs_and_groups_run_whole_kernels(self):
        for prepared, group in ((False, ()), (True, ("--group", "g"))):
            with self.subTest(prepared=prepared):
                daemon = self.begin("--policy", *pkm(10), "--forms", "all", prepared=prepared)
                program = daemon.start(CLIENT, "passes", "10", options=["--name", "program", *group], **self.more)
                urgent = daemon.start(CLIENT, "urgent", daemon.folder + "/done", options=["--name", "urgent", "--priority", "5"], **self.more)
                seen = self.client(daemon, "program")
                while program.poll() is None:
                    seen = next((c for c in daemon.status()["clients"] if c["name"] == "program"), seen)
                    time.sleep(0.01)
                self.assertEqual(finish(program)[:2], self.native("passes", "10"))
                self.assertEqual((seen["slices"], seen["launches_in_forms"]), (0, 0))
                open(daemon.folder + "/done", "w").close()
                self.assertEqual(finish(urgent)[:2], (0, "urgent: worked\n"))
                daemon.end()

    def test_a_kernel_that_waits_for_later_blocks_ends_all_the_same(self):
        daemon = self.begin("--policy", *pkm(10), "--forms", "all", "--drain-limit", "20 ms")
        self.more["STANDIN_RESIDENT"] = "48"
        result, seen = self.beside_urgent(daemon, "awaits", "10", least=0)
        self.assertEqual(result[:2], self.native("awaits", "10"), result[2])
        out, _, steps = daemon.end()
        self.assertIn("the kernel await_last waits for later blocks of its grid", out)
        self.assertEqual(len([step for step in steps if step[1] == "waits await_last"]), 1)

    def test_three_programs_of_one_priority(self):
        for policy in (pkm(16), microkernels(16)):
            with self.subTest(policy=policy[0]):
                daemon = self.begin("--policy", *policy, "--forms", "all")
                programs = [daemon.start(CLIENT, "passes", "15", options=["--name", f"p{n}"], **self.more) for n in range(3)]
                for program in programs:
                    self.assertEqual(finish(program)[:2], self.native("passes", "15"))
                _, _, steps = daemon.end()
                owners = [step[3] for step in steps if step[1] == "sliced"]
                changes = sum(before != after for before, after in zip(owners, owners[1:]))
                # Round robin changes at each slice as long as somebody waits; pkm when a job is over, since the first to arrive goes first.
                if policy[0] == "microkernel-rr":
                    self.assertGreater(changes, len(owners) // 4, owners)
                else:
                    self.assertGreater(changes, 10, owners)


@unittest.skipUnless(STANDIN and CLIENT, "there is no stand-in driver")
class Deaths(SlicesTest):
    @unittest.skipUnless(POINTS, "there is no look-alike with points")
    def test_a_client_that_dies_at_any_point_of_a_slice_harms_nobody(self):
        daemon = self.begin("--policy", *pkm(10), "--forms", "all", "--drain-limit", "30 ms")
        links = daemon.folder + "/points"
        os.mkdir(links)
        os.symlink(POINTS + "/libgangway-lookalike.so", links + "/libcuda.so.1")
        os.symlink(STANDIN + "/libcuda.so.1", links + "/libgangway-real-cuda.so.1")
        urgent = daemon.start(CLIENT, "urgent", daemon.folder + "/done", options=["--name", "urgent", "--priority", "5"], **self.more)
        self.client(daemon, "urgent")
        for point in kill_points.SLICED:
            victim = subprocess.Popen([CLIENT, "riskiest", "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env=daemon.environment(GANGWAY_SOCKET=daemon.socket, GANGWAY_DIE_AT=point, GANGWAY_FORMS="all", **self.more)
                                      | {"LD_LIBRARY_PATH": links + ":" + STANDIN})
            code, out, err = finish(victim)
            self.assertEqual(code, -signal.SIGKILL, (point, out, err))
            self.assertIsNone(urgent.poll(), point)
            self.assertIsNone(daemon.process.poll(), point)
        open(daemon.folder + "/done", "w").close()
        self.assertEqual(finish(urgent)[:2], (0, "urgent: worked\n"))
        _, err, _ = daemon.end()
        self.assertEqual(err, "")

    def test_a_client_that_is_killed_or_stopped_in_the_middle_of_its_kernel(self):
        for policy in (pkm(10), ["microkernel-rr", "--param", "state=resident", "--param", "slice=2 ms"]):
            with self.subTest(policy=policy[0]):
                self.check_who_is_killed_or_stopped(policy)

    def check_who_is_killed_or_stopped(self, policy):
        daemon = self.begin("--policy", *policy, "--forms", "all", "--drain-limit", "30 ms")
        urgent = daemon.start(CLIENT, "urgent", daemon.folder + "/done", options=["--name", "urgent", "--priority", "5"], **self.more)
        rng = random.Random(3)
        for turn in range(6):
            victim = daemon.start(CLIENT, "riskiest", "100000", options=["--name", "victim"], **self.more)
            process = self.client(daemon, "victim")["process"]
            time.sleep(rng.uniform(0.1, 0.4))
            if turn % 2 == 0:
                os.kill(process, signal.SIGSTOP)
                jobs = self.client(daemon, "urgent")["jobs"]
                end = time.monotonic() + 20
                while self.client(daemon, "urgent")["jobs"] < jobs + 5:
                    self.assertLess(time.monotonic(), end, "the urgent one waits for a stopped program")
                    time.sleep(LOOK)
            os.kill(process, signal.SIGKILL)
            self.assertNotEqual(finish(victim)[0], 0)
        open(daemon.folder + "/done", "w").close()
        self.assertEqual(finish(urgent)[:2], (0, "urgent: worked\n"))
        daemon.end()

    def test_nothing_is_lost_with_a_daemon(self):
        """Another policy may follow: what was cut is then finished as it is."""
        self.check_killed_daemons(*pkm(10), then=(pkm(7), ("piv",)))


@unittest.skipUnless(RUNTIME and PROGRAMS, "there is no nvcc")
class Programs(SlicesTest):
    def play(self, program, *arguments, blocks):
        command = [f"{PROGRAMS}/{program}", *arguments]
        daemon = self.begin("--policy", *pkm(blocks), "--forms", "all", "--drain-limit", "2 s", prepared=False)
        self.more["LD_LIBRARY_PATH"] = f"{RUNTIME}:{STANDIN}"
        environment = dict(os.environ, **self.more)
        subprocess.run([GANGWAY, "prepare", command[0]], env=environment, check=True, capture_output=True)
        alone = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        result, seen = self.beside_urgent(daemon, command[0], *arguments, least=0, program=True)
        self.assertEqual(result[:2], (0, alone.stdout), result[2])
        daemon.end()
        return seen

    def test_kernels_like_those_of_shoc(self):
        rng = random.Random(4)
        slices = 0
        for program in OF_SHOC if LONG else USUAL:
            with self.subTest(program):
                slices += self.play(program, *JOBS, OF_SHOC[program], blocks=rng.randrange(1, 9))["slices"]
        self.assertGreater(slices, 100)

    def test_what_the_language_has(self):
        self.assertGreater(self.play("language", "200" if LONG else "15", blocks=3)["slices"], 40)


EXPERIMENT = """kind: experiment
version: 1
name: slices
workload:
  kind: workload
  version: 1
  name: slices
  clients:
    - {{name: long, command: {{run: [{client}, passes, 1000000000], skip: 2}}, repeat: {{jobs: endless}}}}
    - {{name: urgent, command: {{run: [{client}, urgent, {done}], skip: 2}}, priority: 5, repeat: {{jobs: endless, period: 30 ms}}}}
device: h100
mechanism: slice
grant: {{forms: all}}
policies:
  - {{name: pkm, label: cut, params: {{slice: block-tasks, block_tasks: 8}}}}
  - {{name: microkernel-rr, label: turns, params: {{state: resident, blocks: block-tasks, block_tasks: 8}}}}
  - {{name: piv, label: whole, mechanism: ideal, grant: {{of: job, idle: 1 ms}}}}
  - {{name: disengaged-timeslice, label: access, mechanism: ideal, params: {{slice: 5 ms}}, grant: {{forms: all}}}}
  - {{name: disengaged-timeslice, label: plain, mechanism: ideal, params: {{slice: 5 ms}}}}
horizon: 1 s
"""


@unittest.skipUnless(STANDIN and CLIENT, "there is no stand-in driver")
class SlicesWorld(unittest.TestCase):
    def test_policies_that_launch_slices_beside_others(self):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        path = folder / "slices.yaml"
        path.write_text(EXPERIMENT.format(client=CLIENT, done=folder / "done"))
        environment = dict(os.environ, LD_LIBRARY_PATH=STANDIN, XDG_RUNTIME_DIR=str(folder), **tools(folder))
        done = subprocess.run([GANGWAY, "run", path, "--world", "live", "--out", folder / "out", "--trace"], capture_output=True, text=True,
                              env=environment, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(folder / "out/clients.csv") as lines:
            rows = {(row["policy"], row["client"]): row for row in csv.DictReader(lines)}
        for policy in ("cut", "turns"):
            self.assertGreater(float(rows[policy, "long"]["kernel_evictions"]), 3, policy)
            self.assertGreater(float(rows[policy, "urgent"]["jobs"]), 5, policy)
            trace = json.loads(subprocess.run(["zcat", "-f", next((folder / "out/trace").glob(f"*{policy}*"))], capture_output=True).stdout)
            self.assertIn("READY", {e["name"] for e in trace["traceEvents"] if e.get("ph") == "X"})
        # Access policies have their choice, too; theirs leave when they are told to.
        self.assertGreater(float(rows["access", "long"]["kernel_evictions"]), 3)
        for policy in ("whole", "plain"):
            self.assertEqual(float(rows[policy, "long"]["kernel_evictions"]), 0)


if __name__ == "__main__":
    unittest.main()
