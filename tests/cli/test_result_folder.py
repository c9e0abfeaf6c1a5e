"""Result folders: taken up again, replaced, shared, cut off, out of space."""

import json
import os
import signal
import subprocess
import unittest

from program import SLOW, SLOW_GROUPS, SMALL, ProgramTest, contents, finished_groups, interrupt_in_the_middle, manifest

FINAL = {"summary.csv", "clients.csv", "jobs.csv", "published.csv"}


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

    def test_force_replaces_results_and_nothing_else(self):
        (self.out / "notes.txt").write_text("mine")
        self.gangway("run", self.experiment, "--out", self.out, "--seed", 7, "--force")
        self.gangway("run", self.experiment, "--out", self.folder / "fresh", "--seed", 7)
        after = contents(self.out)
        self.assertEqual(after.pop("notes.txt"), b"mine")
        self.assert_same_files(after, contents(self.folder / "fresh"))

    def test_files_of_somebody_else_stay(self):
        for number, force in enumerate([[], ["--force"]]):
            with self.subTest(force=force):
                out = self.folder / str(number)
                for name in ("notes.txt", "parts/thesis.txt", "trace/photo.json"):
                    (out / name).parent.mkdir(parents=True, exist_ok=True)
                    (out / name).write_text("mine")
                self.gangway("run", self.experiment, "--out", out, "--trace", *force)
                for name in ("notes.txt", "parts/thesis.txt", "trace/photo.json"):
                    self.assertTrue((out / name).exists(), f"{name} is gone")

    def test_a_manifest_of_somebody_else_stays(self):
        for text in ("{\"identity\": 3}", "[]", "no JSON", ""):
            with self.subTest(manifest=text):
                (self.folder / "other").mkdir(exist_ok=True)
                (self.folder / "other/manifest.json").write_text(text)
                message = self.refused("run", self.experiment, "--out", "other")
                self.assertIn("other/manifest.json:1: key 'kind': found no manifest of a result", message)
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
        for part in (self.out / "parts").glob("group-*.json"):
            json.loads(part.read_text())
            self.assertTrue(part.with_suffix(".csv").read_bytes().endswith(b"\n"))
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

    def test_kill_loses_no_finished_group(self):
        process = self.start_and_wait_for_groups(self.out, 2, "run", self.experiment)
        self.end(process, signal.SIGKILL, -signal.SIGKILL)
        self.check_parts()
        self.check_resumption()

    def test_interrupted_again_and_again(self):
        for groups in (1, 4, 7):
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


    def test_a_damaged_part_is_played_again(self):
        interrupt_in_the_middle(self, self.out, "run", self.experiment)
        next((self.out / "parts").glob("group-*.json")).write_text("")
        self.check_resumption()

    def test_a_part_without_its_jobs_is_played_again(self):
        interrupt_in_the_middle(self, self.out, "run", self.experiment)
        next((self.out / "parts").glob("group-*.json")).with_suffix(".csv").unlink()
        self.check_resumption()


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
