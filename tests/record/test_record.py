"""`gangway record` on programs that fork, crash, are interrupted or use no GPU, with a CUPTI of the tests', and
recordings in `check`, `list` and `trace`. What is in the files is read by recordings.py, which knows the page alone."""

import gzip
import json
import os
import random
import re
import signal
import sqlite3
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

import recordings

GANGWAY = os.environ["GANGWAY"]
RECORDED = os.environ.get("GANGWAY_RECORDED")  # where there are CUPTI's headers
CUPTI = os.environ.get("GANGWAY_TESTS_CUPTI")
STANDIN = os.environ.get("GANGWAY_STANDIN", "")  # folder of the stand-in driver
# Who is started in the background may ignore SIGINT, and whatever he starts would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)


def run(*arguments, **options):
    return subprocess.run([GANGWAY, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "a.rec"

    def line_of(self, result, code):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr.strip()


@unittest.skipUnless(RECORDED, "skipped: no CUPTI headers")
class Record(WithFolder):
    def record(self, what, *options, **more):
        environment = os.environ | more.pop("environment", {})
        return run("record", "--out", self.file, "--cupti", CUPTI, *options, "--", RECORDED, what, env=environment, **more)

    def nothing_is_left(self, *files):
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted(files))

    def read(self):
        return recordings.read(self.file)

    def test_jobs_of_a_program(self):
        result = self.record("jobs", "--skip", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "output of the program\n")
        r = self.read()
        self.assertEqual(len(r.works), 15)
        self.assertEqual([job["length"] for job in r.jobs], [46_300] * 5)
        self.assertEqual([job["warm_up"] for job in r.jobs], [1, 1, 0, 0, 0])
        self.assertEqual({row["name"] for row in r.tables["functions"]}, {"cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020"})
        self.assertEqual(r.tables["gpus"][0]["sms"], 4)
        self.assertEqual(r.tables["processes"][0]["finished"], 1)
        self.assertEqual(json.loads(r.about["command"]), [RECORDED, "jobs"])
        self.assertEqual(r.about["ending"], "exited")
        self.assertNotIn("PATH", "".join(map(str, r.about.values())))
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.assertIn("3 jobs (sync)", result.stderr)
        self.assertIn("step", result.stderr)
        self.assertIn("is written", result.stderr)
        self.nothing_is_left("a.rec")

    def test_calls_within_calls_belong_to_the_outer_ones(self):
        self.assertEqual(self.record("within").returncode, 0)
        r = self.read()
        self.assertEqual([r.tables["functions"][call["function"]]["name"] for call in r.calls],
                         ["cudaLaunchKernel_v7000"] * 4 + ["cudaStreamSynchronize_v3020"])
        self.assertEqual([call["length"] for call in r.calls[:4]], [2_000] * 4)
        self.assertEqual([work["call"] for work in r.works], [0, 1, 2, 3])

    def test_threads_that_come_and_go(self):
        self.assertEqual(self.record("threads").returncode, 0)
        r = self.read()
        self.assertEqual((len(r.works), len(r.jobs), r.about["lost"]), (60, 20, 0))
        self.assertEqual([job["length"] for job in r.jobs], [46_300] * 20)

    def test_ranges_and_the_whole(self):
        self.record("jobs", "--jobs", "nvtx:step")
        self.assertEqual(len(self.read().jobs), 5)
        self.assertEqual(self.record("jobs", "--jobs", "whole", "--force").returncode, 0)
        self.assertEqual(len(self.read().jobs), 1)

    def test_a_range_that_was_never_seen(self):
        result = self.record("jobs", "--jobs", "nvtx:stop")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.splitlines()[-1], "error: no NVTX range has the name 'stop': seen were 'step'")
        self.assertEqual(self.read().jobs, [])

    def test_a_program_that_uses_no_gpu(self):
        line = self.line_of(self.record("none"), 1)
        self.assertIn("never used a GPU", line)
        self.assertIn("submitted nothing", self.line_of(self.record("nothing"), 1))
        self.nothing_is_left()

    def test_a_program_that_fails(self):
        result = self.record("fail")
        self.assertEqual(result.returncode, 3)
        self.assertIn("exit code 3", result.stderr)
        self.assertEqual(len(self.read().jobs), 5)

    def test_a_program_that_crashes(self):
        result = self.record("crash")
        self.assertEqual(result.returncode, -signal.SIGABRT)
        self.assertIn("killed by signal 6", result.stderr)
        r = self.read()
        self.assertEqual(len(r.jobs), 5)
        self.assertEqual((r.about["ending"], r.about["code"]), ("killed", signal.SIGABRT))
        self.assertEqual(r.tables["processes"][0]["finished"], 0)
        self.nothing_is_left("a.rec")

    def test_a_program_that_leaves_without_its_exit_handlers(self):
        result = self.record("leave")
        self.assertEqual(result.returncode, 0)
        self.assertIn("1 of 1 processes ended without", result.stderr)
        self.assertEqual(len(self.read().jobs), 5)

    def test_an_interrupted_program(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                process = subprocess.Popen(
                    [GANGWAY, "record", "--out", self.file, "--force", "--cupti", CUPTI, "--", RECORDED, "wait"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
                self.assertEqual(process.stdout.readline(), "output of the program\n")
                self.assertEqual(process.stdout.readline(), "ready\n")
                if number == signal.SIGINT:
                    os.killpg(process.pid, number)  # as a terminal does
                else:
                    process.send_signal(number)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, -number, errors)
                self.assertEqual(len(self.read().jobs), 5)
                self.nothing_is_left("a.rec")

    def test_interrupted_while_the_recording_is_written(self):
        """From the program's end on the recorder itself is interrupted every millisecond, until it is gone."""
        script = 'front=$PPID; "$1" jobs; (i=0; while kill -INT $front && [ $((i += 1)) -lt 5000 ]; do sleep 0.001; done) >/dev/null 2>&1 &'
        for _ in range(50):  # on a busy machine it may be gone before the first interrupt
            result = run("record", "--out", self.file, "--force", "--cupti", CUPTI, "--", "/bin/sh", "-c", script, "sh", RECORDED)
            if result.returncode != 0:
                break
        self.assertEqual(result.returncode, -signal.SIGINT, result.stderr)
        self.nothing_is_left("a.rec")
        self.assertEqual(len(self.read().jobs), 5)

    def test_a_program_that_forks(self):
        self.assertEqual(self.record("fork").returncode, 0)
        r = self.read()
        self.assertEqual(len(r.tables["processes"]), 2)  # the child that executed nothing is none of them
        self.assertEqual(len(r.jobs), 11)
        self.assertEqual([p["finished"] for p in r.tables["processes"]], [1, 1])
        self.assertEqual(self.record("fork-first", "--force").returncode, 0)
        self.assertEqual(len(self.read().jobs), 7)

    def test_graphs_and_their_nodes(self):
        result = self.record("graphs")
        self.assertIn("timed as launched", result.stderr)
        self.assertEqual([work["kind"] for work in self.read().works], [3] * 5)
        result = self.record("graphs", "--graph-nodes", "--force")
        self.assertEqual(result.returncode, 0, result.stderr)
        r = self.read()
        self.assertEqual([(n["after"], n["length"], n["launches"]) for n in r.tables["nodes"]],
                         [(0, 10_000, 5), (12_000, 10_000, 5)])
        self.assertEqual(len(r.jobs), 5)
        self.assertEqual(result.stdout, "output of the program\n" * 2)

    def test_a_host_that_holds_the_gpu_up_would_be_faster_unrecorded(self):
        hint = "gangway: recording slows the host: with --overhead the program runs once more, unrecorded"
        for what, bottleneck in (("slow-host", "the host is"), ("jobs", "latencies are")):
            said = self.record(what, "--force").stderr
            self.assertIn(bottleneck + " the bottleneck", said)
            self.assertEqual(hint in said, what == "slow-host", said)
        self.assertNotIn(hint, self.record("slow-host", "--force", "--overhead").stderr)

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_overhead(self):
        result = self.record("jobs-for-real", "--overhead", "--skip", "3", environment={"LD_LIBRARY_PATH": STANDIN})
        self.assertEqual(result.stdout, "output of the program\n" * 2)
        found = re.search(r"overhead  median job: 46.3 us recorded, ([\d.]+) (us|ms) alone \(", result.stderr)
        self.assertIsNotNone(found, result.stderr)
        listed = json.loads(run("list", self.file, "--json").stdout)
        said = float(found[1]) * {"us": 1e3, "ms": 1e6}[found[2]]
        self.assertAlmostEqual(listed["job_unrecorded_ns"] / said, 1, delta=0.001)
        self.assertTrue(4e6 <= listed["job_unrecorded_ns"] < 20e6, listed["job_unrecorded_ns"])  # without the warm-up's 30 ms
        self.assertIn("when nobody records it", run("list", self.file).stdout)

    @unittest.skipUnless(STANDIN, "there is no stand-in driver")
    def test_an_overhead_that_cannot_be_known(self):
        for what, why in (("fewer-for-real", "there were 4 instead of 5"), ("jobs", "none was seen"), ("fail", "the program failed")):
            with self.subTest(what=what):
                result = self.record(what, "--overhead", "--force", environment={"LD_LIBRARY_PATH": STANDIN})
                self.assertIn(f"overhead  of jobs: unknown, because in the run without recording {why}\n", result.stderr)
                self.assertEqual(json.loads(run("list", self.file, "--json").stdout)["job_unrecorded_ns"], 0)

    def test_an_interrupted_program_is_not_run_again(self):
        command = ["record", "--out", self.file, "--cupti", CUPTI, "--overhead", "--graph-nodes", "--", RECORDED, "wait"]
        with subprocess.Popen([GANGWAY, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=os.environ | {"LD_LIBRARY_PATH": STANDIN}) as process:
            self.assertEqual([process.stdout.readline() for _ in range(2)], ["output of the program\n", "ready\n"])
            process.send_signal(signal.SIGTERM)
            try:
                stdout, stderr = process.communicate(timeout=20)
            finally:
                process.kill()
        self.assertEqual((stdout, process.returncode), ("", -signal.SIGTERM), stderr)
        self.assertEqual(len(self.read().jobs), 5)

    def test_cupti_is_missing_or_taken(self):
        line = self.line_of(run("record", "--out", self.file, "--cupti", self.folder / "libcupti.so", "--", RECORDED), 1)
        self.assertIn("CUPTI cannot be loaded", line)
        for how, text in (("taken", "another profiler is active in the program"), ("old", "CUPTI is of version 120000"),
                          ("unable", "an error of the tests'")):
            self.assertIn(text, self.line_of(self.record("jobs", environment={"TESTS_CUPTI": how}), 1))
        for variable in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
            line = self.line_of(self.record("jobs", environment={variable: "/opt/other.so"}), 1)
            self.assertIn(f"another profiler is active: {variable} is /opt/other.so", line)
        self.nothing_is_left()

    def test_files_and_programs_that_cannot_be(self):
        self.file.write_text("mine")
        self.assertIn("--force replaces it", self.line_of(self.record("jobs"), 2))
        self.assertEqual(self.file.read_text(), "mine")
        self.assertEqual(self.record("jobs", "--force").returncode, 0)
        line = self.line_of(run("record", "--out", self.folder / "no" / "a", "--cupti", CUPTI, "--", RECORDED), 1)
        self.assertIn("cannot write beside", line)
        self.line_of(run("record", "--out", self.folder / "b", "--", "/nothing/here"), 127)
        self.line_of(run("record", "--out", self.folder / "b", "--", "/"), 126)
        self.assertIn("--jobs", self.line_of(run("record", "--out", self.folder / "b", "--jobs", "sinc", "--", RECORDED), 2))
        self.assertEqual(run("record", "--", RECORDED).returncode, 2)
        self.line_of(run("record", "--out", self.folder / "b"), 2)


class Recordings(WithFolder):
    """Files that another program made, from the page."""

    def test_two_readers_agree(self):
        for seed in range(25):
            made = recordings.make(self.folder / f"{seed}.rec", random.Random(seed))
            result = run("list", made, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(recordings.differences(recordings.read(made).summary(), json.loads(result.stdout)), [], seed)

    def test_check_list_and_trace(self):
        made = recordings.make(self.file, random.Random(3))
        self.assertEqual(run("check", made).stdout, f"{made}: recording, fine\n")
        self.assertIn("GPU 0", run("list", made).stdout)
        result = run("trace", made)
        self.assertEqual(result.returncode, 0, result.stderr)
        with gzip.open(f"{made}.json.gz", "rt") as file:
            events = json.load(file)["traceEvents"]
        r = recordings.read(made)
        spans = [e for e in events if e["ph"] == "X"]
        self.assertEqual(sum("grid" in e.get("args", {}) for e in spans), sum(w["kind"] == 0 for w in r.works))
        self.assertEqual(sum(e["ph"] == "s" for e in events), len(r.works))
        works = sorted(round(e["ts"] * 1000) for e in events if e["ph"] == "f")
        self.assertEqual(works, sorted(w["begin"] for w in r.works))

    def test_a_trace_that_may_not_be_longer(self):
        made = recordings.make(self.file, random.Random(3), jobs=2000)
        out = self.folder / "short.json"
        result = run("trace", made, "--out", out, "--trace-limit", "64 KiB")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("because the --trace-limit", result.stderr)
        self.assertLessEqual(out.stat().st_size, 64 << 10)
        json.loads(out.read_text())
        self.line_of(run("trace", made, "--out", out, "--trace-limit", "1 KiB"), 2)

    def test_cut_off_at_any_byte(self):
        made = recordings.make(self.file, random.Random(5), jobs=3)
        whole = made.read_bytes()
        for size in [*range(0, 120), *range(120, len(whole), 4001), len(whole) - 1]:
            made.write_bytes(whole[:size])
            self.line_of(run("check", made), 2)
        made.write_bytes(whole)
        self.assertEqual(run("check", made).returncode, 0)

    def test_damaged(self):
        made = recordings.make(self.file, random.Random(6))
        with sqlite3.connect(made) as database:
            database.execute("UPDATE works SET call = 1000000000 WHERE id = 2")
        database.close()
        self.assertIn("table works, row 2", self.line_of(run("check", made), 2))
        for command in (["list", made], ["trace", made]):
            self.line_of(run(*command), 2)


if __name__ == "__main__":
    unittest.main()
