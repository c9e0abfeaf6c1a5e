"""Profiles of programs with several threads, and with clocks that differ: what is made of them, by hand."""

import contextlib
import json
import sqlite3

from made_profiles import Nsys, TID
from program import ProgramTest, table

EXPERIMENT = """kind: experiment
version: 1
name: threads
workload: {kind: workload, version: 1, name: threads, clients: [{name: A, recording: @}]}
device: {kind: device, version: 1, name: d, sms: 132, sm: {threads: 2048, blocks: 32, registers: 65536, shared_memory: 228 KiB}, arbitration: mps}
mechanism: ideal
policies: [passthrough]
"""
MS, US = 1_000_000, 1_000
SLOWED = "note: A: recording slowed the host, so jobs may take less than is taken here: record --overhead measures how much, recording.alone says it"


class Threads(ProgramTest):
    def imported(self, profile, jobs="sync"):
        return self.gangway("import", "nsys", profile.write(self.folder / "p.sqlite"), "--out", "a.rec", "--jobs", jobs, "--force")

    def listed(self):
        return self.gangway("list", "a.rec").stdout

    def play(self, recording="a.rec"):
        """The note lines of a run alone, its jobs and its summary."""
        self.file("e.yaml", EXPERIMENT.replace("@", recording))
        done = self.gangway("run", "e.yaml", "--out", "out", "--force")
        notes = [line for line in done.stderr.splitlines() if "A: " in line and "recorded on" not in line and "unknown to its profile" not in line]
        return notes, table(self.folder / "out/jobs.csv"), table(self.folder / "out/summary.csv")[0]

    def job(self, profile, at, length, stream=7, tid=TID, host=2 * US, spare=5 * US):
        """A kernel and a wait for it; returns when that is over."""
        profile.kernel(at, at + host, at + host, at + host + length, stream=stream, tid=tid)
        profile.sync(at + 2 * host, at + host + length + spare, stream=stream, tid=tid)
        return at + host + length + spare

    def test_jobs_of_two_threads_with_calls_between_them(self):
        profile = Nsys("2025")
        for j in range(6):
            at = j * 100 * MS + MS
            profile.range("request", at, at + 98 * MS)
            self.job(profile, at + 10 * US, 80 * MS)
        for j in range(30):
            at = j * 20 * MS + 5 * MS
            profile.call("cudaMallocAsync_v11020", at - MS, at - MS + 10 * US, tid=2)
            profile.range("request", at, at + 10 * MS, tid=2)
            self.job(profile, at + 10 * US, 8 * MS, stream=13, tid=2)
        self.imported(profile, "nvtx:request")
        notes, jobs, summary = self.play()
        self.assertEqual(notes, [])
        self.assertEqual((len(jobs), {job["outcome"] for job in jobs}), (36, {"finished"}))
        self.assertAlmostEqual(float(summary["antt"]), 1, delta=0.001)
        self.assertAlmostEqual(float(summary["concurrency_efficiency"]), 1, delta=0.001)

    def test_work_that_belongs_to_no_job_is_told(self):
        """Of each 100 ms the GPU works for 10 in a job and for 20 between two, for another thread."""
        profile = Nsys("2025")
        for j in range(8):
            at = j * 100 * MS + MS
            profile.range("step", at, at + 15 * MS)
            self.job(profile, at + 10 * US, 10 * MS)
            self.job(profile, at + 20 * MS, 20 * MS, stream=13, tid=2)
        self.imported(profile, "nvtx:step")
        self.assertIn("unplayed  140 ms of GPU work between the first job and the last belong to no job", self.listed())
        notes, _, _ = self.play()
        self.assertEqual(notes, ["note: A: 64 % of its time on the GPU belong to no job and are not played"])

    def test_a_thread_that_helps_once_stays_one_of_its_own(self):
        profile = Nsys("2025")
        for j in range(8):
            self.job(profile, j * 100 * MS + MS, MS)
        for k in range(80):
            at = k * 10 * MS + 3 * MS
            profile.kernel(at, at + 2 * US, at + 2 * US, at + 9_900 * US, stream=13, tid=2)
        profile.kernel(101_500 * US, 101_502 * US, 102_900 * US, 102_950 * US, stream=13, tid=2)
        self.imported(profile)
        self.assertEqual(json.loads(self.gangway("list", "a.rec", "--json").stdout)["job_count"], 8 + 40)
        notes, jobs, summary = self.play()
        self.assertEqual((notes, len(jobs)), ([], 48))
        self.assertGreater(float(summary["utilisation"]), 0.95)

    def test_requests_of_threads_whose_work_another_one_submits(self):
        """They are under way beside each other: two requests of 20 ms each 20 ms."""
        profile = Nsys("2025")
        for j in range(10):
            for tid, late in ((2, 0), (3, 10 * MS)):
                at = j * 20 * MS + MS + late
                profile.range("request", at, at + 19 * MS, tid=tid)
                self.job(profile, at + MS, 5 * MS, tid=TID)
        self.imported(profile, "nvtx:request")
        notes, jobs, summary = self.play()
        self.assertEqual((notes, len(jobs)), ([SLOWED], 20))
        self.assertAlmostEqual(float(summary["antt"]), 1, delta=0.001)
        self.assertAlmostEqual(float(summary["makespan_ns"]) / (199 * MS), 1, delta=0.01)  # each thread begins its first one at once

    def test_clocks_that_differ_are_told(self):
        profile = Nsys("2025")
        for j in range(10):
            at = j * 12 * MS + 10 * MS
            profile.kernel(at, at + 2 * US, at - 5 * MS, at + 5 * MS)
            profile.sync(at + 4 * US, at + 10 * MS)
        told = self.imported(profile).stderr
        self.assertIn("10 of 10 submissions begin before their calls, by up to 5 ms: the clocks of GPU and host differ", told)
        notes, jobs, _ = self.play()
        self.assertRegex("\n".join(notes), r"note: A: played alone, its jobs take 15\S* ms on the average, \+50 % from the recorded 10 ms; what is "
                                           r"predicted of it may be off by as much$")

    def test_work_before_the_first_call_overlaps_nothing(self):
        profile = Nsys("2025")
        profile.kernel(MS, MS + 2 * US, MS - 20 * US, 6 * MS)
        profile.sync(MS + 4 * US, 6 * MS + 5 * US)
        self.imported(profile)
        self.assertNotIn("overlap", self.listed())

    def test_a_program_that_asks_until_its_work_is_over_waits(self):
        profile = Nsys("2025")
        for j in range(6):
            at = j * 20 * MS + MS
            profile.kernel(at, at + 2 * US, at + 2 * US, at + 3 * MS)
            profile.call("cudaStreamQuery_v3020", at + 3 * MS + 2 * US, at + 3 * MS + 4 * US)
        self.imported(profile)
        self.assertEqual([job["length_ns"] for job in json.loads(self.gangway("list", "a.rec", "--json").stdout)["job_times"]], [3 * MS + 4 * US] * 6)

    def test_the_unrecorded_median_is_that_of_all_jobs(self):
        """Of jobs of 1, 10 and 10 ms it is 10; a tenth less unrecorded is the recorder's, and scales the host."""
        profile, at = Nsys("2025"), MS
        for length in (1, 10, 10):
            profile.kernel(at, at + 2 * US, at + 2 * US, at + 4 * US)
            profile.sync(at + length * MS - 10 * US, at + length * MS)
            at += (length + 2) * MS
        self.imported(profile)
        with contextlib.closing(sqlite3.connect(self.folder / "a.rec", isolation_level=None)) as recording:
            recording.execute("INSERT OR REPLACE INTO about VALUES ('unrecorded', 9000000)")
        notes, jobs, _ = self.play()
        self.assertIn("scaled by 0.90", "\n".join(notes))
        self.assertAlmostEqual(sum(int(job["response_ns"]) for job in jobs) / (0.9 * 21 * MS), 1, delta=0.01)
