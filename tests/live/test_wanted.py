"""What a program loaded and nobody had prepared is prepared beside the daemon, for its next start."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from live_daemon import GANGWAY, STANDIN, Daemon, finish
from test_forms import ASSEMBLER, CLIENT, tools

SLOW = "sleep 30"


@unittest.skipUnless(STANDIN and CLIENT, "there is no stand-in driver")
class Wanted(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.more = tools(self.folder, prepared=False)
        patch = mock.patch.dict(os.environ, self.more)
        patch.start()
        self.addCleanup(patch.stop)
        self.cache, self.calls = self.folder / "cache", self.folder / "calls"
        self.assembler()

    def assembler(self, first=""):
        """Says that it was called, and with what text; does `first` before it works."""
        script = ASSEMBLER.replace("while", f'echo "$$ $*" >>{self.calls}\n{first}\nwhile', 1)
        (self.folder / "ptxas").write_text(script)

    def called(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def serve(self):
        return Daemon("--policy", "piv", "--forms", "all", "--prepare")

    def wanted(self):
        return sorted(path.name for path in (self.cache / "wanted").iterdir()) if (self.cache / "wanted").exists() else []

    def entries(self):
        return [path for path in self.cache.iterdir() if path.is_file() and not path.name.startswith(".")] if self.cache.exists() else []

    def until(self, what, limit=90):
        end = time.monotonic() + limit
        while not what():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def kernels(self, daemon, *command):
        """Runs a program; its result, and the most kernels with forms and launches in them that its status showed."""
        program, seen = daemon.start(CLIENT, *command, options=["--name", "program"]), (0, 0)
        while program.poll() is None:
            for client in daemon.status()["clients"]:
                seen = max(seen, (client["kernels_with_forms"], client["launches_in_forms"]))
            time.sleep(0.02)
        return finish(program), seen

    def native(self, *command):
        return subprocess.run([CLIENT, *command], capture_output=True, text=True, env=dict(os.environ, LD_LIBRARY_PATH=STANDIN)).stdout

    def test_the_next_start_takes_forms(self):
        daemon = self.serve()
        self.addCleanup(daemon.end)
        result, seen = self.kernels(daemon, "passes", "20")
        self.assertEqual((result, seen), ((0, self.native("passes", "20"), ""), (0, 0)))
        self.until(lambda: self.entries() and not self.wanted())
        self.assertEqual(len(self.called()), 1)
        result, (with_forms, launches) = self.kernels(daemon, "passes", "20")
        self.assertEqual(result, (0, self.native("passes", "20"), ""))
        self.assertGreater(with_forms, 0)
        self.assertGreater(launches, 0)
        self.assertEqual(len(self.called()), 1)
        self.assertEqual(self.wanted(), [])

    def test_two_with_the_same_module_are_prepared_once(self):
        daemon = self.serve()
        self.addCleanup(daemon.end)
        for program in [daemon.start(CLIENT, "passes", "5") for _ in range(3)]:
            self.assertEqual(finish(program)[0], 0)
        self.until(lambda: self.entries() and not self.wanted())
        time.sleep(2.5)  # two further looks
        self.assertEqual(len(self.called()), 1)

    def test_a_daemon_that_is_killed_leaves_nothing_half_done(self):
        self.assembler(SLOW)
        daemon = self.serve()
        self.assertEqual(finish(daemon.start(CLIENT, "passes", "2"))[0], 0)
        self.until(self.called)
        compiler = int(self.called()[0].split()[0])
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.communicate()
        self.until(lambda: not Path(f"/proc/{compiler}").exists() or "Z" in Path(f"/proc/{compiler}/stat").read_text().rsplit(")", 1)[1].split()[0])
        (noted,) = self.wanted()
        self.assertIn(noted.split(".")[1], ("wanted", "once"))  # as before; or its preparer had to end at once
        self.assertEqual([path.name for path in self.cache.iterdir() if path.is_file()], [".wanted.lock"])
        self.assembler()
        daemon.serve("--policy", "piv", "--forms", "all", "--prepare")
        self.addCleanup(daemon.end)
        self.until(lambda: self.entries() and not self.wanted())

    def test_what_a_preparer_does_not_survive_is_dropped(self):
        (self.cache / "wanted").mkdir(parents=True)
        os.chmod(self.cache, 0o700)
        os.chmod(self.cache / "wanted", 0o700)
        for name, text in (("a.wanted", "garbage"), ("b.twice", "gangway wanted module 1 sm_90\n\n.version 8.0\n"), ("c", ""), ("d.once", ""),
                           ("e.wanted", "gangway wanted module 1 sm_90\n\n.version 8.0\n.target sm_80\n.address_size 64\n"),
                           ("f.wanted", "gangway wanted module 1 nonsense\n\n.version 8.0\n")):
            (self.cache / "wanted" / name).write_text(text)
        done = subprocess.run([GANGWAY, "prepare", "--wanted"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.wanted(), ["c"])

    def test_without_an_assembler_everything_stays_noted(self):
        daemon = self.serve()
        (self.folder / "ptxas").write_text("#!/bin/sh\nexit 1\n")
        self.assertEqual(finish(daemon.start(CLIENT, "passes", "2"))[0], 0)
        self.until(self.wanted)
        noted = self.wanted()[0].split(".")[0] + ".wanted"
        daemon.end()
        for _ in range(3):
            done = subprocess.run([GANGWAY, "prepare", "--wanted"], capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertEqual(self.wanted(), [noted])

    def test_it_needs_forms(self):
        done = subprocess.run([GANGWAY, "serve", "--policy", "piv", "--prepare", "--socket", self.folder / "socket"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_nothing_is_noted_where_nobody_prepares(self):
        daemon = Daemon("--policy", "piv", "--forms", "all")
        self.addCleanup(daemon.end)
        self.assertEqual(finish(daemon.start(CLIENT, "passes", "2"))[0], 0)
        self.assertEqual(self.wanted(), [])


if __name__ == "__main__":
    unittest.main()
