"""What happens in experiments whose clients are programs: turns, memory, GPUs, arrivals; and what is refused."""

import csv
import json
import os
import struct
import subprocess
import time
import unittest
from pathlib import Path
from unittest import mock

from live_daemon import CLIENT, GANGWAY, LIMIT, STANDIN, Daemon
from live_experiments import FOREVER, LiveExperiments, client, loop, running

MEMORY_CLIENT = os.environ.get("GANGWAY_MEMORY_CLIENT", "")
SMALL_DEVICE = "set: {device.memory: 160 MiB}\n"


class LiveWorld(LiveExperiments):
    def check_alone(self, path, least, below):
        """What the first client's jobs take alone: on a loaded machine a thread can be off its core for longer, so several tries."""
        for _ in range(5):
            self.run_file(path, "--force")
            alone = int(self.rows()[0]["standalone_ns"])
            self.assertGreaterEqual(alone, least)
            if alone < below:
                return
        self.fail(f"{alone} ns alone, expected less than {below}")

    def test_whoever_begins_its_next_job_at_once_has_one_turn_for_each_of_the_other(self):
        # `b` comes back while a job of 4 ms of `a` runs, so it is first in the queue when that is over.
        clients = client("a", loop(1, 4000), "repeat: {jobs: endless}") + client("b", loop(1, 1000), "repeat: {jobs: endless, think: 1 ms}")
        for policy in ("fcfs", "{name: rr, params: {quantum: 100 ms}}"):
            self.run_file(self.file(clients, f"[{policy}]", horizon="2 s"), "--force")
            rows = [row for row in self.rows() if row["outcome"] == "finished"]
            a, b = (sum(row["client"] == name for row in rows) for name in "ab")
            self.assertGreater(b, 50)
            self.assertLess(a / b, 1.2, policy)

    def test_programs_that_do_not_fit_together(self):
        # Their memories are 3 x 64 MiB on a device of 160 MiB, so every policy plays them with managed memory.
        clients = "".join(client(f"p{i}", f"{{run: [{MEMORY_CLIENT}, holds, {i}, {FOREVER}, 64], skip: 2}}", "repeat: {jobs: endless}") for i in range(3))
        policies = "[{name: microkernel-rr, params: {blocks: job, slice: 100 ms}}, {name: rr, params: {quantum: 100 ms}}]"
        with mock.patch.dict(os.environ, STANDIN_LEDGER=str(self.folder / "ledger"), STANDIN_MEMORY=str(160 << 20)):
            self.run_file(self.file(clients, policies, SMALL_DEVICE, "4 s"))
        rows = self.rows()
        for policy in ("microkernel-rr", "rr"):
            for name in ("p0", "p1", "p2"):
                jobs = [row for row in rows if (row["policy"], row["client"], row["outcome"]) == (policy, name, "finished")]
                self.assertGreater(len(jobs), 2, (policy, name))
        with open(self.folder / "ledger", "rb") as ledger:
            refusals, most, size = struct.unpack("QQQ", ledger.read(24))
        self.assertEqual(refusals, 0)
        self.assertLessEqual(most, size)

    def test_clients_hold_at_most_the_memory_that_the_device_has_in_simulation(self):
        clients = "".join(client(f"p{i}", f"{{run: [{MEMORY_CLIENT}, holds, {i}, {FOREVER}, 64], skip: 2}}", "repeat: {jobs: endless}") for i in range(3))
        path = self.file(clients, "[{name: microkernel-rr, params: {blocks: job, slice: 100 ms}}]", SMALL_DEVICE, "2 s")
        with mock.patch.dict(os.environ, STANDIN_LEDGER=str(self.folder / "ledger"), STANDIN_MEMORY=str(1024 << 20)):
            self.run_file(path)
            with open(self.folder / "ledger", "rb") as ledger:
                refusals, most, _ = struct.unpack("QQQ", ledger.read(24))
            self.assertEqual(refusals, 0)
            self.assertLessEqual(most, 170 << 20)  # and what is no client's
            result = self.run_file(path, "--force", "--set", "device.memory=2 GiB", code=1)
        self.assertIn("device.memory is 2 GiB, and this GPU has 1 GiB: set device.memory to what it has\n", result.stderr)

    def test_memory_that_is_away_is_no_part_of_a_job_alone(self):
        # A job takes 2 ms; to bring its 64 MiB back, which the others displaced while they started, takes 100.
        clients = "".join(client(f"p{i}", f"{{run: [{MEMORY_CLIENT}, holds, {i}, {FOREVER}, 64], skip: 2}}", "repeat: {jobs: 1, think: 0 ms}")
                          for i in range(3))
        path = self.file(clients, "[{name: microkernel-rr, params: {blocks: job, slice: 100 ms}}]", more=SMALL_DEVICE, horizon="4 s")
        with mock.patch.dict(os.environ, STANDIN_LEDGER=str(self.folder / "ledger"), STANDIN_MEMORY=str(160 << 20)):
            for _ in range(5):  # for loaded machines
                self.run_file(path, "--force")
                alone = [int(row["standalone_ns"]) for row in self.rows("clients.csv")]
                if max(alone) < 50_000_000:
                    return
        self.fail(f"{alone} ns alone")

    def test_programs_have_the_priority_that_the_run_has(self):
        # The daemon's thread, which starts them, may have given itself another one.
        path = self.file(client("a", loop(4, 1000), "repeat: {jobs: endless}"), horizon="2 s")
        run = subprocess.Popen([GANGWAY, "run", path, "--world", "live", "--out", self.folder / "out"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=self.environment())
        end, found = time.monotonic() + LIMIT, set()
        while run.poll() is None and time.monotonic() < end:
            for program in running():
                try:
                    found.add((os.getpriority(os.PRIO_PROCESS, int(program)), os.sched_getscheduler(int(program))))
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
        self.assertEqual(run.communicate()[1], b"")
        self.assertEqual(found, {(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER)})

    def test_a_daemon_on_the_same_gpu_is_noted(self):
        path = self.file(client("a", loop(1, 200)), "[passthrough, fcfs]", horizon="50 ms")
        daemon = Daemon("--policy", "fcfs", around={"LD_LIBRARY_PATH": STANDIN, "STANDIN_DEVICES": "2"})
        result = self.run_file(path)
        notes = [line for line in result.stderr.splitlines() if "schedules" in line]
        self.assertEqual(len(notes), 1, result.stderr)  # of one run, as the daemon is one for all
        self.assertRegex(notes[0], rf"^note: point 0 under \S+: process {daemon.process.pid} of .* schedules GPU 0, too: while both have")
        self.assertEqual(["note: " + note for note in json.loads((self.folder / "out/manifest.json").read_text())["notes"]], notes)
        daemon.end()
        self.assertNotIn("schedules", self.run_file(path, "--force").stderr)

    def test_a_daemon_says_if_an_experiment_has_its_gpu(self):
        run = subprocess.Popen([GANGWAY, "run", self.file(client("a", loop(1, 200)), horizon="100 s"), "--world", "live", "--out", self.folder / "out"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())
        end = time.monotonic() + LIMIT
        while not running():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        _, err, _ = Daemon("--policy", "fcfs", around={"LD_LIBRARY_PATH": STANDIN}).end()
        run.terminate()
        run.communicate(timeout=LIMIT)
        self.assertRegex(err, rf"^note: process {run.pid} of \S+ \(\S+ run .*\) schedules GPU 0, too: .*\n$")

    def test_two_gpus(self):
        # Each has a client that always works; with one GPU they would take turns.
        clients = "".join(client(f"c{i}", loop(4, 1000), "repeat: {jobs: endless}") for i in range(2))
        policies = "[fcfs, {name: rr, params: {quantum: 20 ms}}, passthrough]"
        for place in ("fixed", "least-used"):
            with self.subTest(place=place), mock.patch.dict(os.environ, STANDIN_DEVICES="2"):
                self.run_file(self.file(clients, policies, more=f"place: {place}\n"), "--set", "device.gpus=2", "--trace", "--force")
                rows = self.rows()
                for policy in ("fcfs", "rr", "passthrough"):
                    for name in ("c0", "c1"):
                        jobs = [row for row in rows if (row["policy"], row["client"], row["outcome"]) == (policy, name, "finished")]
                        self.assertGreater(len(jobs), 10, (policy, name))
                # Jobs that were granted a GPU of their own overlap; on one GPU they would follow each other.
                spans = {name: [(int(row["start_ns"]), int(row["finish_ns"])) for row in rows
                                if (row["policy"], row["client"], row["outcome"]) == ("fcfs", name, "finished")] for name in ("c0", "c1")}
                together = sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in spans["c0"] for b in spans["c1"])
                self.assertGreater(together, 150_000_000)

    def test_where_two_gpus_cannot_be(self):
        two = client("a", loop(4, 1000)) + client("b", loop(4, 1000), "gpus: [1]")
        for policies, more, code, words in (
                ("[timeslice]", "", 2, "found 2 GPUs, expected 1 in the world live under the policy 'timeslice'"),
                ("[fcfs]", "place: least-used\n", 2, "place: fixed in the world live, as b may not use all of them"),
                ("[fcfs]", "", 1, "the experiment wants 2 GPUs, and this machine has 1")):
            with self.subTest(policies=policies, code=code):
                result = self.run_file(self.file(two, policies, more=more), "--set", "device.gpus=2", "--force", code=code)
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_every_kind_of_policy_plays_the_same_programs(self):
        clients = client("urgent", loop(2, 300), "priority: 5, slo: 8 ms, repeat: {jobs: 20, period: 20 ms}") + \
            client("batch", loop(4, 1000), "repeat: {jobs: endless}")
        policies = ["passthrough", "fcfs", "piv", "edf", "stride", "disengaged-timeslice", "timeslice", "trap-per-request",
                    "disengaged-fair-queueing", "vendor"]
        listed = ", ".join(policies[:-1]) + ", {name: disengaged-fair-queueing, label: vendor, params: {statistics: vendor}}"
        self.run_file(self.file(clients, f"[{listed}]", horizon="1 s"), "--trace")
        rows = self.rows()
        manifest = json.loads((self.folder / "out/manifest.json").read_text())
        self.assertEqual(manifest["world"], "live")
        for policy in policies:
            urgent = [row for row in rows if row["policy"] == policy and row["client"] == "urgent"]
            self.assertEqual([int(row["arrival_ns"]) for row in urgent], [20_000_000 * j for j in range(20)])
            for row in urgent:
                self.assertEqual(row["outcome"], "finished")
                self.assertLessEqual(int(row["arrival_ns"]), int(row["start_ns"]))
                self.assertGreaterEqual(int(row["finish_ns"]) - int(row["start_ns"]), 600_000)  # 2 kernels of 300 us
            # What a job takes alone was measured, without the pause until the next.
            self.assertTrue(600_000 <= int(urgent[0]["standalone_ns"]) < 15_000_000, urgent[0])
            batch = [row for row in rows if row["policy"] == policy and row["client"] == "batch" and row["start_ns"]]
            self.assertGreater(len(batch), 5)
            for before, after in zip(batch, batch[1:]):
                self.assertLessEqual(int(before["finish_ns"]), int(after["start_ns"]))
            if policy == "passthrough":
                self.assertEqual(sum(int(row["evictions"]) for row in urgent + batch), 0)
            self.assertTrue(any(f"-{policy}." in trace.name or f"-{policy}-" in trace.name for trace in (self.folder / "out/trace").iterdir()))
        piv = [row for row in rows if row["policy"] == "piv" and row["client"] == "batch"]
        self.assertGreater(sum(int(row["evictions"]) for row in piv), 0)
        # Under a grant nobody else is there: whoever is at work has the device alone.
        for policy in ("piv", "edf"):
            trace = json.loads(subprocess.run(["zcat", "-f", next((self.folder / "out/trace").glob(f"*{policy}*"))], capture_output=True).stdout)
            spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in trace["traceEvents"] if e.get("ph") == "X" and e["name"] in ("urgent", "batch"))
            self.assertGreater(len(spans), 20)
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                self.assertLessEqual(end, begin + 1e-3)
        # Two kernels, and what launching them takes.
        self.check_alone(self.file(client("urgent", loop(2, 300), "repeat: {jobs: 20, period: 20 ms}")), 600_000, 3_000_000)

    def outcomes(self, path, world, *options):
        folder = self.folder / world
        result = subprocess.run([GANGWAY, "run", path, "--world", world, "--out", folder, "--force", *options], capture_output=True, text=True,
                                timeout=LIMIT, env=self.environment())
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(folder / "jobs.csv") as lines:
            rows = list(csv.DictReader(lines))
        cells = {(row["policy"], row["client"]): set() for row in rows}
        for row in rows:
            cells[row["policy"], row["client"]].add(row["outcome"])
        return {cell: "refused" if outcomes == {"out of resources"} else "served" if "finished" in outcomes else outcomes
                for cell, outcomes in cells.items()}, rows

    def test_channels_are_given_as_in_simulation(self):
        recording = f"recording: {Path(__file__).resolve().parents[2]}/experiments/live/h100/throttle-19us.rec.gz"
        clients = client("a", loop(1, 1000), f"{recording}, arrive: 20 ms, repeat: {{jobs: endless}}") + \
            "".join(client(name, loop(1, 1000), f"{recording}, repeat: {{jobs: endless{more}}}")
                    for name, more in (("b", ""), ("c", ", period: 10 ms"), ("d", "")))
        path = self.file(clients, "[{name: timeslice, params: {channels: 2, slice: 20 ms}}, {name: trap-per-request, params: {channels: 2}}, "
                                  "{name: trap-per-request, label: first}, passthrough]", "set: {device.access.channels: 3}\n", horizon="1 s")
        ours, rows = self.outcomes(path, "live")
        theirs, _ = self.outcomes(path, "sim")
        self.assertEqual(ours, theirs)
        # Room for one with two channels each, or for three with one each: who comes first has them. Where nobody controls access, all
        # have theirs.
        self.assertEqual({cell for cell, outcome in ours.items() if outcome == "refused"},
                         {(policy, name) for policy in ("timeslice", "trap-per-request") for name in "acd"} | {("first", "a")})
        for row in rows:
            if row["outcome"] == "out of resources":
                self.assertEqual((row["job"], row["arrival_ns"], row["start_ns"]), ("0", "20000000" if row["client"] == "a" else "0", ""))
        self.refused("found 4 channels for each client, expected at most the 3 of",
                     self.file(client("a", loop(1, 200)), "[{name: timeslice, params: {channels: 4}}]", "set: {device.access.channels: 3}\n"))

    def test_programs_work_in_the_folder_of_the_file(self):
        (self.folder / "inner").mkdir()
        for folder, more in ((self.folder, ""), (self.folder / "inner", ", folder: inner")):
            (folder / folder.name).touch()
            command = f"{{run: [sh, -c, 'test -e {folder.name} && exec {CLIENT} loop 1 200 {FOREVER}'], skip: 5{more}}}"
            path = self.file(client("a", command), horizon="50 ms")
            self.run_file(path.name, "--force", folder=self.folder)  # as it is called from there
            self.run_file(path, "--force", folder="/")

    def test_mps_is_started_for_those_policies_alone(self):
        control = self.folder / "bin/nvidia-cuda-mps-control"
        control.parent.mkdir()
        command = f"{{run: [sh, -c, 'echo $CUDA_MPS_PIPE_DIRECTORY. >> seen; exec {CLIENT} loop 1 200 {FOREVER}'], skip: 5}}"
        recording = f"recording: {Path(__file__).resolve().parents[2]}/experiments/live/h100/throttle-19us.rec.gz"
        path = self.file(client("a", command, recording) + client("b", command, recording), "[passthrough, {name: passthrough, label: mps, device: {arbitration: mps}}, "
                                               "{name: piv, label: mps-piv, device: {arbitration: mps}}, fcfs]")
        result = self.run_file(path, code=1)  # there is none
        self.assertIn("no control daemon (nvidia-cuda-mps-control -d) can be started", result.stderr)
        self.assertIn("2 of 4 results failed", result.stderr)
        (self.folder / "seen").unlink()
        control.write_text(f"#!/bin/sh\necho $CUDA_MPS_PIPE_DIRECTORY $@ $(cat) >> {self.folder}/mps\n")
        control.chmod(0o755)
        path_before = os.environ["PATH"]
        os.environ["PATH"] = f"{control.parent}:{path_before}"
        self.addCleanup(os.environ.__setitem__, "PATH", path_before)
        result = self.run_file(path, "--force")
        self.assertNotIn("best case", result.stderr)  # of recordings, which nobody plays here
        self.assertEqual({row["policy"] for row in self.rows()}, {"passthrough", "mps", "mps-piv", "fcfs"})
        started, ended = (self.folder / "mps").read_text().splitlines()
        pipes = started.split()[0]
        self.assertEqual((started, ended), (f"{pipes} -d", f"{pipes} quit -t 1"))
        self.assertEqual((self.folder / "seen").read_text().splitlines(), 2 * ["."] + 2 * [f"{pipes}."] + 2 * ["."])

    def test_who_does_not_take_part_is_not_there(self):
        clients = client("a", loop(1, 500)) + client("b", loop(1, 500))
        self.run_file(self.file(clients, "[{name: disengaged-timeslice, params: {slice: 20 ms}}]", more="sweep:\n  clients: [[a, b], [a]]\n"))
        jobs = [[row for row in self.rows() if row["point"] == point and row["client"] == "a" and row["finish_ns"]] for point in "01"]
        self.assertGreater(len(jobs[1]), 1.5 * len(jobs[0]))  # no slices for nobody

    def test_every_job_has_its_own_arrival(self):
        # Also the last ones, which end while the run does.
        path = self.file(client("busy", loop(1, 50), "repeat: {jobs: endless, arrivals: {process: fixed, rate: 40000/s}}"), horizon="150 ms")
        for _ in range(8):
            self.run_file(path, "--force")
            arrivals = [round(int(row["arrival_ns"]) / 25_000) for row in self.rows()]
            self.assertEqual(arrivals, list(range(arrivals[0], arrivals[0] + len(arrivals))))

    def test_a_backlog_is_counted_whole(self):
        path = self.file(client("busy", loop(1, 2000), "repeat: {jobs: endless, arrivals: {process: fixed, rate: 4000/s}}"))
        self.run_file(path)
        rows = self.rows()
        self.assertAlmostEqual(len(rows), 2000, delta=2)
        self.assertEqual([int(row["arrival_ns"]) // 250_000 for row in rows], list(range(int(rows[0]["arrival_ns"]) // 250_000, int(rows[0]["arrival_ns"]) // 250_000 + len(rows))))
        self.assertLess(len([row for row in rows if row["finish_ns"]]), 300)
        # Alone it is behind as well; what it takes is measured without the time in the queue.
        self.check_alone(path, 2_000_000, 6_000_000)

    def test_think_leave_and_jobs(self):
        clients = client("thinks", loop(1, 200), "repeat: {jobs: 5, think: 20 ms}") + \
            client("leaves", loop(1, 200), "arrive: 50 ms, leave: 150 ms, repeat: {jobs: endless}")
        self.run_file(self.file(clients))
        rows = self.rows()
        thinks = [row for row in rows if row["client"] == "thinks"]
        self.assertEqual(len(thinks), 5)
        for before, after in zip(thinks, thinks[1:]):
            self.assertEqual(int(after["arrival_ns"]), int(before["finish_ns"]) + 20_000_000)
        leaves = [row for row in rows if row["client"] == "leaves"]
        self.assertGreater(len(leaves), 5)
        self.assertGreaterEqual(int(leaves[0]["arrival_ns"]), 50_000_000)
        self.assertLess(int(leaves[-1]["arrival_ns"]), 160_000_000)

    def test_jobs_that_are_ranges(self):
        if subprocess.run([CLIENT, "ranges", "1"], env=dict(os.environ, LD_LIBRARY_PATH=STANDIN)).returncode == 2:
            self.skipTest("built without NVTX's header")
        for how, name in (("", "job"), ("domain", "Service/job"), ("start", "job")):
            command = f"{{run: [{CLIENT}, ranges, {FOREVER}, '{how}'], jobs: 'nvtx:{name}', skip: 3}}"
            for policy in ("passthrough", "piv", "trap-per-request")[: 1 if how else 3]:
                with self.subTest(how=how, policy=policy):
                    self.run_file(self.file(client("a", command, "repeat: {jobs: 10, period: 10 ms}"), f"[{policy}]"), "--force")
                    rows = self.rows()
                    self.assertEqual([int(row["arrival_ns"]) for row in rows], [10_000_000 * j for j in range(10)])
                    for row in rows:
                        self.assertGreaterEqual(int(row["finish_ns"]) - int(row["start_ns"]), 600_000)
                        self.assertGreaterEqual(int(row["standalone_ns"]), 600_000)
                    self.assertEqual({row["outcome"] for row in rows}, {"finished"})

    def test_bad_input(self):
        good = client("a", loop(1, 200))
        self.refused("job: the world live grants whole jobs under piv", self.file(good, "[{name: piv, grant: kernel}]"))
        self.refused("state: resident", self.file(good, "[{name: microkernel-rr, grant: kernel}]"))
        self.refused("slice, or ideal", self.file(good, "[{name: pkm, grant: kernel, mechanism: prologue}]"))
        self.refused("kernel, since pkm cannot be given whole jobs", self.file(good, "[pkm]"))
        self.refused("worth, or all: in the world live only kernels in forms have the slices that pkm launches", self.file(good, "[{name: pkm, grant: kernel}]"))
        self.refused("worth, or all", self.file(good, "[{name: pkm, grant: {forms: none}}]"))
        self.refused("kernels that leave, beside a policy that moves memory", self.file(good, "[{name: piv, grant: {of: job, forms: all}}, {name: microkernel-rr, params: {blocks: job}}]"))
        self.refused("a policy that launches slices or controls access", self.file(good, "[{name: piv, grant: {of: kernel, forms: all}}]"))
        self.refused("a list of words", self.file(client("a", "python3 serve.py")))
        self.refused("an empty list", self.file(client("a", "[]")))
        self.refused("both command and kernels", self.file(client("a", loop(1, 2), "kernels: [{name: k, time: 1 ms, block_tasks: 1}]")))
        self.refused("no command", self.file("    - {name: a, kernels: [{name: k, time: 1 ms, block_tasks: 10, block_task_length: 1 us}]}\n"))
        self.refused("no folder", self.file(client("a", "{run: ['true'], folder: not/there}")))
        self.refused("did you mean 'skip'?", self.file(client("a", "{run: ['true'], skips: 3}")))
        self.refused("where it is the program's", self.file(client("a", loop(1, 200), "priority: {from: 0, to: 9}")))
        jitter = self.file(good)
        jitter.write_text(jitter.read_text().replace("  clients:\n", "  jitter: {arrival: 1 ms}\n  clients:\n", 1))
        self.refused("none in the world live", jitter)
        self.refused("sync or nvtx:NAME", self.file(client("a", "{run: ['true'], jobs: often}")))
        self.refused("1 in the world live", self.file(good, "[{name: timeslice, device: {gpus: 2}}]"))
        # In the simulation a program alone is nothing.
        result = subprocess.run([GANGWAY, "run", self.file(good), "--out", self.folder / "out"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("found a command without a recording in the world sim, expected also a recording", result.stderr)

    def test_no_driver(self):
        path = self.file(client("a", loop(1, 200)))
        result = subprocess.run([GANGWAY, "run", path, "--world", "live", "--out", self.folder / "out"], capture_output=True, text=True,
                                env=dict(self.environment(), LD_LIBRARY_PATH=""))
        if result.returncode != 0:  # this machine may have one
            self.assertEqual(result.returncode, 1)
            self.assertIn("no CUDA driver", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)

if __name__ == "__main__":
    unittest.main()
