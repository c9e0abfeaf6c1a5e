"""Programs of experiments that end too early, crash, hang or are two; and runs that end before their programs."""

import json
import shutil
import signal
import subprocess
import time
import unittest

from live_daemon import CLIENT, GANGWAY, LIMIT
from live_experiments import FOREVER, LiveExperiments, client, left_behind, loop, running


class LiveEndings(LiveExperiments):
    def test_a_program_that_ends_is_started_again_for_the_next_run(self):
        # Ten for warm-up, one in which that ends, then jobs for measuring and for the run.
        self.run_file(self.file(client("short", f"{{run: {loop(1, 200, 260)}, skip: 10}}", "repeat: {jobs: endless}"), "[passthrough, fcfs]"))
        rows = self.rows()
        for policy in ("passthrough", "fcfs"):
            jobs = [row for row in rows if row["policy"] == policy]
            self.assertGreaterEqual(len(jobs), 20)
            # The run is longer than the program.
            self.assertEqual([row["outcome"] for row in jobs[:-1]], ["finished"] * (len(jobs) - 1))
            self.assertEqual((jobs[-1]["outcome"], jobs[-1]["start_ns"]), ("program ended", ""))

    def notes(self, result):
        return [line for line in result.stderr.splitlines() if "its program ended" in line]

    def test_a_program_that_ends_too_early_is_said(self):
        # Alone it is measured with at most 250 jobs.
        clients = client("short", f"{{run: {loop(1, 2000, 300)}, skip: 5}}", "repeat: {jobs: endless}") + \
            client("timed", f"{{run: {loop(1, 2000, 300)}, skip: 5}}", "repeat: {jobs: endless, period: 4 ms}") + \
            client("long", loop(1, 500), "repeat: {jobs: endless}")
        result = self.run_file(self.file(clients, more="replications: 2\n", horizon="4 s"))
        notes = self.notes(result)
        rows = self.rows()
        cells = [(replication, name) for replication in "01" for name in ("short", "timed")]
        self.assertEqual(len(notes), len(cells), result.stderr)
        for replication, name in cells:
            jobs = [row for row in rows if (row["replication"], row["client"]) == (replication, name)]
            finished = sum(row["outcome"] == "finished" for row in jobs)
            self.assertLess(finished, 300)
            lost = jobs[finished]
            self.assertEqual((lost["outcome"], lost["finish_ns"]), ("program ended", ""))
            # Requests go on; the others follow each other.
            self.assertEqual({row["outcome"] for row in jobs[finished + 1:]}, {"unfinished"} if name == "timed" else set())
            [note] = [note for note in notes if f"under passthrough, replication {replication}: {name}: " in note]
            self.assertRegex(note, rf"^note: point 0 .* ended after {finished} jobs, \S+ m?s into a run of 4 s, so jobs are missing$")
        # Means and percentiles of what is left are bounds, and the folder says why.
        for row in self.rows("summary.csv"):
            self.assertEqual((row["understated"], row["percentiles"]), ("short|timed", "lower-bound"))
        manifest = json.loads((self.folder / "out/manifest.json").read_text())
        self.assertEqual(sorted("note: " + note for note in manifest["notes"]), sorted(notes))
        shutil.copytree(self.folder / "out", self.folder / "other")
        compared = subprocess.run([GANGWAY, "compare", "other", "out"], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertEqual(sum(line.startswith("note: other and out: point 0 under ") for line in compared.stderr.splitlines()), len(notes))
        manifest["notes"].remove(notes[0].removeprefix("note: "))
        (self.folder / "other/manifest.json").write_text(json.dumps(manifest))
        compared = subprocess.run([GANGWAY, "compare", "other", "out"], capture_output=True, text=True, cwd=self.folder)
        told = [line.split(": point")[0] for line in compared.stderr.splitlines() if ": point 0 under" in line]
        self.assertEqual(sorted(told), sorted(["note: out", *["note: other and out"] * (len(notes) - 1)]))

    def test_a_part_and_its_merge_say_who_ended_too_early(self):
        clients = client("short", f"{{run: {loop(1, 2000, 300)}, skip: 5}}", "repeat: {jobs: endless}") + \
            client("long", loop(1, 500), "repeat: {jobs: endless}")
        path = self.file(clients, horizon="2 s")
        part = self.run_file(path, "--points", "0")
        self.assertEqual(len(self.notes(part)), 1, part.stderr)
        merged = subprocess.run([GANGWAY, "merge", self.folder / "out", "--out", self.folder / "merged"], capture_output=True, text=True)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual(self.notes(merged), self.notes(part))
        self.assertEqual(["note: " + note for note in json.loads((self.folder / "merged/manifest.json").read_text())["notes"]], self.notes(part))

    def test_a_program_that_ends_with_its_jobs_is_no_news(self):
        # Of its 16 jobs 6 are for warm-up and 5 for what they take alone, if nobody is late.
        clients = client("done", f"{{run: {loop(1, 20000, 16)}, skip: 5}}", "repeat: {jobs: 5, think: 0 ms}") + \
            client("long", loop(1, 500), "repeat: {jobs: endless}")
        for _ in range(5):
            result = self.run_file(self.file(clients), "--force")
            finished = sum((row["client"], row["outcome"]) == ("done", "finished") for row in self.rows())
            self.assertEqual(len(self.notes(result)), finished < 5, result.stderr)
            if finished == 5:
                return
        self.fail(f"{finished} jobs")

    def test_a_crash_of_the_last_program_fails_its_run(self):
        clients = client("bad", f"{{run: {loop(1, 5000, 240, 'crash')}, skip: 5}}", "repeat: {jobs: endless}")
        result = self.run_file(self.file(clients, horizon="5 s"), code=1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("bad: its program ended with signal 6 at ", result.stderr)

    def test_a_crash_fails_its_run_alone(self):
        clients = client("good", loop(1, 200)) + client("bad", f"{{run: {loop(1, 5000, 240, 'crash')}, skip: 5}}")
        result = self.run_file(self.file(clients), code=1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("bad: its program ended with signal 6", result.stderr)
        self.assertIn("loop 240", result.stderr)  # its last line

    def test_a_program_that_never_becomes_warm(self):
        for command, text in (("[sh, -c, 'echo no model; exit 3']", "ended with exit code 3 before it was warm, after 0 of 10 jobs; its last line: no model"),
                              ("[no-such-program]", "exit code 127"), ("['true']", "ended with exit code 0 before it was warm")):
            result = self.run_file(self.file(client("a", command)), code=1)
            self.assertIn(text, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_a_job_that_does_not_end(self):
        result = self.run_file(self.file(client("stuck", f"{{run: {loop(1, 5000, 240, 'hang')}, skip: 5}}"), more="watchdog: 1 s\n", horizon="20 s"), code=1)
        self.assertIn("stuck: a job has not ended within 1 s (watchdog)", result.stderr)

    def test_a_failed_run_does_not_fail_the_next(self):
        # Alone it is measured with 200 jobs, which take more than half a second; in its first run it hangs, and for the second it is started anew, and does not.
        script = f"if [ -e hung ]; then exec {CLIENT} loop 1 5000 {FOREVER}; else touch hung; exec {CLIENT} loop 1 5000 240 hang; fi"
        result = self.run_file(self.file(client("stuck", f"{{run: [sh, -c, '{script}'], skip: 5}}"), policies="[passthrough, fcfs]",
                                         more="watchdog: 1 s\n", horizon="2 s"), code=1)
        self.assertEqual(result.stderr.splitlines()[0].count("a job has not ended within 1 s"), 1, result.stderr)
        self.assertIn("1 of 2 results failed", result.stderr)
        self.assertGreater(len(self.rows()), 50)

    def test_programs_that_end_between_permutations(self):
        text = self.file(client("short", f"{{run: {loop(1, 200, 300)}, skip: 5}}", "repeat: {jobs: endless}") + client("long", loop(1, 200), "repeat: {jobs: endless}"),
                         more="permutations: 2\n")
        text.write_text(text.read_text().replace("  clients:\n", "  arrivals: {gap: 1 ms, order: permuted}\n  clients:\n", 1))
        self.run_file(text)
        self.assertEqual({row["permutation"] for row in self.rows() if row["client"] == "short"}, {"0", "1"})

    def test_a_second_process_of_a_program(self):
        # Both are ended, so that the next run has one process and goes well.
        script = f"if [ -e twice ]; then exec {CLIENT} loop 1 200 {FOREVER}; else touch twice; {CLIENT} loop 1 200 {FOREVER} & exec {CLIENT} loop 1 200 {FOREVER}; fi"
        result = self.run_file(self.file(client("two", f"{{run: [sh, -c, '{script}'], skip: 5}}"), policies="[passthrough, fcfs]"), code=1)
        self.assertIn("two: a second process of its program uses the GPU", result.stderr)
        self.assertIn("1 of 2 results failed", result.stderr)
        self.assertEqual(len({row["policy"] for row in self.rows()}), 1)

    def started(self, path):
        """A run whose program is there."""
        process = subprocess.Popen([GANGWAY, "run", path, "--world", "live", "--out", self.folder / "out"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        end = time.monotonic() + 30
        while not running() and time.monotonic() < end:
            time.sleep(0.05)
        return process

    def test_an_interrupt_ends_the_programs(self):
        path = self.file(client("a", loop(1, 200)), horizon="100 s")
        process = self.started(path)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(left_behind(), [])

    def test_programs_end_with_a_killed_run(self):
        path = self.file(client("a", loop(1, 200)), horizon="100 s")
        process = self.started(path)
        time.sleep(0.5)
        process.kill()
        process.communicate()
        self.assertEqual(left_behind(), [])

if __name__ == "__main__":
    unittest.main()
