"""gangway doctor where there is a GPU, of the stand-in driver, and a daemon."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from live_daemon import GANGWAY, LIMIT, STANDIN, Daemon


@unittest.skipUnless(STANDIN, "there is no stand-in driver here")
class Doctor(unittest.TestCase):
    def examined(self, **environment):
        done = subprocess.run([GANGWAY, "doctor", "--json"], capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, "LD_LIBRARY_PATH": STANDIN, **environment})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {area["name"]: (area["yes"], {part["what"]: part for part in area["parts"]}) for area in json.loads(done.stdout)["areas"]}

    def test_gpu_and_driver(self):
        areas = self.examined(STANDIN_DEVICES="2", STANDIN_DEVICE_NAME="Toy")
        live, parts = areas["serve, exec, world live"]
        self.assertTrue(live)
        self.assertEqual(parts["GPU and driver"]["found"].split(";")[0], "Toy, Toy")
        self.assertIn("CUDA 13.0", parts["GPU and driver"]["found"])
        self.assertIn(os.path.realpath(STANDIN), parts["GPU and driver"]["found"])
        self.assertTrue(parts["driver known"]["yes"])

    def test_a_newer_driver(self):
        live, parts = self.examined(STANDIN_DRIVER_VERSION="13010")["serve, exec, world live"]
        self.assertTrue(live)
        self.assertEqual((parts["driver known"]["yes"], parts["driver known"]["found"]), (False, "CUDA 13.1, of up to 13.0"))

    def test_a_driver_without_gpus(self):
        empty = Path(GANGWAY).parent / "no-driver/libgangway-real-cuda.so.1"  # a library without a function
        if not empty.exists():
            self.skipTest("the look-alike is not built")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(empty, folder + "/libcuda.so.1")
            live, parts = self.examined(LD_LIBRARY_PATH=folder)["serve, exec, world live"]
        self.assertFalse(live)
        self.assertTrue(parts["GPU and driver"]["found"].startswith("no GPU; driver: no version, "), parts)
        self.assertEqual(parts["driver known"]["found"], "unknown version")

    def test_a_daemon(self):
        daemon = Daemon("--policy", "stride")
        try:
            os.mkdir(daemon.folder + "/gangway", 0o700)
            os.symlink(daemon.socket, daemon.folder + "/gangway/socket")
            _, parts = self.examined(XDG_RUNTIME_DIR=daemon.folder)["serve, exec, world live"]
            self.assertIn(f"stride, process {daemon.process.pid}, at ", parts["no daemon at work"]["found"])
            self.assertFalse(parts["no daemon at work"]["yes"])
        finally:
            daemon.end()
        self.assertFalse(os.path.exists(daemon.folder))

    def test_a_socket_that_nobody_listens_at(self):
        daemon = Daemon("--policy", "stride")
        daemon.process.kill()
        daemon.process.communicate()
        try:
            os.mkdir(daemon.folder + "/gangway", 0o700)
            os.symlink(daemon.socket, daemon.folder + "/gangway/socket")
            self.assertTrue(self.examined(XDG_RUNTIME_DIR=daemon.folder)["serve, exec, world live"][1]["no daemon at work"]["yes"])
        finally:
            shutil.rmtree(daemon.folder)


if __name__ == "__main__":
    unittest.main()
