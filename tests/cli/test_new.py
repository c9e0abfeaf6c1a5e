"""gangway new: what it writes runs as it is, and nothing is lost or left half-written."""

import json
import os
import subprocess
import unittest

from program import GANGWAY, ROOT, ProgramTest, manifest, table

OWN_POLICY = os.environ.get("GANGWAY_OWN_POLICY", str(GANGWAY.parent / "tests/gangway_own_policy"))
SKELETONS = ROOT / "examples/skeletons"


class New(ProgramTest):
    def left(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def next_command(self, done):
        last = done.stdout.splitlines()[-1]
        self.assertTrue(last.startswith("next: "), done.stdout)
        return last.removeprefix("next: ")

    def type(self, command):
        """A printed command, as it is typed."""
        environment = {**os.environ, "PATH": f"{GANGWAY.parent}:{os.environ['PATH']}"}
        return subprocess.run(command, shell=True, cwd=self.folder, check=True, capture_output=True, text=True, env=environment)

    def test_experiment(self):
        done = self.gangway("new", "experiment", "trio")
        self.assertEqual(self.left(), ["trio.yaml"])
        self.assertEqual(self.gangway("check", "trio.yaml").stdout, "trio.yaml: experiment, fine\n")
        self.type(self.next_command(done))
        self.assertEqual(manifest(self.folder / "out/trio")["experiment"], "trio")
        rows = table(self.folder / "out/trio/summary.csv")
        self.assertEqual(len({row["point"] for row in rows}), 4)
        self.assertTrue(all(float(row["antt"]) >= 1 for row in rows))

    def test_workload(self):
        done = self.gangway("new", "workload", "quartet", "--out", "a b/c")
        self.assertEqual(self.left(), ["a b/c/quartet.yaml"])
        self.gangway("check", "a b/c/quartet.yaml")
        self.type(self.next_command(done))
        clients = {row["client"] for row in table(self.folder / "out/quartet/clients.csv")}
        self.assertEqual(clients, {"long", "middle", "short", "shared"})

    def test_every_key_that_users_change_is_commented(self):
        for name in ("experiment", "workload"):
            text = (SKELETONS / f"{name}.yaml").read_text()
            self.assertGreater(text.count(" # "), 10, name)

    def test_policy_in_python(self):  # tests/package/ runs one
        done = self.gangway("new", "policy", "longest-first")
        self.assertEqual(self.left(), ["longest-first.py"])
        self.assertIn("longest-first.py", self.next_command(done))
        text = (self.folder / "longest-first.py").read_text()
        compile(text, "longest-first.py", "exec")
        self.assertIn("class LongestFirstPolicy(gangway.Policy, name='longest-first')", text)
        self.assertNotIn("keleton", text)

    def test_policy_in_cpp(self):
        done = self.gangway("new", "policy", "longest-wait", "--cpp")
        self.assertEqual(self.left(), ["longest_wait.cpp"])
        self.assertIn("models/policy/ && ./dev build", self.next_command(done))
        self.assertNotIn("keleton", (self.folder / "longest_wait.cpp").read_text())

    @unittest.skipUnless(os.path.exists(OWN_POLICY), "the program with the policy is not built")
    def test_the_policy_in_cpp_compiles_and_registers(self):
        def with_it(*arguments):
            return subprocess.run([OWN_POLICY, *arguments], cwd=self.folder, check=True, capture_output=True, text=True).stdout

        found = [policy for policy in json.loads(with_it("list", "policies", "--json")) if policy["name"] == "longest-wait"]
        self.assertEqual([p["name"] for p in found[0]["parameters"]], ["quantum", "linger"])
        with_it("run", "frs/fig4", "--set", "policies=[rr, longest-wait]", "--set", "published=[]", "--set", "replications=1", "--out", "out")
        rows = {row["policy"]: row for row in table(self.folder / "out/summary.csv")}
        self.assertEqual(rows["rr"]["antt"], rows["longest-wait"]["antt"])  # it is round robin until it is changed

    def test_names(self):
        for kind, name in (("experiment", "a/b"), ("experiment", ".hidden"), ("experiment", "a b"), ("experiment", ""), ("workload", "NA"),
                           ("workload", "_x"), ("policy", "7th"), ("policy", "rr"), ("experiment", "x" * 81)):
            with self.subTest(kind=kind, name=name):
                self.assertIn("key 'name': found", self.refused("new", kind, name))
        self.refused("new", "device", "mine")
        self.refused("new", "policy")
        self.assertIn("--cpp", self.refused("new", "workload", "x", "--cpp"))
        self.assertEqual(self.left(), [])

    def test_strange_names_work(self):
        for number, name in enumerate(("7", "none", "true", "1e5", "registered_skeleton", "skeleton", "x.y-z_1", "A" * 80)):
            with self.subTest(name=name):
                for kind in ("experiment", "workload"):
                    self.gangway("new", kind, name, "--out", f"{kind}-{number}")
                    self.gangway("check", f"{kind}-{number}/{name}.yaml")
                if name[0].isalpha():
                    self.gangway("new", "policy", name, "--out", "policies")
                    compile((self.folder / f"policies/{name}.py").read_text(), name, "exec")

    def test_files_that_are_there(self):
        self.file("mine.yaml", "my own work")
        self.assertIn("--force replaces it", self.refused("new", "experiment", "mine"))
        self.assertEqual((self.folder / "mine.yaml").read_text(), "my own work")
        self.gangway("new", "experiment", "mine", "--force")
        self.gangway("check", "mine.yaml")
        (self.folder / "folder.yaml").mkdir()
        self.refused("new", "experiment", "folder", "--force")
        self.refused("new", "experiment", "other", "--out", "mine.yaml")
        self.assertEqual(self.left(), ["mine.yaml"])

    @unittest.skipIf(os.geteuid() == 0, "root writes anywhere")
    def test_folders_that_cannot_be_written(self):
        (self.folder / "locked").mkdir(mode=0o500)
        self.refused("new", "experiment", "mine", "--out", "locked", code=1)
        self.assertEqual(self.left(), [])

    def test_a_full_disk_leaves_nothing(self):
        done = subprocess.run([GANGWAY, "new", "experiment", "mine", "--out", "/dev/full"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        import resource
        done = self.limited(resource.RLIMIT_FSIZE, 100, "new", "experiment", "mine")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual([name for name in self.left() if not name.startswith(".")], [])

    def test_skeletons_that_are_not_there(self):
        environment = {**os.environ, "GANGWAY_DATA": str(self.folder)}
        done = subprocess.run([GANGWAY, "new", "experiment", "mine"], cwd=self.folder, capture_output=True, text=True, env=environment)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aerror: GANGWAY_DATA: key 'examples/skeletons/experiment.yaml': found no file '[^']+', expected [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
