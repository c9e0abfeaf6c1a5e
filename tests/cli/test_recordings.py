"""Clients made of recordings: what their keys do, by hand, and what is refused."""

import contextlib
import gzip
import itertools
import json
import shutil
import sqlite3
import subprocess
import sys
import unittest

from program import ROOT, ProgramTest, contents, manifest, table

sys.path.insert(0, str(ROOT / "tests/oracle"))
from recorded_files import Recorder  # noqa: E402
from recorded_parts import STREAM  # noqa: E402

CLIENTS = """    - {name: A, recording: a.rec}
"""
EXPERIMENT = """kind: experiment
version: 1
name: recorded
workload:
  kind: workload
  version: 1
  name: recorded
  clients:
@CLIENTS@device: h100
mechanism: ideal
policies: [passthrough]
"""


def program(path, kernels=(1_000_000, 1_000_000), jobs=3, blocks=4, gap=1_000):
    """Each job submits its kernels one behind the other, waits for them, and 100 us later comes the next one. Alone a job takes
    5 us until its first kernel runs, 1 us between two, and 6 us from the last one's end to its own. With a longer gap between
    calls kernels wait for the host."""
    recorder, begin = Recorder(), 10_000
    recorder.launches = [("_Z1kv", blocks, 32, 16)]
    for _ in range(jobs):
        called, runs, calls = begin, begin + 5_000, []
        for length in kernels:
            calls.append(recorder.kernel(called, 3_000, 0, runs, length))
            called, runs = called + 3_000 + gap, max(runs + length + 1_000, called + 8_000 + gap)
        end = runs - 1_000 + 6_000
        calls.append(recorder.wait(called, end - called, STREAM, 0))
        recorder.job(begin, end - begin, calls)
        begin = end + 100_000
    recorder.write(path)


class Recordings(ProgramTest):
    def setUp(self):
        super().setUp()
        program(self.folder / "a.rec")
        program(self.folder / "b.rec", kernels=(300_000,), jobs=5)

    def play(self, clients=CLIENTS, change=lambda text: text, out="out"):
        self.file("e.yaml", change(EXPERIMENT.replace("@CLIENTS@", clients)))
        return self.gangway("run", "e.yaml", "--out", out)

    def times(self, client="A", out="out", column="response_ns"):
        return [int(row[column]) for row in table(self.folder / out / "jobs.csv") if row["client"] == client]

    def test_alone_jobs_take_what_was_recorded(self):
        self.play()
        self.assertEqual(self.times(), [2_012_000] * 3)
        self.assertEqual(self.times(column="arrival_ns"), [0, 2_112_000, 4_224_000])
        self.assertEqual(self.times(column="standalone_ns"), [2_012_000] * 3)

    def test_scaled_kernels_are_played_alone_for_the_standalone_time(self):
        for scale, length in (("0.5", 1_012_000), ("2", 4_012_000)):
            self.play(f"    - {{name: A, recording: {{file: a.rec, scale: {{kernels: {scale}}}}}}}\n", out=f"out{scale}")
            self.assertEqual(self.times(out=f"out{scale}"), [length] * 3)
            self.assertEqual(self.times(out=f"out{scale}", column="standalone_ns"), [length] * 3)

    def test_what_a_recording_cannot_tell_is_noted(self):
        program(self.folder / "idle.rec", kernels=(10_000,) * 2, gap=40_000)  # busy for 20 of 67 us
        program(self.folder / "latent.rec", kernels=(10_000,) * 2)  # of 32, of which its host takes 10
        pauses = "recorded with one job right after the other, but released with pauses here, and a job after a pause takes longer"
        slowed = "recording slowed the host, so jobs may take less than is taken here: record --overhead measures how much, recording.alone says it"
        slow = ", repeat: {jobs: 3, period: 5 ms}"
        for number, (client, notes) in enumerate([
                ("recording: a.rec", ()), ("recording: a.rec" + slow, (pauses,)), ("recording: a.rec, repeat: {jobs: 3, period: 4 ms}", ()),
                ("recording: a.rec, repeat: {jobs: 3, arrivals: {process: poisson, rate: 200/s}}", (pauses,)),
                ("recording: a.rec, repeat: {jobs: 3, arrivals: {process: poisson, rate: 300/s}}", ()),
                ("recording: {file: a.rec, jobs: {from: 0, to: 0}}" + slow, ()),
                ("recording: idle.rec", (slowed,)), ("recording: idle.rec" + slow, (slowed,)),  # recorded with pauses of 100 us
                ("recording: {file: idle.rec, alone: 30 us}", ()), ("recording: {file: idle.rec, scale: {host: 0.9}}", ()),
                ("recording: {file: idle.rec, scale: {host: 1}}", ()), ("recording: latent.rec", ()),  # its host waits
                ("recording: a.rec, repeat: {jobs: 3, think: 3 ms}", (pauses,)), ("recording: a.rec, repeat: {jobs: 3, think: 1 ms}", ())]):
            with self.subTest(client=client):
                said = self.play(f"    - {{name: A, {client}}}\n", out=f"out{number}").stderr
                self.assertEqual({note for note in (pauses, slowed) if f"note: A: {note}" in said}, set(notes), said)

    def test_a_job_of_no_length_counts_as_a_nanosecond(self):
        program(self.folder / "short.rec", kernels=(2,))
        self.play("    - {name: A, recording: {file: short.rec, scale: {kernels: 0.001, host: 0.001}}}\n")
        rows = table(self.folder / "out/jobs.csv")
        self.assertTrue(all(int(row["standalone_ns"]) >= 1 and float(row["ntt"]) > 0 for row in rows), rows)

    def test_alone_a_program_at_its_own_pace_is_as_efficient_as_can_be(self):
        self.play()
        self.assertEqual(float(table(self.folder / "out/summary.csv")[0]["concurrency_efficiency"]), 1)

    def test_forms_say_which_kernels_can_leave(self):
        program(self.folder / "long.rec", kernels=(8_000_000,), blocks=42_240)  # ten waves on an H100
        self.file("kernels.json", json.dumps([{"kernel": "_Z1kv", "forms": ["slice", "prologue"], "line": 7}]))
        self.file("slices.json", json.dumps([{"kernel": "_Z1kv", "forms": ["slice"]}]))
        clients = """    - {name: A, recording: {file: long.rec, forms: @}}
    - {name: B, priority: 1, recording: b.rec, repeat: {releases: [1 ms, 9 ms]}}
"""

        def times(forms, out):
            self.play(clients.replace("@", forms), lambda text: text.replace("passthrough", "piv") + "grant: job\n", out)
            return self.times("A", out), self.times("B", out)

        gate = times("{default: gate}", "gate")
        loop = times("{default: loop}", "loop")
        prologue = times("{default: prologue}", "prologue")
        # A wave lasts 800 us. B, which asks for the GPU in A's second wave, has it when that is over, or with the kernel.
        self.assertGreater(gate[1][0], 7_000_000)
        self.assertLess(loop[1][0], 1_300_000)
        claims = -(-73 * 8 * 4224 // 100)
        self.assertEqual(prologue[1][0], loop[1][0] + claims)
        for number, (forms, expected) in enumerate([
                ("{kernels: {_Z1k*: prologue, '*': loop}}", prologue), ("{kernels: {_Z2*: prologue}, default: loop}", loop),
                ("kernels.json", prologue), ("{inspected: slices.json, default: prologue}", gate),
                ("{inspected: kernels.json, kernels: {'*': gate}}", gate), ("{default: prologue, worth: 8 ms}", gate),
                ("{default: prologue, worth: 7999999 ns}", prologue), ("{default: prologue, block_time: 190 ns}", gate),
                ("{default: prologue, block_time: 189 ns}", prologue),
                ("{default: {name: prologue, params: {claim_ns: 0}}}", loop)]):
            with self.subTest(forms):
                self.assertEqual(times(forms, f"forms{number}"), expected)

    def test_standalone_times_of_a_scaled_program_are_those_with_nobody_else_there(self):
        self.play("    - {name: A, recording: {file: a.rec, scale: {kernels: 2}}}\n    - {name: B, recording: b.rec}\n")
        self.assertEqual(self.times(column="standalone_ns"), [4_012_000] * 3)
        self.assertTrue(all(time > 4_012_000 for time in self.times()[:1]))

    def test_jobs_of_a_range_at_the_pace_of_requests(self):
        self.play("    - {name: A, recording: {file: a.rec, jobs: {from: 1, to: 2}}, repeat: {releases: [0 ms, 1 ms, 9 ms]}}\n")
        # The second one begins when the first is over and what the program does between two jobs, 100 us, is done.
        self.assertEqual(self.times(column="arrival_ns"), [0, 1_000_000, 9_000_000])
        self.assertEqual(self.times(), [2_012_000, 3_124_000, 2_012_000])

    def test_more_jobs_than_were_recorded_begin_again_from_the_first(self):
        self.play("    - {name: A, recording: a.rec, repeat: {jobs: 7}}\n")
        self.assertEqual(self.times(), [2_012_000] * 7)

    def test_compressed_recordings_have_the_same_results(self):
        with gzip.open(self.folder / "a.rec.gz", "wb") as packed:
            packed.write((self.folder / "a.rec").read_bytes())
        self.play(out="plain")
        self.play(CLIENTS.replace("a.rec", "a.rec.gz"), out="packed")
        plain, packed = ({name: data for name, data in contents(self.folder / out).items() if name != "manifest.json"}
                         for out in ("plain", "packed"))
        self.assertEqual(plain, packed)

    def test_a_grant_of_the_experiment_leaves_alone_those_who_hand_out_none(self):
        policies = lambda text: text.replace("[passthrough]", "[passthrough, fcfs, edf, disengaged-timeslice]\ngrant: job")
        self.play(CLIENTS + "    - {name: B, recording: b.rec}\n", policies)
        self.assertEqual({row["policy"] for row in table(self.folder / "out/clients.csv")},
                         {"passthrough", "fcfs", "edf", "disengaged-timeslice"})
        self.refused_by("grant: job", "policies.0.grant", lambda text: text.replace("[passthrough]", "[{name: passthrough, grant: job}]"))

    def test_clients_stay_on_the_gpu_where_they_were_placed(self):
        """A uses a GPU nearly all the time, B three quarters, C less than A alone. In turn A and C share the first."""
        clients = "".join(f"    - {{name: {name}, recording: {file}, repeat: {{jobs: 6}}}}\n" for name, file in
                          (("A", "a.rec"), ("B", "b.rec"), ("C", "b.rec")))
        two = lambda text: text + "set: {device.gpus: 2, device.time_slice: {length: 1 ms, switch: 0 ms}}\n"
        self.play(clients, two, "turns")
        self.assertEqual(set(self.times("B", "turns")), {311_000})
        self.assertGreater(self.times("C", "turns")[0], 311_000)
        self.play(clients, lambda text: two(text) + "place: least-used\n", "least")
        self.assertEqual(set(self.times("A", "least")), {2_012_000})
        self.assertGreater(self.times("C", "least")[0], 311_000)
        self.refused_by("'best'", "place", lambda text: text + "place: best\n")

    def test_a_place_is_for_recorded_programs(self):
        self.refused_by("least-used for clients with kernels", "place", lambda text: text + "place: least-used\n",
                        clients="    - {name: A, kernels: [{name: k, block_tasks: 1, time: 1 ms}]}\n")

    def test_timelines_show_who_has_the_gpu_under_every_kind_of_policy(self):
        policies = lambda text: text.replace("[passthrough]", "[passthrough, fcfs, frs, disengaged-timeslice]\ngrant: job")
        self.file("e.yaml", policies(EXPERIMENT.replace("@CLIENTS@", CLIENTS + "    - {name: B, recording: b.rec}\n")))
        self.gangway("run", "e.yaml", "--out", "out", "--trace")
        traces = sorted((self.folder / "out").rglob("*.json.gz"))
        self.assertEqual(len(traces), 4)
        for path in traces:
            events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
            spans = [event for event in events if event["ph"] == "X" and event["name"] in ("running", "draining")]
            # A has two kernels of 1 ms in each of three jobs, B one of 300 us in each of five.
            self.assertGreaterEqual(sum(span["dur"] for span in spans), 2 * 3 * 1000 + 5 * 300, path)
            owner = [event for event in events if event["ph"] == "X" and (event["pid"], event["tid"]) == (2, 1)]  # of the GPU
            self.assertGreaterEqual(sum(span["dur"] for span in owner), 2 * 3 * 1000 + 5 * 300, path)
            for before, after in itertools.pairwise(sorted(owner, key=lambda span: span["ts"])):
                self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 1e-3, path)

    def test_a_recording_of_another_device_is_played_and_said(self):
        done = self.play()
        self.assertIn("note: A: recorded on A GPU (132 SMs, 64 GiB), played on h100 (132 SMs, 80 GiB)", done.stderr)
        self.assertEqual(manifest(self.folder / "out")["recordings"], [
            {"client": "A", "gpu": "A GPU", "sms": 132, "memory": 64 << 30,
             "device": {"name": "h100", "sms": 132, "memory": 80 << 30}, "another_device": True}])
        done = self.play(change=lambda text: text + "set: {device.memory: 64 GiB}\n", out="same")
        self.assertNotIn("recorded on", done.stderr)
        self.assertFalse(manifest(self.folder / "same")["recordings"][0]["another_device"])
        done = self.play(change=lambda text: text.replace("h100", "titan-x-pascal")
                         + "set: {device.memory: 64 GiB, device.time_slice: {length: 2 ms, switch: 0 ms}}\n", out="fewer")
        self.assertIn("played on titan-x-pascal (28 SMs, 64 GiB)", done.stderr)

    def test_what_is_not_modelled_under_mps_is_said(self):
        beside = CLIENTS + "    - {name: B, recording: b.rec}\n"
        mps = lambda text: text.replace("[passthrough]", "[passthrough, {name: passthrough, label: mps, device: {arbitration: mps}}]")
        done = self.play(beside, change=mps)
        self.assertIn("note: mps: kernels of several programs under MPS wait for room;", done.stderr)
        self.assertIn("note: A, B: kernels of its graphs are not known, so that under MPS they neither wait", done.stderr)
        self.assertEqual(manifest(self.folder / "out")["best_cases"], ["mps"])
        for clients, change in ((CLIENTS, mps), (beside, lambda text: text)):
            done = self.play(clients, change=change, out="other")
            self.assertNotIn("under MPS", done.stderr)
            self.assertNotIn("best_cases", manifest(self.folder / "other"))
            shutil.rmtree(self.folder / "other")

    def test_what_a_recording_holds_decides_where_results_belong(self):
        self.play()
        (self.folder / "moved").mkdir()
        (self.folder / "a.rec").rename(self.folder / "moved/a.rec")
        done = self.play(CLIENTS.replace("a.rec", "moved/a.rec"))
        self.assertIn("already holds these results", done.stdout + done.stderr)
        program(self.folder / "a.rec", kernels=(1_000_001, 1_000_000))
        self.file("e.yaml", EXPERIMENT.replace("@CLIENTS@", CLIENTS))
        self.gangway("run", "e.yaml", "--out", "out", code=2)

    def test_another_build_or_an_edited_recording_is_taken_apart_anew(self):
        self.play()
        kept = self.folder / "a.rec.played"
        first = kept.read_bytes()
        subprocess.run([self.another_build(), "run", "e.yaml", "--out", "other"], cwd=self.folder, check=True, capture_output=True)
        self.assertNotEqual(kept.read_bytes()[:64], first[:64])
        with contextlib.closing(sqlite3.connect(self.folder / "a.rec")) as recording, recording:
            recording.execute("UPDATE works SET length = length + 500000 WHERE id = 0")  # its identity stays
        self.play(out="edited")
        self.assertNotEqual(self.times(out="edited"), self.times())

    def refused_by(self, found, key, change=lambda text: text, clients=CLIENTS):
        self.file("bad.yaml", change(EXPERIMENT.replace("@CLIENTS@", clients)))
        done = self.gangway("run", "bad.yaml", "--out", "bad", code=2)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(f"key '{key}': ", done.stderr)
        self.assertIn(found.replace("grant: ", ""), done.stderr)

    def test_bad_input(self):
        client = "    - {name: A, recording: @}\n"
        self.file("other.rec", EXPERIMENT)
        self.refused_by("other.rec: another kind of file", "workload.clients.0.recording.file", clients=client.replace("@", "{file: other.rec}"))
        for text, key, found in (
                ("none.rec", "workload.clients.0.recording", "none.rec"),
                ("{file: none.rec}", "workload.clients.0.recording.file", "none.rec"),
                ("{jobs: all}", "workload.clients.0.recording.file", "nothing"),
                ("{file: a.rec, job: all}", "workload.clients.0.recording.job", "unknown key"),
                ("{file: a.rec, jobs: {from: 2, to: 1}}", "workload.clients.0.recording.jobs.to", "1"),
                ("{file: a.rec, jobs: {from: 0, to: 3}}", "workload.clients.0.recording.jobs.to", "3"),
                ("{file: a.rec, jobs: {from: 1}}", "workload.clients.0.recording.jobs.to", "nothing"),
                ("{file: a.rec, order: random}", "workload.clients.0.recording.order", "'random'"),
                ("{file: a.rec, scale: {kernels: 0}}", "workload.clients.0.recording.scale.kernels", "0"),
                ("{file: a.rec, scale: {kernels: -1}}", "workload.clients.0.recording.scale.kernels", "-1"),
                ("{file: a.rec, scale: {gpu: 2}}", "workload.clients.0.recording.scale.gpu", "unknown key"),
                ("{file: a.rec, forms: none.json}", "workload.clients.0.recording.forms", "none.json"),
                ("{file: a.rec, forms: a.rec}", "workload.clients.0.recording.forms", "another kind of file"),
                ("{file: a.rec, forms: {default: sliced}}", "workload.clients.0.recording.forms.default", "'sliced'"),
                ("{file: a.rec, forms: {default: {name: proxy}}}", "workload.clients.0.recording.forms.default.name", "'proxy'"),
                ("{file: a.rec, forms: {kernels: prologue}}", "workload.clients.0.recording.forms.kernels", "'prologue'"),
                ("{file: a.rec, forms: {kernels: {k: {name: loop, params: {claim_ns: 1}}}}}",
                 "workload.clients.0.recording.forms.kernels.k.params.claim_ns", "unknown key"),
                ("{file: a.rec, forms: {worth: 3}}", "workload.clients.0.recording.forms.worth", "3"),
                ("{file: a.rec, busy: no}", "workload.clients.0.recording.busy", "'no'"),
                ("a.rec, kernels: [{name: k, block_tasks: 1, time: 1 ms}]", "workload.clients.0.recording", "both recording and kernels"),
                ("a.rec, native: true", "workload.clients.0.recording", "both recording and native")):
            with self.subTest(text):
                self.refused_by(found, key, clients=client.replace("@", text))

    def test_beside_kernels_and_on_devices_that_do_not_say_how_they_share(self):
        self.refused_by("a client with kernels", "workload.clients.B",
                        clients=CLIENTS + "    - {name: B, kernels: [{name: k, block_tasks: 1, time: 1 ms}]}\n")
        self.refused_by("whose time slices are not known", "workload.clients", lambda text: text.replace("h100", "titan-x-pascal"))
        self.refused_by("time slices of 2.091 ms are no longer than what stopped kernels take to go on (3 ms)", "device.time_slice",
                        lambda text: text + "set: {device.time_slice.resume_full: 3 ms}\n")
        self.refused_by("kernel", "grant", lambda text: text.replace("passthrough", "fcfs"))

    def test_a_recording_that_was_cut_off_is_refused_at_any_byte(self):
        for name, pack in (("a.rec", lambda data: data), ("b.rec", gzip.compress)):
            whole = pack((self.folder / name).read_bytes())
            for size in [0, 1, 10, 99, *range(100, len(whole), max(1, len(whole) // 20)), len(whole) - 1]:
                (self.folder / "cut.rec").write_bytes(whole[:size])
                self.refused_by("cut.rec", "workload.clients.0.recording", clients=CLIENTS.replace("a.rec", "cut.rec"))


if __name__ == "__main__":
    unittest.main()
