"""Which GPU a daemon schedules: whether there is such a GPU, and whether somebody else schedules it, too."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

from live_daemon import CLIENT, GANGWAY, LIMIT, STANDIN, LiveTest, claims, kill_all

TOO = "too: while both have programs there, neither policy has the GPU to itself\n"


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Claims(LiveTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.daemons = folder.name, []
        self.addCleanup(kill_all, self.daemons)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": STANDIN, "STANDIN_DEVICES": "3", "XDG_RUNTIME_DIR": self.folder}
        for file in claims():
            os.remove(file)

    def serve(self, *options, **more):
        daemon = subprocess.Popen([GANGWAY, "serve", "--policy", "fcfs", "--socket", f"{self.folder}/s{len(self.daemons)}", *options],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment, **more)
        self.daemons.append(daemon)
        self.assertTrue(daemon.stdout.readline().startswith("fcfs at "))
        return daemon

    def clients(self, socket):
        out = subprocess.run([GANGWAY, "status", "--json", "--socket", socket], capture_output=True, text=True, timeout=LIMIT).stdout
        return json.loads(out)["clients"]

    def said(self, daemon):
        daemon.send_signal(signal.SIGTERM)
        _, err = daemon.communicate(timeout=LIMIT)
        self.assertEqual(daemon.returncode, 0, err)
        return err

    def test_the_second_daemon_of_a_gpu_says_who_the_first_is(self):
        first = self.serve("--gpu", "1")
        second = self.serve("--gpu", "1")
        command = rf"\S+ serve --policy fcfs --socket {self.folder}/s0 --gpu 1"
        self.assertRegex(self.said(second), rf"^note: process {first.pid} of \S+ \({command}\) schedules GPU 1, {TOO}$")
        self.assertEqual(self.said(first), "")
        self.assertEqual(self.said(self.serve("--gpu", "1")), "")  # both have gone

    def test_gpus_apart(self):
        daemons = [self.serve("--gpu", gpu) for gpu in ("0", "1,2")]
        self.assertEqual([self.said(daemon) for daemon in daemons], ["", ""])

    def test_a_gpu_by_another_number(self):
        first = self.serve("--gpu", "2")
        self.environment["CUDA_VISIBLE_DEVICES"] = "2,0"
        others = [self.serve("--gpu", gpu) for gpu in ("0", "1")]
        self.assertRegex(self.said(others[0]), rf"^note: process {first.pid} .* schedules GPU 0, {TOO}$")
        self.assertEqual(self.said(others[1]), "")

    def test_daemons_of_several(self):
        first, second = self.serve("--gpu", "0,1"), self.serve("--gpu", "2")
        notes = sorted(self.said(self.serve("--gpu", "all")).splitlines(True), key=lambda line: "GPU 2" in line)
        self.assertEqual(len(notes), 2)
        self.assertRegex(notes[0], rf"^note: process {first.pid} .* schedules GPUs 0, 1, {TOO}$")
        self.assertRegex(notes[1], rf"^note: process {second.pid} .* schedules GPU 2, {TOO}$")

    def test_a_daemon_that_was_killed_holds_nothing(self):
        # Nor does a program or a helper that outlives it.
        for options in ((), ("--memory", "checkpoint")):
            with self.subTest(options=options):
                first = self.serve(*options)
                socket = f"{self.folder}/s{len(self.daemons) - 1}"
                program = subprocess.Popen([GANGWAY, "exec", "--socket", socket, "--", CLIENT, "until", self.folder + "/stop"],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
                self.daemons.append(program)
                self.until(lambda: self.clients(socket), "it has come")
                first.kill()
                first.communicate()
                self.assertIsNone(program.poll())
                self.assertEqual(self.said(self.serve()), "")

    def test_nobody_keeps_others_from_it(self):
        self.said(self.serve())
        file, = claims()
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o444)
        os.chmod(file, 0o644)
        lock = "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); print('has it', flush=True); sys.stdin.read()"
        holder = subprocess.Popen(["/usr/bin/python3", "-c", lock, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.daemons.append(holder)
        self.assertEqual(holder.stdout.readline(), "has it\n")
        self.assertRegex(self.said(self.serve()), rf"^note: process {holder.pid} of \S+ \(/usr/bin/python3 -c .*\) schedules GPU 0, {TOO}$")

    @unittest.skipUnless(os.geteuid() == 0, "needs a second user")
    def test_another_users(self):
        os.chmod(self.folder, 0o777)
        first = self.serve("--gpu", "0", user=65534)
        second = self.serve("--gpu", "0")
        self.assertRegex(self.said(second), rf"^note: process {first.pid} of nobody \(.*\) schedules GPU 0, {TOO}$")
        self.assertEqual(self.said(first), "")
        # One that nobody else may read.
        file, = claims()
        os.chmod(file, 0)
        third = self.serve("--gpu", "0", user=65533)
        self.assertEqual(self.said(third), f"note: {file}: Permission denied, so this daemon and others on GPU 0 do not see each other\n")

    def test_a_gpu_that_is_not_there(self):
        def refused(*options, **more):
            done = subprocess.run([GANGWAY, "serve", "--policy", "fcfs", "--socket", self.folder + "/none", *options], capture_output=True,
                                  text=True, timeout=LIMIT, env={**self.environment, **more})
            self.assertEqual((done.returncode, done.stdout, os.listdir(self.folder)), (2, "", []), done.stderr)
            return done.stderr
        there = ", ".join(f"{gpu} (Gangway stand-in)" for gpu in range(3))
        words = "error: --gpu: key 'gpu': found '{}', expected a GPU that the driver has here"
        for options in ((), ("--memory", "checkpoint")):
            self.assertEqual(refused("--gpu", "7", *options), words.format(7) + f": {there}\n")
        self.assertEqual(refused("--gpu", "1", CUDA_VISIBLE_DEVICES="2"), words.format(1) + ", with CUDA_VISIBLE_DEVICES=2: 0 (Gangway stand-in)\n")

    def test_without_a_gpu_or_a_driver(self):
        self.environment["CUDA_VISIBLE_DEVICES"] = ""
        self.assertEqual(self.said(self.serve("--gpu", "7")), "note: the CUDA driver has no GPU here, so --gpu cannot be checked\n")
        os.symlink("/dev/null", self.folder + "/libcuda.so.1")  # which is no driver
        self.environment["LD_LIBRARY_PATH"] = self.folder
        self.assertEqual(self.said(self.serve("--gpu", "7")), "")


if __name__ == "__main__":
    unittest.main()
