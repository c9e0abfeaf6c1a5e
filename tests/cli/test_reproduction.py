"""Manifests that are run again: what experiments/README.md says of them, and shows."""

import json
import re
import shlex
import shutil
import subprocess
import unittest

from program import GANGWAY, ROOT, SMALL, ProgramTest, contents, manifest

PAGE = (ROOT / "experiments/README.md").read_text().split("\n## Running results again\n")[1].split("\n## ")[0]


class Example(ProgramTest):
    def test_the_page_is_what_happens(self):
        said = {}
        for line in re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE):
            words = [str(GANGWAY) if word == "gangway" else word for word in shlex.split(line)]
            done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), line)
            said[line] = done.stdout
        self.assertEqual(len(said), 5)
        [verified] = [text for line, text in said.items() if "--verify" in line]
        [promised] = re.findall(r"ends with `([^`]+)`", PAGE)
        self.assertEqual(verified.splitlines()[-1], promised)
        self.assert_same_files(contents(self.folder / "published"), contents(self.folder / "again"))
        self.assertRegex(said["gangway compare again varied"], r"B is [\d.]+ % (higher|lower)")


class Again(ProgramTest):
    def setUp(self):
        super().setUp()
        self.gangway("run", self.file("e.yaml", SMALL), "--out", "a")

    def edited(self, name, change):
        """A copy of the folder whose manifest was changed."""
        shutil.copytree(self.folder / "a", self.folder / name)
        told = manifest(self.folder / name)
        change(told)
        (self.folder / name / "manifest.json").write_text(json.dumps(told, indent=1))
        return f"{name}/manifest.json"

    def again(self, file, *options, code=0):
        done = self.gangway("run", file, "--out", f"again-{len(list(self.folder.iterdir()))}", *options, code=code)
        return done.stdout, done.stderr.splitlines()

    def test_the_same_bytes(self):
        out, notes = self.again("a/manifest.json")
        self.assertTrue(out.endswith("the same bytes as a/manifest.json lists: 5 files\n"), out)
        self.assertEqual(notes, [])
        self.again("a/manifest.json", "--verify", "--jobs", "1")
        shutil.copy(self.folder / "a/manifest.json", self.folder / "of-any-name.json")
        self.assertIn("the same bytes", self.again("of-any-name.json", "--verify")[0])

    def test_other_bytes(self):
        def change(told):
            told["files"]["jobs.csv"]["sha256"] = "0" * 64
            told["files"]["lost.csv"] = told["files"]["summary.csv"]
        file = self.edited("changed", change)
        expected = ["other bytes than changed/manifest.json lists, in 1 of 5 files: jobs.csv",
                    "listed by changed/manifest.json but not made: lost.csv",
                    "changed since changed/manifest.json was written: jobs.csv"]
        self.assertEqual(self.again(file)[1], ["note: " + line for line in expected])
        self.assertEqual(self.again(file, "--verify", code=1)[1], ["error: " + line for line in expected])

    def test_a_table_that_somebody_changed(self):
        table = self.folder / "a/summary.csv"
        table.write_text(table.read_text().replace("0.", "1.", 1))
        out, _ = self.again("a/manifest.json", "--verify")
        self.assertIn("the same bytes", out)
        self.assertIn("changed since a/manifest.json was written: summary.csv\n", out)

    def test_another_configuration(self):
        file = self.edited("edited", lambda told: told["configuration"].update(replications=3))
        said = "the configuration is not that of edited/manifest.json: it was changed, or this version reads it differently"
        self.assertEqual(self.again(file)[1], ["note: " + said])
        self.assertEqual(self.again(file, "--verify", code=1)[1], ["error: " + said])
        for option in (["--seed", "9"], ["--set", "replications=1"]):
            out, notes = self.again("a/manifest.json", *option)
            self.assertEqual(("bytes" in out, notes), (False, []), option)
            self.again("a/manifest.json", *option, "--verify", code=1)

    def test_another_build(self):
        file = self.edited("old", lambda told: told.update(program="0" * 64, gangway="0.0.1", commit="abcdef"))
        out, _ = self.again(file, "--verify")
        self.assertIn("the same bytes as old/manifest.json lists: 5 files\nold/manifest.json was written by gangway 0.0.1, commit abcdef; this is ",
                      out)
        same = self.edited("rebuilt", lambda told: told.update(program="0" * 64))
        self.assertIn(", another build\n", self.again(same)[0])

    def test_it_knows_its_world_and_its_points(self):
        for world, options in (("live", []), ("sim", ["--world", "sim"])):
            file = self.edited(f"in-{world}", lambda told: told.update(world="live"))
            if options:
                self.again(file, *options)
            else:
                self.assertIn("in the world live", self.refused("run", file, "--out", "x"))
        self.gangway("run", "e.yaml", "--points", "1", "--out", "part")
        self.assertIn("points 1 of 0-1: a part", self.again("part/manifest.json")[0])
        # Other points are no other configuration, and nothing to verify.
        self.assertEqual(self.again("a/manifest.json", "--points", "0")[1], [])
        self.assertIn("none beside --verify", self.refused("run", "a/manifest.json", "--points", "0", "--verify", "--out", "x"))

    def test_what_cannot_be_verified(self):
        measured = self.edited("measured", lambda told: told.update(machine="a GPU"))
        newer = self.edited("newer", lambda told: told.update(version=2))
        for arguments, said in (((measured, "--verify"), "because measurements never have the same bytes"),
                                (("e.yaml", "--verify"), "--verify: key 'experiment': found 'e.yaml', expected the manifest.json"),
                                (("frs/fig4", "--verify"), "expected the manifest.json"),
                                ((newer,), "newer/manifest.json:3: key 'version': found '2', expected one of 1")):
            with self.subTest(arguments):
                self.assertIn(said, self.refused("run", *arguments, "--out", "x"))
        done = self.gangway("run", "a/manifest.json", "--out", "a", "--verify", code=2)
        self.assertIn("expected a folder other than the manifest's", done.stderr)
        self.assertNotIn("bytes", self.gangway("run", "a/manifest.json", "--out", "a").stdout)

    def test_a_study(self):
        self.gangway("run", "bounds/schedulability", "--set", "sets=2", "--out", "study")
        self.assertIn("the same bytes as study/manifest.json lists", self.again("study/manifest.json", "--verify")[0])


if __name__ == "__main__":
    unittest.main()
