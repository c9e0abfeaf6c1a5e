"""Result folders: taken up again, replaced, shared, cut off, out of space."""

import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import unittest
import unittest.mock

from program import ROOT, SLOW, SLOW_GROUPS, SMALL, TINY, ProgramTest, contents, finished_groups, interrupt_in_the_middle, manifest, table

FINAL = {"summary.csv", "clients.csv", "replications.csv", "jobs.csv", "published.csv"}


class Again(ProgramTest):
    def setUp(self):
        super().setUp()
        self.experiment = self.file("e.yaml", SMALL)
        self.out = self.folder / "results"
        self.gangway("run", self.experiment, "--out", self.out)

    def test_a_complete_folder_stays_as_it_is(self):
        before = contents(self.out, manifest=True)
        self.assertEqual(set(before), FINAL | {"manifest.json"})
        done = self.gangway("run", self.experiment, "--out", self.out)
        self.assertIn("already", done.stdout)
        self.assert_same_files(contents(self.out, manifest=True), before)

    def test_another_configuration_is_refused(self):
        before = contents(self.out, manifest=True)
        message = self.refused("run", self.experiment, "--out", self.out, "--seed", 7)
        self.assertIn("another configuration", message)
        self.assertIn("--force", message)
        self.assert_same_files(contents(self.out, manifest=True), before)

    def test_a_data_file_that_changed_is_another_configuration(self):
        data = self.folder / "data"
        for name in ("workloads/frs-table1.yaml", "models/devices/titan-x-pascal.yaml"):
            (data / name).parent.mkdir(parents=True)
            shutil.copy(ROOT / name, data / name)
        with unittest.mock.patch.dict(os.environ, {"GANGWAY_DATA": str(data)}):
            self.assertIn("already", self.gangway("run", self.experiment, "--out", self.out).stdout)
            for name, old, new in (("workloads/frs-table1.yaml", "ms", "us"), ("models/devices/titan-x-pascal.yaml", "sms: 28", "sms: 27")):
                text = (data / name).read_text()
                (data / name).write_text(text.replace(old, new, 1))
                self.assertIn("another configuration", self.refused("run", self.experiment, "--out", self.out))
                (data / name).write_text(text)

    def test_force_replaces_results_and_nothing_else(self):
        (self.out / "notes.txt").write_text("mine")
        self.gangway("run", self.experiment, "--out", self.out, "--seed", 7, "--force")
        self.gangway("run", self.experiment, "--out", self.folder / "fresh", "--seed", 7)
        after = contents(self.out)
        self.assertEqual(after.pop("notes.txt"), b"mine")
        self.assert_same_files(after, contents(self.folder / "fresh"))

    def test_a_folder_of_somebody_else_is_refused(self):
        for number, names in enumerate((["notes.txt"], ["summary.csv"], ["parts/thesis.txt"], ["trace/photo.json"], [".hidden"])):
            with self.subTest(names=names):
                out = self.folder / str(number)
                for name in names:
                    (out / name).parent.mkdir(parents=True, exist_ok=True)
                    (out / name).write_text("mine")
                before = contents(out)
                message = self.refused("run", self.experiment, "--out", out)
                first = names[0].split("/")[0]
                self.assertEqual(message, f"error: {out}: key '--out': found a folder that holds '{first}' and no results of "
                                          "gangway, expected an empty folder, or --force")
                self.assertEqual(sorted(path.name for path in out.iterdir()), [first], "nothing was made")
                self.assert_same_files(contents(out), before)
                self.gangway("run", self.experiment, "--out", out, "--force")
                for name in set(names) - {"summary.csv"}:
                    self.assertEqual((out / name).read_text(), "mine")

    def test_folders_that_are_everybodys_are_refused(self):
        home = self.folder / "home"
        home.mkdir()
        for out, found in {"/": "the root of the file system", "/tmp/..": "the root of the file system",
                           home: "a home directory", f"{home}/../home/.": "a home directory"}.items():
            for force in ([], ["--force"]):
                with self.subTest(out=out, force=force), unittest.mock.patch.dict(os.environ, {"HOME": str(home)}):
                    message = self.refused("run", self.experiment, "--out", out, *force)
                    self.assertIn(f"key '--out': found {found}, expected a separate folder for the results", message)
        self.assertEqual(list(home.iterdir()), [])
        self.assertFalse(os.path.exists("/parts"))

    def test_files_beside_results_stay(self):
        (self.out / "figure.png").write_text("mine")
        self.gangway("run", self.experiment, "--out", self.out)
        (self.out / "summary.csv").unlink()
        self.gangway("run", self.experiment, "--out", self.out, "--trace")
        self.gangway("run", self.experiment, "--out", self.out, "--seed", 7, "--force")
        self.assertEqual((self.out / "figure.png").read_text(), "mine")

    def test_a_file_of_somebody_else_where_one_of_ours_belongs(self):
        (self.out / "jobs.csv").unlink()
        without = ["run", self.experiment, "--set", "jobs=false", "--out", self.folder / "no-jobs"]
        self.gangway(*without)
        listed = json.loads((self.folder / "no-jobs/manifest.json").read_text())["files"]
        self.assertEqual(sorted(listed), ["clients.csv", "published.csv", "replications.csv", "summary.csv"])
        trace = self.out / "trace/point-0-sjf-r0-p0.json.gz"
        trace.parent.mkdir()
        trace.write_text("mine")
        message = self.refused("run", self.experiment, "--out", self.out, "--trace")
        self.assertIn("found the file 'trace/point-0-sjf-r0-p0.json.gz', which gangway did not write", message)
        self.assertEqual(trace.read_text(), "mine")

    def test_what_is_missing_or_changed_is_made_anew(self):
        self.gangway("run", self.experiment, "--out", self.out, "--trace")
        before = contents(self.out)
        for name in sorted(before):
            for damage, said in ((lambda path: path.unlink(), "is missing"),
                                 (lambda path: path.write_bytes(path.read_bytes()[:-9] + b"9,9,9,9,9"), "has changed")):
                with self.subTest(file=name, damage=said):
                    damage(self.out / name)
                    done = self.gangway("run", self.experiment, "--out", self.out)
                    self.assertRegex(done.stderr, r"\Anote: [^\n]*(: made anew|, so they are made again)\n\Z")
                    if not name.startswith("trace/"):
                        self.assertIn(f"{name} {said}", done.stderr)
                    self.assert_same_files(contents(self.out), before)
        done = self.gangway("run", self.experiment, "--out", self.out)
        self.assertEqual((done.stdout, done.stderr), (f"{self.out} already holds these results\n", ""))

    def test_the_manifest_lists_every_file(self):
        self.gangway("run", self.experiment, "--out", self.out, "--trace")
        files = manifest(self.out)["files"]
        expected = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in contents(self.out).items()}
        self.assertEqual(files, expected)

    def test_a_manifest_runs_again(self):
        self.gangway("run", self.out / "manifest.json", "--out", self.folder / "again")
        self.assert_same_files(contents(self.out), contents(self.folder / "again"))
        self.assertIn("already", self.gangway("run", self.out / "manifest.json", "--out", self.out).stdout)

    def test_a_manifest_of_somebody_else_stays(self):
        for text in ("{\"identity\": 3}", "[]", "no JSON", ""):
            with self.subTest(manifest=text):
                (self.folder / "other").mkdir(exist_ok=True)
                (self.folder / "other/manifest.json").write_text(text)
                message = self.refused("run", self.experiment, "--out", "other")
                self.assertIn("other/manifest.json:1: key 'kind': found not the manifest of a result", message)
                self.refused("trace", "other")
                self.assert_same_files(contents(self.folder / "other", manifest=True), {"manifest.json": text.encode()})

    def test_traces_asked_for_later_are_written(self):
        self.gangway("run", self.experiment, "--out", self.out, "--trace")
        self.gangway("run", self.experiment, "--out", self.folder / "fresh", "--trace")
        self.assert_same_files(contents(self.out), contents(self.folder / "fresh"))


class Threads(ProgramTest):
    def test_any_number_of_threads_gives_the_same_bytes(self):
        experiment = self.file("e.yaml", SMALL.replace("replications: 2", "replications: 9"))
        for jobs in (1, 3, 8):
            self.gangway("run", experiment, "--out", self.folder / str(jobs), "--jobs", jobs, "--trace")
        one = contents(self.folder / "1")
        self.assertTrue(FINAL < set(one))
        self.assert_same_files(one, contents(self.folder / "3"))
        self.assert_same_files(one, contents(self.folder / "8"))


class CutOff(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.reference = None

    def setUp(self):
        super().setUp()
        self.experiment = self.file("slow.yaml", SLOW)
        self.out = self.folder / "results"

    def uninterrupted(self):
        """What an uninterrupted run gives; played once."""
        if CutOff.reference is None:
            self.gangway("run", self.experiment, "--out", self.folder / "reference")
            CutOff.reference = contents(self.folder / "reference")
        return CutOff.reference

    def check_parts(self):
        kept = finished_groups(self.out)
        self.assertTrue(2 <= kept < SLOW_GROUPS)
        self.assertFalse(FINAL & set(contents(self.out)))
        with contextlib.closing(sqlite3.connect(self.out / "parts/results.sqlite")) as parts:
            self.assertEqual(parts.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            for number, rows in parts.execute("SELECT number, rows FROM parts").fetchall():
                json.loads(rows)
                [(last,)] = parts.execute("SELECT text FROM texts WHERE number = ? ORDER BY piece DESC LIMIT 1", [number])
                self.assertTrue(last.endswith("\n"))
        return kept

    def check_resumption(self):
        self.gangway("run", self.experiment, "--out", self.out, "--jobs", 2)
        self.assert_same_files(contents(self.out), self.uninterrupted())
        self.assertTrue(manifest(self.out)["resumed"])

    def test_interruption_keeps_finished_groups_and_the_same_command_goes_on(self):
        out, error = interrupt_in_the_middle(self, self.out, "run", self.experiment)
        self.assertEqual(out, "")
        kept = self.check_parts()
        self.assertRegex(error, rf"\Ainterrupted: {kept} of {SLOW_GROUPS} [^\n]+\n\Z")
        self.check_resumption()

    def test_a_forced_run_that_is_interrupted_goes_on_without_force(self):
        self.gangway("run", self.file("tiny.yaml", TINY), "--out", self.out)
        _, error = interrupt_in_the_middle(self, self.out, "run", self.experiment, "--force")
        kept = self.check_parts()
        self.assertEqual(error, f"interrupted: {kept} of {SLOW_GROUPS} results kept in {self.out}; the same command without --force continues\n")
        self.check_resumption()

    def test_kill_loses_no_finished_group(self):
        process = self.start_and_wait_for_groups(self.out, 2, "run", self.experiment)
        self.end(process, signal.SIGKILL, -signal.SIGKILL)
        self.check_parts()
        self.check_resumption()

    def test_interrupted_again_and_again(self):
        for _ in range(3):  # each time it must have come further itself, as else it may not be ready for signals yet
            groups = finished_groups(self.out) + 1
            process = self.start_and_wait_for_groups(self.out, groups, "run", self.experiment)
            self.end(process, signal.SIGTERM, 130)
        self.check_resumption()

    def test_an_interrupted_folder_is_not_mixed_with_another_configuration(self):
        interrupt_in_the_middle(self, self.out, "run", self.experiment)
        before = contents(self.out)
        self.refused("run", self.experiment, "--out", self.out, "--seed", 7)
        self.assert_same_files(contents(self.out), before)

    def test_traces_asked_for_on_resumption_are_written(self):
        few = ["run", self.experiment, "--set", "permutations=7"]
        interrupt_in_the_middle(self, self.out, *few)
        self.gangway(*few, "--out", self.out, "--trace")
        self.assertEqual(len(list((self.out / "trace").iterdir())), SLOW_GROUPS)

    def test_two_processes_do_not_share_a_folder(self):
        first = self.start_and_wait_for_groups(self.out, 1, "run", self.experiment)
        message = self.refused("run", self.experiment, "--out", self.out, code=1)
        self.assertIn(str(self.out), message)
        self.refused("run", self.experiment, "--out", self.out, "--force", code=1)
        self.end(first, signal.SIGCONT, 0)
        self.assert_same_files(contents(self.out), self.uninterrupted())


    def test_parts_that_are_damaged_are_played_again(self):
        interrupt_in_the_middle(self, self.out, "run", self.experiment)
        store = self.out / "parts/results.sqlite"
        for damage in (b"", b"no database", store.read_bytes()[:5000], store.read_bytes()[:4096] + b"x" * 8192):
            with self.subTest(bytes=len(damage)):
                shutil.rmtree(self.folder / "damaged", ignore_errors=True)
                shutil.copytree(self.out, self.folder / "damaged")
                (self.folder / "damaged/parts/results.sqlite").write_bytes(damage)
                self.gangway("run", self.experiment, "--out", self.folder / "damaged", "--jobs", 2)
                self.assert_same_files(contents(self.folder / "damaged"), self.uninterrupted())

    def test_a_part_that_is_lost_is_played_again(self):
        interrupt_in_the_middle(self, self.out, "run", self.experiment)
        with contextlib.closing(sqlite3.connect(self.out / "parts/results.sqlite")) as parts, parts:
            parts.execute("DELETE FROM parts WHERE number = 0")
        self.check_resumption()


class AnotherBuild(ProgramTest):
    """Results of two programs are never mixed, whatever their sources are called."""

    def setUp(self):
        super().setUp()
        self.experiment = self.file("slow.yaml", SLOW.replace("permutations: 20", "permutations: 2"))
        self.out = self.folder / "results"

    def refused_by_another(self, *arguments):
        done = subprocess.run([self.another_build(), *map(str, arguments)], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"error: {self.out}: key '--out': found results of another build of gangway, "
                                      "expected an empty folder, or --force\n")

    def test_finished_results_of_another_build_are_refused(self):
        self.gangway("run", self.experiment, "--out", self.out)
        before = contents(self.out, manifest=True)
        self.refused_by_another("run", self.experiment, "--out", self.out)
        self.refused_by_another("run", self.out / "manifest.json", "--out", self.out)
        self.assert_same_files(contents(self.out, manifest=True), before)
        subprocess.run([self.another_build(), "run", self.experiment, "--out", self.out, "--force"], check=True, capture_output=True)
        after = manifest(self.out)
        self.assertEqual(after["program"], hashlib.sha256(self.another_build().read_bytes()).hexdigest())
        self.assertFalse(after["resumed"])
        before.pop("manifest.json")
        self.assert_same_files(contents(self.out), before)

    def test_half_done_results_of_another_build_are_refused(self):
        slow = self.file("slow.yaml", SLOW)
        interrupt_in_the_middle(self, self.out, "run", slow)
        kept = finished_groups(self.out)
        self.refused_by_another("run", slow, "--out", self.out)
        self.assertEqual(finished_groups(self.out), kept)

    def test_results_of_another_world_are_refused(self):
        experiment = self.file("tiny.yaml", TINY.replace("ideal", "flag-copy"))
        self.gangway("run", experiment, "--out", self.out)
        message = self.refused("run", experiment, "--out", self.out, "--world", "host")
        self.assertIn("found results of the world 'sim', expected an empty folder, or --force", message)

    def test_a_study_of_another_build_is_refused(self):
        study = self.file("study.yaml", "kind: study\nversion: 1\nname: s\ngenerator: uunifast-discard\nsets: 3\n".replace(
            "uunifast-discard", "{name: uunifast-discard, params: {tasks: 2, threads: 4, shortest: 5, longest: 9}}"))
        self.gangway("run", study, "--out", self.out)
        self.refused_by_another("run", study, "--out", self.out)
        before = contents(self.out)
        for name in ("summary.csv", "tightness.csv"):
            (self.out / name).unlink()
            done = self.gangway("run", study, "--out", self.out)
            self.assertIn(f"{name} is missing: made anew", done.stderr)
            self.assert_same_files(contents(self.out), before)


class Failures(ProgramTest):
    """Results that cannot be had leave the others alone."""

    def setUp(self):
        super().setUp()
        self.experiment = self.file("e.yaml", TINY.replace("[fcfs]", "[fcfs, sjf]") + "horizon: 1 ms\nsweep:\n"
                                                     "  workload.clients.A.kernels.k.time: [100 us, 5 ms, 200 us]\n")
        self.out = self.folder / "results"

    def test_one_failure_is_marked_and_tried_again(self):
        done = self.gangway("run", self.experiment, "--out", self.out, code=1)
        self.assertEqual(done.stderr, "error: point 1 under fcfs: no job finished\nerror: point 1 under sjf: no job finished\n"
                                      "error: 2 of 6 results failed; the same command tries these again\n")
        rows = table(self.out / "summary.csv")
        self.assertEqual([(row["point"], row["policy"]) for row in rows], [(str(p), q) for p in range(3) for q in ("fcfs", "sjf")])
        for row in rows:
            failed = row["point"] == "1"
            self.assertEqual(row["error"], "no job finished" if failed else "")
            self.assertEqual(row["antt"] == "", failed)
            self.assertEqual(row["workload.clients.A.kernels.k.time"], ["100 us", "5 ms", "200 us"][int(row["point"])])
        for name in ("clients.csv", "jobs.csv"):
            self.assertEqual({row["point"] for row in table(self.out / name)}, {"0", "2"})
        self.assertEqual(manifest(self.out)["failed"], 2)
        before = contents(self.out)
        again = self.gangway("run", self.experiment, "--out", self.out, code=1)
        self.assertEqual(again.stderr, done.stderr)
        self.assertTrue(manifest(self.out)["resumed"])
        self.assertEqual(manifest(self.out)["jobs"], 0, "what did not fail was played again")
        before.pop("parts/results.sqlite")
        after = contents(self.out)
        after.pop("parts/results.sqlite")
        self.assert_same_files(before, after)

    def test_the_same_bytes_on_any_number_of_threads(self):
        for jobs in (1, 4):
            self.gangway("run", self.experiment, "--out", str(jobs), "--jobs", jobs, code=1)
        for name in ("summary.csv", "clients.csv", "jobs.csv"):
            self.assertEqual((self.folder / "1" / name).read_bytes(), (self.folder / "4" / name).read_bytes())

    def test_when_all_fail_nothing_is_written_and_the_folder_is_free(self):
        message = self.refused("run", self.experiment, "--out", self.out, "--set", "horizon=1 us", code=1)
        self.assertIn("no job finished", message)
        self.assertFalse((self.out / "summary.csv").exists())
        self.gangway("run", self.experiment, "--out", self.out, "--set", "horizon=1 s")

    def test_values_that_do_not_go_together_are_found_where_they_are_played(self):
        """1,600 points are too many to be checked beforehand; each value by itself is fine."""
        text = TINY.replace("titan-x-pascal", "{kind: device, version: 1, name: d, sms: 1, sm: {threads: 2048, blocks: 32, "
                            "registers: 65536, shared_memory: 96 KiB}}")
        text += ("jobs: false\nsweep:\n  workload.clients.A.kernels.k.block.0: {from: 16, to: 640, step: 16}\n"
                 "  device.sm.threads: [2048, 1024, 512, 256, " + ", ".join(str(2048 - 32 * n) for n in range(1, 37)) + "]\n")
        done = self.gangway("run", self.file("pairs.yaml", text.replace("time:", "block: [16], time:")), "--out", self.out, code=1)
        rows = table(self.out / "summary.csv")
        self.assertEqual(len(rows), 1600)
        for row in rows:
            fits = int(row["workload.clients.A.kernels.k.block.0"]) <= int(row["device.sm.threads"])
            self.assertEqual(row["error"] == "", fits, row)
            self.assertIn("" if fits else "a block that fits on one SM", row["error"])
        self.assertIn("more in the column `error` of summary.csv", done.stderr)
        alone = self.file("alone.yaml", text.replace("time:", "block: [16], time:").replace("[2048, 1024", "[8, 1024"))
        self.assertIn("a block that fits", self.refused("run", alone, "--out", "alone"))


class Limits(ProgramTest):
    def test_threads_that_do_not_start_are_done_without(self):
        experiment = self.file("e.yaml", SMALL.replace("replications: 2", "replications: 300").replace("permutations: 3", "permutations: 1"))
        self.gangway("run", experiment, "--out", "reference", "--jobs", 2)
        done = self.limited(resource.RLIMIT_AS, 600 << 20, "run", experiment, "--out", "limited", "--jobs", 1000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Anote: \d+ of 1000 threads could be started \([^\n]+\)\n\Z")
        self.assert_same_files(contents(self.folder / "limited"), contents(self.folder / "reference"))

    def test_out_of_memory_is_one_line(self):
        clients = "".join(f"    - {{name: c{n}, kernels: [{{name: k, block_tasks: 9, time: 1 ms, count: 60000}}]}}\n" for n in range(8))
        text = TINY.replace("    - {name: A, kernels: [{name: k, block_tasks: 8, time: 10 us}]}\n", clients)
        done = self.limited(resource.RLIMIT_AS, 150 << 20, "run", self.file("e.yaml", text), "--out", self.folder / "out")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Aerror: [^\n]*(memory|bad_alloc)[^\n]*\n\Z")

    def test_memory_does_not_grow_with_the_number_of_points(self):
        def peak(points):
            text = TINY + f"sweep:\n  workload.clients.A.kernels.k.time: {{from: 1 us, to: {points} us, step: 1 us}}\n"
            experiment = self.file(f"{points}.yaml", text)
            kilobytes = self.peak_memory("run", experiment, "--out", self.folder / f"out-{points}", "--jobs", 2)
            with open(self.folder / f"out-{points}/summary.csv") as lines:
                self.assertEqual(sum(1 for _ in lines), points + 1)
            return kilobytes

        few, many = peak(200), peak(20_000)
        self.assertLess(many, few + 6_000, "KiB")

    def test_a_workload_that_the_sweep_leaves_alone_is_read_once(self):
        """A hundred points with 60,000 kernels each, of which every one by itself takes some 20 MB."""
        text = TINY.replace("time: 10 us", "time: 10 us, count: 60000").replace("[fcfs]", "[{name: rr, params: {quantum: 1 ms}}]")
        sweep = "sweep:\n  policies.rr.params.quantum: {from: 1 ms, to: 100 ms, step: 1 ms}\n"
        one = self.peak_memory("check", self.file("one.yaml", text))
        many = self.peak_memory("check", self.file("many.yaml", text + sweep))
        self.assertLess(many, one + 8_000)


class AtOnce(ProgramTest):
    def test_of_many_processes_one_runs_and_the_others_say_so(self):
        experiment = self.file("e.yaml", SMALL.replace("permutations: 3", "permutations: 1"))
        self.gangway("run", experiment, "--out", "reference")
        for attempt in range(25):
            out = self.folder / f"results{attempt}"
            processes = [self.start("run", experiment, "--out", out, "--jobs", 1) for _ in range(8)]
            for process in processes:
                error = process.communicate()[1]
                self.assertIn((process.returncode, error), {(0, ""), (1, f"error: another run is writing to {out}\n")})
            self.assert_same_files(contents(out), contents(self.folder / "reference"))


class NoRoom(ProgramTest):
    def setUp(self):
        super().setUp()
        self.experiment = self.file("e.yaml", SMALL.replace("permutations: 3", "permutations: 100"))

    def test_folders_that_cannot_be_made(self):
        self.file("file", "")
        for out, file in {"file": "file", "file/results": "file", "/dev/null": "/dev/null"}.items():
            for call in (["run", self.experiment], ["calibrate", "--world", "host"]):
                with self.subTest(out=out, call=call):
                    message = self.refused(*call, "--out", out)
                    self.assertEqual(message, f"error: {out}: key '--out': found the file '{file}', expected a folder")
        self.assertIn("/proc/results", self.refused("run", self.experiment, "--out", "/proc/results", code=1))
        self.assertEqual((self.folder / "file").read_text(), "")

    @unittest.skipUnless(os.getuid() != 0, "root may write everywhere")
    def test_folders_that_may_not_be_written(self):
        (self.folder / "locked").mkdir(mode=0o500)
        self.assertIn("denied", self.refused("run", self.experiment, "--out", "locked/results", code=1).lower())

    def disk(self, kilobytes):
        disk = self.folder / f"disk{kilobytes}"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", disk]
        if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("no file system of a given size can be mounted here")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        return disk

    def test_a_full_disk_keeps_what_is_finished_and_the_same_command_goes_on(self):
        self.disk(64)  # skips all of it where no file system can be mounted
        self.gangway("run", self.experiment, "--out", "reference")
        reference = contents(self.folder / "reference")
        whole = sum(map(len, reference.values())) // 1024
        kept = []
        for kilobytes in (4, whole // 4, whole // 2, whole, whole + 100, whole * 2 - 40):
            with self.subTest(kilobytes=kilobytes):
                disk = self.disk(kilobytes)
                out = disk / "results"
                message = self.refused("run", self.experiment, "--out", out, code=1)
                self.assertIn("No space left on device", message)
                self.assertIn(str(out), message)
                self.assertFalse((out / "manifest.json").exists())
                for name, text in contents(out).items():
                    self.assertFalse(name.endswith(".part"), name)
                    if name in FINAL:
                        self.assertEqual(text, reference[name])
                    elif name.endswith(".json"):
                        json.loads(text)
                kept.append(finished_groups(out))
                subprocess.run(["mount", "-o", "remount,size=100m", disk], check=True)
                self.gangway("run", self.experiment, "--out", out)
                self.assert_same_files(contents(out), reference)
        self.assertEqual(kept[0], 0)
        self.assertEqual(kept, sorted(kept))
        self.assertGreater(kept[-1], 0)


if __name__ == "__main__":
    unittest.main()
