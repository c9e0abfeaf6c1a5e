"""Runs in real time: what they refuse, what they leave behind, how they are interrupted, how a device is measured."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import GANGWAY, ProgramTest, read_trace, table  # noqa: E402  (the path comes first)

REAL = """kind: experiment
version: 1
name: real
workload:
  kind: workload
  version: 1
  name: two
  arrivals: {{gap: 1 ms, order: permuted}}
  clients:
    - {{name: A, kernels: [{{name: a, block_tasks: 200, time: 4 ms}}]}}
    - {{name: B, kernels: [{{name: b, code: {{name: VA, params: {{elements: 200000, per_thread: 8}}}}, time: {time}}}]}}
device: titan-x-pascal
mechanism: {mechanism}
policies: [{policies}]
permutations: {permutations}
watchdog: {watchdog}
"""


def text(time="1 ms", mechanism="flag-copy", policies="fcfs, rr", permutations=2, watchdog="1000 s"):
    return REAL.format(time=time, mechanism=mechanism, policies=policies, permutations=permutations, watchdog=watchdog)


class RealWorlds(ProgramTest):
    def call(self, *arguments):
        return subprocess.run([GANGWAY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)

    def test_the_host_fills_the_same_folder(self):
        file = self.file("real.yaml", text())
        done = self.call("run", file, "--world", "host", "--out", self.folder / "out", "--trace")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {path.name for path in (self.folder / "out").iterdir()}
        self.assertLessEqual({"manifest.json", "summary.csv", "clients.csv", "jobs.csv", "published.csv", "trace"}, names)
        manifest = json.loads((self.folder / "out/manifest.json").read_text())
        self.assertEqual((manifest["world"], manifest["threads"]), ("host", 1))
        trace = read_trace(self.folder / "out/trace/point-0-rr-r0-p0.json.gz")
        self.assertIn("decide", {event["name"] for event in trace["traceEvents"]})
        self.check_lateness(manifest, done.stderr)
        # It was kept while it ran; it cannot be played again.
        copy = self.folder / "copy.json"
        self.assertEqual(self.call("trace", self.folder / "out", "--policy", "rr", "--out", copy).returncode, 0)
        self.assertEqual(read_trace(copy), trace)
        self.assertEqual(self.call("trace", self.folder / "out", "--policy", "rr").returncode, 0)
        other = self.call("trace", self.folder / "out", "--policy", "rr", "--permutation", "1")
        self.assertEqual(other.returncode, 2)
        self.assertIn("expected replication 0, permutation 0 of a run with --trace", other.stderr)

    def check_lateness(self, manifest, warning):
        rows = table(self.folder / "out/summary.csv")
        late = [row["too_late"] for row in rows]
        self.assertLessEqual(set(late), {"yes", "no"})
        scheduler = manifest["scheduler"]
        self.assertEqual((scheduler["rows"], scheduler["too_late"]), (len(rows), late.count("yes")))
        for name in ("p50", "p99", "max"):
            self.assertEqual(scheduler["late_ns"][name], max(float(row[f"scheduler_late_ns_{name}"]) for row in rows))
        for row in rows:
            p50, p99, most = (float(row[f"scheduler_late_ns_{name}"]) for name in ("p50", "p99", "max"))
            self.assertTrue(0 <= p50 <= p99 <= most)
            self.assertTrue(0 <= float(row["scheduler_off_cpu"]) <= 1)
            shortest = min(float(c["standalone_ns"]) for c in table(self.folder / "out/clients.csv")
                           if (c["point"], c["policy"]) == (row["point"], row["policy"]))
            self.assertEqual(row["too_late"] == "yes", p99 > shortest / 20)
            self.assertGreater(float(row["utilisation"]), 0)
        self.assertEqual("the scheduler was too late in" in warning, "yes" in late)
        for job in table(self.folder / "out/jobs.csv"):
            self.assertLess(int(job["start_ns"]), int(job["finish_ns"]))

    def test_a_simulated_scheduler_is_never_late(self):
        self.assertEqual(self.call("run", self.file("real.yaml", text()), "--out", self.folder / "out").returncode, 0)
        self.assertNotIn("too_late", (self.folder / "out/summary.csv").read_text())
        self.assertNotIn("scheduler", json.loads((self.folder / "out/manifest.json").read_text()))

    def test_a_mechanism_that_is_only_simulated_is_refused(self):
        file = self.file("real.yaml", text(mechanism="ideal"))
        done = self.call("run", file, "--world", "host", "--out", self.folder / "out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("key 'mechanism': found 'ideal', expected one of basic, flag-copy, microkernel, proxy, proxy-adaptive, slice, write-value", done.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_a_parameter_that_no_device_can_obey_is_refused(self):
        for mechanism in ("flag-copy", "write-value"):
            given = f"{{name: {mechanism}, params: {{delay_scale: 5}}}}"
            for world in ("host", "cuda"):
                for file in (text(mechanism=given), text(policies=f"fcfs, {{name: rr, mechanism: {given}}}")):
                    path = self.file("real.yaml", file)
                    done = self.call("run", path, "--world", world, "--out", self.folder / "out")
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, r"\Aerror: \S*real.yaml:1[34]: key '[\w.]*mechanism\.params\.delay_scale': found '5', "
                                                  rf"expected 1, because the world {world} cannot change it\n\Z")
                    self.assertFalse((self.folder / "out").exists())
            # A sweep names the point's value.
            swept = self.file("real.yaml", text(mechanism=f"{{name: {mechanism}, params: {{delay_scale: 1}}}}")
                              + "sweep: {mechanism.params.delay_scale: [1, 3]}\n")
            done = self.call("run", swept, "--world", "host", "--out", self.folder / "out")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, r"delay_scale': found '3', expected 1,[^\n]*\n\Z")
            self.assertFalse((self.folder / "out").exists())

    def test_a_parameter_that_describes_the_device_is_taken(self):
        given = text(mechanism="{name: write-value, params: {useful: 0.7, delay_scale: 1}}", policies="fcfs")
        done = self.call("run", self.file("real.yaml", given), "--world", "host", "--out", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_mechanism_of_the_host_plays(self):
        policies = ("fcfs, {name: piv, mechanism: basic}, {name: piv, label: piv-proxy, mechanism: proxy}, "
                    "{name: rr, mechanism: {name: proxy-adaptive, params: {L: 0.1 ms, r: 5}}}, "
                    "{name: pkm, params: {latency: 0.5 ms}, mechanism: {name: slice, params: {slice_cost: 6 us}}}, "
                    "{name: microkernel-rr, params: {slice: 0.5 ms, state: resident}, mechanism: microkernel}")
        file = self.file("real.yaml", text(policies=policies).replace("titan-x-pascal", "k40m").replace("block_tasks: 200", "block_tasks: 2000"))
        for world in ("sim", "host"):
            done = self.call("run", file, "--world", world, "--out", self.folder / world)
            self.assertEqual(done.returncode, 0, done.stderr)
            jobs = table(self.folder / world / "jobs.csv")
            self.assertEqual(len(jobs), 6 * 2 * 2)
            self.assertEqual({job["outcome"] for job in jobs}, {"finished"})
            launches = {policy: max(int(job["launches"]) for job in jobs if job["policy"] == policy) for policy in ("fcfs", "pkm", "microkernel-rr")}
            self.assertEqual(launches["fcfs"], 1)
            # A's nine waves take 4 ms, and 0.5 ms is one of them.
            self.assertEqual((launches["pkm"], launches["microkernel-rr"]), (9, 9))
            for job in jobs:
                if job["policy"] in ("pkm", "microkernel-rr"):
                    self.assertEqual(job["evictions"], "0")

    def test_moves_of_memory_are_for_the_simulator(self):
        file = self.file("real.yaml", text(policies="microkernel-rr", mechanism="microkernel"))
        done = self.call("run", file, "--world", "host", "--out", self.folder / "out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--world host: key 'policies.microkernel-rr': found a policy that needs memory, expected a policy for this world", done.stderr)

    def test_what_a_mechanism_cannot_do_is_refused_as_in_the_simulator(self):
        file = self.file("real.yaml", text(mechanism="proxy"))
        refused = []
        for world in ("sim", "host", "cuda"):
            done = self.call("run", file, "--world", world, "--out", self.folder / "out")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            refused.append(done.stderr.split("found ")[1])
            self.assertFalse((self.folder / "out").exists())
        self.assertEqual(refused, 3 * ["no costs of polls under the mechanism 'proxy', expected `polls` in the device file of titan-x-pascal\n"])
        for world in ("host", "cuda"):
            for given, expected in (("{name: proxy, params: {relaunch: wait}}", "found 'wait', expected signal"),
                                    ("{name: basic, params: {signal_after: 1 ms}}", "found '1 ms', expected 100 us")):
                file = self.file("real.yaml", text(mechanism=given).replace("titan-x-pascal", "k40m"))
                done = self.call("run", file, "--world", world, "--out", self.folder / "out")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"{expected}, because the world {world} cannot change it", done.stderr)

    def test_kernels_that_no_device_can_run_are_refused_before_anything_runs(self):
        for key, value in (("gap", "1 us"), ("host_work", "2 us")):
            file = self.file("real.yaml", text().replace("time: 4 ms", f"time: 4 ms, {key}: {value}"))
            for world in ("host", "cuda"):
                done = self.call("run", file, "--world", world, "--out", self.folder / "out")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, rf"\Aerror: \S*real.yaml:10: key 'a\.{key}': found {value}, expected none, or the world sim\n\Z")
                self.assertFalse((self.folder / "out").exists())

    @unittest.skipIf("GANGWAY_GPU" in os.environ, "there is a GPU")
    def test_native_clients_beside_those_of_a_policy_are_refused(self):
        file = self.file("real.yaml", text().replace("{name: A, ", "{name: A, native: true, "))
        for world, expected in (("cuda", "expected the policy 'passthrough', under which all are native"),
                                ("host", "expected clients under the policy")):
            done = self.call("run", file, "--world", world, "--out", self.folder / "out")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--world {world}: key 'workload.clients.A': found a native client under the policy 'fcfs', " + expected,
                          done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertFalse((self.folder / "out").exists())

    def test_passthrough_is_for_worlds_with_native_clients(self):
        file = self.file("real.yaml", text(policies="passthrough"))
        done = self.call("run", file, "--world", "host", "--out", self.folder / "out")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("found a policy that needs native, expected a policy for this world", done.stderr)

    def test_several_gpus_where_a_launch_can_be_divided(self):
        for world, mechanism, policies, words in (
                ("host", "slice", "pkm", "1 in the world host, or the world sim"),
                ("cuda", "flag-copy", "fcfs", "1 in the world cuda under the mechanism flag-copy; several under slice or microkernel"),
                ("sim", "microkernel", "{name: microkernel-rr, params: {state: resident}}", "1 under the policy 'microkernel-rr', which schedules one"),
                ("host", "microkernel", "{name: microkernel-rr, params: {state: resident}}", "1 in the world host, or the world sim")):
            with self.subTest(world=world, policies=policies):
                experiment = self.file("real.yaml", text(mechanism=mechanism, policies=policies))
                done = self.call("run", experiment, "--world", world, "--set", "device.gpus=2", "--out", self.folder / "several")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("2 GPUs", done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_without_a_gpu_nothing_is_left(self):
        file = self.file("real.yaml", text())
        for call in (["run", file, "--world", "cuda"], ["calibrate"]):
            done = self.call(*call, "--out", self.folder / "out")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Aerror: (no CUDA device|this program was built without CUDA)[^\n]*\n\Z")
            self.assertFalse((self.folder / "out").exists())

    def test_a_kernel_that_does_not_end_is_given_up(self):
        endless = text(policies="fcfs", watchdog="300 ms").replace("block_tasks: 200, time: 4 ms", "block_tasks: 1, time: 10000 s")
        file = self.file("real.yaml", endless)
        done = self.call("run", file, "--world", "host", "--out", self.folder / "out")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kernel 0 of A is still on the device after 300 ms, the watchdog's limit", done.stderr)
        self.assertFalse((self.folder / "out/manifest.json").exists())

    def test_interrupted_in_the_middle_and_taken_up_again(self):
        file = self.file("real.yaml", text(permutations=150))
        command = [GANGWAY, "run", file, "--world", "host", "--out", self.folder / "out"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (self.folder / "out/parts/key").exists():  # interruptions are caught from before that on
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 130, errors)
        # With --trace, what was played without is played again.
        again = subprocess.run([*command, "--trace"], capture_output=True, text=True)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(len(list((self.folder / "out/trace").iterdir())), 2)

    def test_code_must_agree_with_what_the_file_says(self):
        file = self.file("real.yaml", text().replace("code: {name: VA", "block_tasks: 7, code: {name: VA"))
        done = self.call("check", file)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"real.yaml:11: key '[\w.]*block_tasks': found '7', expected the \d+ block-tasks of its code")
        file = self.file("real.yaml", text().replace("name: VA", "name: Va"))
        done = self.call("check", file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'VA'?", done.stderr)

    def test_the_host_is_measured(self):
        file = self.file("kernels.yaml", """kind: workload
version: 1
name: kernels
clients:
  - {name: RED, kernels: [{name: RED, code: {name: RED, params: {elements: 200000}}, time: 1 ms}]}
  - {name: t, kernels: [{name: t, code: {name: throttle, params: {block_tasks: 50, time: 20 us}}, time: 1 ms}]}
""")
        out = self.folder / "calibration"
        done = self.call("calibrate", "--world", "host", "--workload", file, "--out", out, "--name", "here")
        if done.returncode == 1 and "too busy with other things" in done.stderr:
            self.skipTest("the machine is too busy to be measured")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("device.yaml", "workload.yaml"):
            self.assertEqual(self.call("check", out / name).returncode, 0)
        self.assertNotIn("polls", (out / "device.yaml").read_text())  # the cores have no memory beside the scheduler's
        found = json.loads((out / "calibration.json").read_text())
        times = {q["kernel"]: q["median"]["value"] for q in found["quantities"] if q["quantity"] == "transformed"}
        if "expected_error" not in found:  # a pair met a pause of the machine again and again
            self.assertIn("no expected_error was measured: ", done.stderr)
            self.skipTest("the machine is too busy to play pairs")
        self.assertEqual((found["expected_error"]["pairs"], found["expected_error"]["jobs"]), (1, 2 * 4 * 2 * 3))
        self.assertIn("expected error of NTT: ", done.stdout)
        measured = [line for line in (out / "workload.yaml").read_text().splitlines() if not line.startswith("#")]
        self.assertEqual("\n".join(measured).count("evictions:"), 2)
        self.assertEqual("\n".join(measured).count(f"mechanism: {found['mechanism']}\n"), 2)
        self.assertIn("beside_copies: {launch: ", (out / "device.yaml").read_text())
        self.assertGreater(times["t"], 50 * 20_000 / (os.cpu_count() or 1) * 0.9)
        # Interrupted while pairs are played: it replaces the other, but for the expected error.
        (out / "pairs.yaml").unlink()
        process = subprocess.Popen([GANGWAY, "calibrate", "--world", "host", "--workload", file, "--out", out, "--name", "there", "--force"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not (out / "pairs.yaml").exists() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        errors = process.communicate()[1]
        if process.returncode == 1 and "too busy with other things" in errors:
            self.skipTest("the machine is too busy to be measured")
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("is whole, but without an expected error", errors)
        self.assertIn("name: there", (out / "device.yaml").read_text())
        cut_short = json.loads((out / "calibration.json").read_text())
        self.assertNotIn("expected_error", cut_short)
        self.assertGreater(len(cut_short["quantities"]), 10)
        for wrong in (["--name", 'my "box"'], ["--device", "1"], ["--mechanism", "ideal"]):
            done = self.call("calibrate", "--world", "host", "--workload", file, "--out", self.folder / "other", *wrong)
            self.assertEqual(done.returncode, 2, done.stderr)
        again = self.call("calibrate", "--world", "host", "--workload", file, "--out", out)
        self.assertEqual(again.returncode, 2)
        no_code = self.file("no-code.yaml", file.read_text().replace("code: {name: RED, params: {elements: 200000}}", "block_tasks: 5"))
        done = self.call("calibrate", "--world", "host", "--workload", no_code, "--out", self.folder / "other")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected code of the kernel, which is to be measured", done.stderr)
        self.assertFalse((self.folder / "other").exists())


if __name__ == "__main__":
    unittest.main()
