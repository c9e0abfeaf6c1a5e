"""gangway doctor: a report of this machine, whatever is missing (tests/live/ has a GPU for it, in the stand-in driver)."""

import json
import os
import re
import subprocess
import unittest

from program import GANGWAY, ProgramTest

AREAS = ["simulate", "draw figures", "use from Python", "calibrate, world cuda", "record", "serve, exec, world live", "permissions"]


class Doctor(ProgramTest):
    def doctor(self, *arguments, **environment):
        done = subprocess.run([GANGWAY, "doctor", *arguments], cwd=self.folder, capture_output=True, text=True, env={**os.environ, **environment})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def examined(self, **environment):
        report = json.loads(self.doctor("--json", **environment))
        self.assertEqual([area["name"] for area in report["areas"]], AREAS)
        for area in report["areas"]:
            self.assertEqual(area["yes"], all(part["yes"] for part in area["parts"] if part["needed"]), area)
            for part in area["parts"]:
                self.assertTrue(part["found"], part)
                self.assertEqual(part["yes"], part["advice"] == "", part)  # what is missing has advice, and nothing else
        return {(area["name"], part["what"]): part for area in report["areas"] for part in area["parts"]}

    def test_one_line_each(self):
        lines = self.doctor().splitlines()
        parts = self.examined()
        self.assertEqual(len(lines), len(AREAS) + len(parts))
        self.assertEqual([re.split(r"\s{2,}", line)[0] for line in lines if not line.startswith(" ")], AREAS)
        for line in lines:
            self.assertRegex(line, r"\A(\S.* +(yes|no)|  \S.* (yes|no ) +\S.*)\Z")

    def test_simulation_is_there(self):
        parts = self.examined()
        self.assertTrue(parts["simulate", "program"]["yes"])
        self.assertRegex(parts["simulate", "data files"]["found"], r"\A\d+ devices, \d+ workloads, \d+ experiments\Z")
        self.assertTrue(parts["draw figures", "Python"]["yes"])  # these tests run on it

    def test_no_driver(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is one")
        parts = self.examined()
        for area in ("calibrate, world cuda", "record", "serve, exec, world live"):
            self.assertIn("no CUDA driver", parts[area, "GPU and driver"]["found"])
        self.assertFalse(parts["permissions", "GPU's device files"]["yes"])

    def test_a_driver_that_is_none(self):
        (self.folder / "libcuda.so.1").write_bytes(b"no library")
        self.assertFalse(self.examined(LD_LIBRARY_PATH=str(self.folder))["record", "GPU and driver"]["yes"])

    def test_no_files(self):
        parts = self.examined(GANGWAY_DATA=str(self.folder / "nowhere"))
        self.assertIn("no folder", parts["simulate", "data files"]["found"])

    def python(self, text):
        path = self.file("python", "#!/bin/sh\n" + text)
        path.chmod(0o755)
        return self.examined(GANGWAY_PYTHON=str(path))

    def test_no_python(self):
        for parts in (self.examined(GANGWAY_PYTHON="/no/such/python"), self.python("exit 1\n"), self.python("echo '[1, 2'\n"),
                      self.python("echo '{\"python\": 5}'\n")):
            self.assertIn("does not run", parts["draw figures", "Python"]["found"])
            self.assertFalse(parts["draw figures", "matplotlib"]["yes"])
            self.assertFalse(parts["use from Python", "package gangway"]["yes"])

    def test_an_old_python(self):
        parts = self.python("""echo '{"python": "3.9.2", "matplotlib": "3.3.4", "numpy": "1.24.0", "gangway": "0.1.0", "where": "/here"}'\n""")
        self.assertIn("3.11 or newer", parts["draw figures", "Python"]["advice"])
        self.assertIn("3.6 or newer", parts["draw figures", "matplotlib"]["advice"])
        self.assertTrue(parts["use from Python", "numpy"]["yes"])
        self.assertEqual(parts["use from Python", "package gangway"]["found"], "0.1.0, /here")

    def test_runtime_folders(self):
        def found(folder):
            return self.examined(XDG_RUNTIME_DIR=str(folder))["serve, exec, world live", "runtime folder"]

        self.assertEqual(found(self.folder)["found"], f"{self.folder}/gangway")
        self.assertEqual(list(self.folder.iterdir()), [], "it is only looked at")
        (self.folder / "gangway").mkdir(mode=0o700)
        self.assertTrue(found(self.folder)["yes"])
        (self.folder / "gangway").chmod(0o777)
        self.assertIn("not a folder of this user alone", found(self.folder)["found"])
        (self.folder / "gangway").rmdir()
        (self.folder / "gangway").touch()
        self.assertFalse(found(self.folder)["yes"])
        self.assertIn("No such file", found(self.folder / "missing")["found"])

    def test_mps(self):
        control = self.file("nvidia-cuda-mps-control", "#!/bin/sh\n")
        control.chmod(0o755)
        parts = self.examined(PATH=f"{self.folder}:{os.environ['PATH']}")
        self.assertEqual(parts["calibrate, world cuda", "MPS control"]["found"], str(control))

    def test_wrong_calls(self):
        self.refused("doctor", "me")
        self.refused("doctor", "--fast")


if __name__ == "__main__":
    unittest.main()
