"""gangway exec: whatever is started behaves as without it, and bad input is refused in one line."""

import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from live_daemon import CLIENT, GANGWAY, LIMIT, STANDIN, Daemon, finish, native


class Wrong(unittest.TestCase):
    """Bad input: one line, the right exit code."""

    def check(self, code, text, *command, **more):
        result = subprocess.run([GANGWAY, *command], capture_output=True, text=True, **more)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(text, result.stderr)

    def test_calls(self):
        self.check(2, "did you mean 'piv'", "serve", "--policy", "pivv")
        self.check(2, "--param state=resident", "serve", "--policy", "microkernel-rr")
        self.check(2, "--forms: key 'forms': found none, expected worth, or all: pkm launches slices", "serve", "--policy", "pkm")
        self.check(2, "found none, expected worth, or all", "serve", "--policy", "microkernel-rr", "--param", "state=resident", "--forms", "none")
        self.check(2, "found managed, with slices of kernels, expected native", "serve", "--policy", "pkm", "--forms", "worth", "--memory", "managed")
        self.check(2, "kernels that leave, with managed memory", "serve", "--policy", "piv", "--forms", "worth", "--memory", "checkpoint")
        self.check(2, "evicted", "serve", "--policy", "piv", "--param", "evictd=tail")
        self.check(2, "name=value", "serve", "--policy", "piv", "--param", "evicted")
        self.check(2, "drain-limit", "serve", "--policy", "piv", "--drain-limit", "7")
        self.check(2, "in-flight", "serve", "--policy", "piv", "--in-flight", "65")
        for policy in ("timeslice", "passthrough"):
            for option in (["--in-flight", "4"], ["--overlap"]):
                self.check(2, f"found the policy {policy}, expected a policy that grants jobs", "serve", "--policy", policy, *option)
        self.check(2, "PROGRAM", "exec")
        self.check(2, "--priority", "exec", "--priority", "high", "--", "true")
        self.check(2, "--weight", "exec", "--weight", "0", "--", "true")
        self.check(2, "found '5', expected", "exec", "--slo", "5", "--", "true")
        self.check(2, "found '-5 ms', expected", "exec", "--slo", "-5 ms", "--", "true")
        self.check(2, "found '1 ms', expected", "status", "--every", "1 ms")
        self.check(2, "--json", "status", "--json", "--prometheus")
        self.check(2, "sync, nvtx:NAME", "exec", "--jobs", "often", "--", "true")
        self.check(2, "a user of this machine", "serve", "--policy", "piv", "--allow-priority", "no-such-user=3")
        self.check(2, "--channels", "serve", "--policy", "timeslice", "--channels", "-1")
        self.check(2, "USER=N", "serve", "--policy", "piv", "--allow-priority", "root")
        self.check(2, "from 0 to 1000", "serve", "--policy", "piv", "--allow-priority", "root=1001")
        self.check(2, "--allow-weight: key 'root': found '0'", "serve", "--policy", "stride", "--allow-weight", "root=0")
        self.check(2, "--allow-slo: key 'root': found '10'", "serve", "--policy", "edf", "--allow-slo", "root=10")
        self.check(2, "USER=TIME, expected a user, =, and a time", "serve", "--policy", "edf", "--allow-slo", "root")
        for policy, *options in (("fcfs", "--channels", "4"), ("disengaged-timeslice", "--channels", "4"),
                                 ("disengaged-timeslice", "--param", "channels=8", "--channels", "4"), ("timeslice", "--linger", "1 ms"),
                                 ("timeslice", "--overlap"), ("timeslice", "--in-flight", "4"), ("passthrough", "--drain-limit", "1 ms"),
                                 ("passthrough", "--forms", "all"), ("fcfs", "--capacity", "1 GiB"), ("fcfs", "--host-memory", "1 GiB")):
            self.check(2, options[-2] if options[-1][0] != "-" else options[-1], "serve", "--policy", policy, *options)  # would do nothing
        self.check(2, "a group of this machine", "serve", "--policy", "piv", "--group", "no-such-group", "--socket", "/tmp/no-such-socket")

    def test_programs(self):
        self.check(127, "not found", "exec", "--", "no-such-program")
        self.check(127, "not found", "exec", "--", "/no/such/program")
        self.check(126, "cannot be executed", "exec", "--", "/etc/passwd")
        self.check(126, "cannot be executed", "exec", "--", "/")

    def test_a_socket_that_is_somebodys_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "results.csv"
            file.write_text("precious")
            self.check(2, "a file that is no socket", "serve", "--policy", "piv", "--socket", str(file))
            self.assertEqual(file.read_text(), "precious")

    def test_no_daemon(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check(1, "gangway serve", "exec", "--socket", folder + "/socket", "--", "true")
            self.check(1, "gangway serve", "status", "--socket", folder + "/socket")

    def test_two_daemons(self):
        daemon = Daemon("--policy", "piv")
        try:
            self.check(1, "already", "serve", "--policy", "piv", "--socket", daemon.socket)
        finally:
            daemon.end()

    def test_a_dead_daemons_socket_is_taken_over(self):
        daemon = Daemon("--policy", "piv")
        daemon.process.kill()
        daemon.process.communicate()
        again = subprocess.Popen([GANGWAY, "serve", "--policy", "piv", "--socket", daemon.socket], stdout=subprocess.PIPE, text=True)
        self.assertIn("piv at", again.stdout.readline())
        again.terminate()
        again.communicate()
        shutil.rmtree(daemon.folder)


@unittest.skipUnless(STANDIN and os.geteuid() == 0, "needs the stand-in driver, and to be root")
class Users(unittest.TestCase):
    def run_as_nobody(self, daemon, *options):
        os.chmod(daemon.folder, 0o755)
        home = daemon.folder + "/nobody"
        if not os.path.exists(home):
            os.mkdir(home, 0o700)
            os.chown(home, 65534, 65534)
        return subprocess.run([GANGWAY, "exec", "--socket", daemon.socket, *options, "--", CLIENT, "jobs", "2"], capture_output=True, text=True,
                              timeout=LIMIT, user=65534, group=65534, extra_groups=[], cwd="/",
                              env=dict(daemon.environment(), XDG_RUNTIME_DIR=home))

    def setUp(self):
        if subprocess.run(["test", "-x", GANGWAY], user=65534).returncode != 0:
            self.skipTest("other users cannot reach the program")

    def test_users_of_a_group_connect_with_the_priorities_that_they_may_give(self):
        daemon = Daemon("--policy", "piv", "--group", "nogroup", "--allow-priority", "nobody=3")
        result = self.run_as_nobody(daemon, "--priority", "3")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = self.run_as_nobody(daemon, "--priority", "4")
        self.assertEqual(result.returncode, 1)
        self.assertIn("this user may request priorities up to 3", result.stderr)
        daemon.end()

    def test_weights_and_objectives_are_rights_as_priorities_are(self):
        daemon = Daemon("--policy", "stride", "--group", "nogroup", "--allow-weight", "nobody=2.5", "--allow-slo", "nobody=10 ms")
        for options, why in ((["--weight", "2.5", "--slo", "10 ms"], None), (["--weight", "2.6"], "this user may request weights up to 2.5"),
                             (["--slo", "9 ms"], "this user may request objectives of 10 ms or longer")):
            result = self.run_as_nobody(daemon, *options)
            self.assertEqual(result.returncode, 1 if why else 0, result.stderr)
            self.assertIn(why or "", result.stderr)
        daemon.end()
        daemon = Daemon("--policy", "edf", "--group", "nogroup")
        self.assertEqual(self.run_as_nobody(daemon, "--weight", "0.5").returncode, 0)
        self.assertIn("this user may request weights up to 1", self.run_as_nobody(daemon, "--weight", "1.5").stderr)
        self.assertIn("only root and the daemon's owner may set objectives", self.run_as_nobody(daemon, "--slo", "1 s").stderr)
        self.assertEqual(daemon.run(CLIENT, "jobs", "2", options=["--weight", "1000", "--slo", "1 us"])[0], 0)  # the owner
        daemon.end()

    def test_others_do_not(self):
        daemon = Daemon("--policy", "piv")
        result = self.run_as_nobody(daemon)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no daemon at", result.stderr)
        daemon.end()
        daemon = Daemon("--policy", "piv", "--group", "nogroup")
        result = self.run_as_nobody(daemon, "--priority", "1")
        self.assertIn("only root and the daemon's owner may raise priorities", result.stderr)
        daemon.end()


@unittest.skipUnless(STANDIN and os.geteuid() == 0, "needs the stand-in driver, and to be root")
class RaisedRights(unittest.TestCase):
    """Programs for which the loader ignores LD_LIBRARY_PATH. Root starts some that run as nobody, and nobody some that run as root."""
    NOBODY = 65534
    MARK = "gangway: {} {}, so it runs without the gate (the loader ignores LD_LIBRARY_PATH), and nothing of it is scheduled\n"
    UNSEEN = "gangway: {} submitted nothing through libcuda.so.1, so nothing of it was scheduled\n"

    def setUp(self):
        self.daemon = Daemon("--policy", "piv", "--group", "nogroup")
        os.chmod(self.daemon.folder, 0o755)
        if os.statvfs(self.daemon.folder).f_flag & os.ST_NOSUID:
            self.skipTest("set-user-id has no effect here")
        self.program = self.daemon.folder + "/program"

    def tearDown(self):
        self.daemon.end()

    def copy(self, mode, user=0, group=0, text=None):
        Path(self.program).unlink(missing_ok=True)
        if text is None:
            shutil.copy(shutil.which("env"), self.program)
        else:
            Path(self.program).write_text(text)
        os.chown(self.program, user, group)
        os.chmod(self.program, mode)

    def check(self, why, user=0, group=0, prefix=(), **more):
        """Runs it, and looks whether the loader ignored what exec puts into the environment: then the line has to be there."""
        home = f"{self.daemon.folder}/of-{user}"
        os.makedirs(home, mode=0o700, exist_ok=True)
        os.chown(home, user, group)
        result = subprocess.run([*prefix, GANGWAY, "exec", "--socket", self.daemon.socket, "--", self.program], capture_output=True, text=True,
                                timeout=LIMIT, user=user, group=group, extra_groups=[65534], cwd="/",
                                env=dict(self.daemon.environment(), XDG_RUNTIME_DIR=home, **more))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, self.MARK.format(self.program, why) if why else self.UNSEEN.format(self.program))
        self.assertEqual("LD_LIBRARY_PATH" not in result.stdout, bool(why), result.stdout)

    def test_set_user_id(self):
        self.copy(0o4755, user=self.NOBODY)
        self.check("is set-user-id")
        self.copy(0o2755, group=self.NOBODY)
        self.check("is set-group-id")

    def test_what_raises_nothing(self):
        self.copy(0o6755)  # to the caller's own user and group
        self.check(None)
        self.copy(0o755, user=self.NOBODY, group=self.NOBODY)
        self.check(None)
        self.copy(0o2745, group=self.NOBODY)  # no set-group-id without the group's right to execute
        self.check(None)
        self.copy(0o4755, user=self.NOBODY, text="#!/bin/sh\nenv\n")  # scripts have their caller's rights
        self.check(None)
        self.copy(0o4755, user=self.NOBODY)
        if shutil.which("setpriv") is not None:
            self.check(None, prefix=["setpriv", "--no-new-privs"])

    def test_as_another_user(self):
        if subprocess.run(["test", "-x", GANGWAY], user=self.NOBODY).returncode != 0:
            self.skipTest("other users cannot reach the program")
        self.copy(0o4755)
        self.check("is set-user-id", user=self.NOBODY, group=self.NOBODY)
        self.copy(0o755)
        self.check(None, user=self.NOBODY, group=self.NOBODY)
        try:
            os.setxattr(self.program, "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))  # to bind low ports
        except OSError as error:
            self.skipTest(f"files have no capabilities here: {error}")
        self.check("has file capabilities", user=self.NOBODY, group=self.NOBODY)
        self.check(None)  # root has them anyway


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Programs(unittest.TestCase):
    def test_output_and_exit_code_are_the_programs(self):
        daemon = Daemon("--policy", "piv")
        for arguments in (["jobs", "5"], ["captures", "3"], ["callback", "1"], ["forks"], ["nonsense"]):
            self.assertEqual(daemon.run(CLIENT, *arguments)[:2], native(CLIENT, *arguments)[:2], arguments)
        code, out, err = daemon.run("sh", "-c", "echo $0 $1; echo oops >&2; exit 7", "--lr", "3")
        self.assertEqual((code, out), (7, "--lr 3\n"))
        self.assertEqual(err.splitlines()[0], "oops")
        self.assertIn("nothing of it was scheduled", err.splitlines()[1])
        self.assertEqual(daemon.run("sh", "-c", "kill -KILL $$")[0], -signal.SIGKILL)
        daemon.end()

    def test_a_caller_that_ignores_how_its_children_end(self):
        daemon = Daemon("--policy", "piv")
        for code, command in ((7, "exit 7"), (-signal.SIGSEGV, "kill -SEGV $$")):
            result = subprocess.run([GANGWAY, "exec", "--socket", daemon.socket, "--", "sh", "-c", command], capture_output=True, timeout=LIMIT,
                                    env=daemon.environment(), preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            self.assertEqual(result.returncode, code)
        ignored = "grep SigIgn /proc/self/status"  # as the caller had it
        native = subprocess.run(["sh", "-c", ignored], capture_output=True, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        under = subprocess.run([GANGWAY, "exec", "--socket", daemon.socket, "--", "sh", "-c", ignored], capture_output=True,
                               env=daemon.environment(), preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(under.stdout, native.stdout)
        daemon.end()

    def test_a_program_without_standard_files(self):
        daemon = Daemon("--policy", "piv")
        program = daemon.start("sh", "-c", f"exec {CLIENT} jobs 300 <&- >&- 2>&-")
        for _ in range(100):
            found = daemon.status()["clients"]
            if found:
                break
            time.sleep(0.05)
        folder = Path(f"/proc/{found[0]['process']}/fd")
        files = {int(file.name): os.readlink(file) for file in folder.iterdir()}
        ours = [number for number, file in files.items() if "gangway" in file or "eventfd" in file]  # the stand-in has a socket, too
        self.assertGreaterEqual(len(ours), 3, files)
        self.assertGreater(min(ours), 2, files)  # where the program would print into them
        finish(program)
        daemon.end()

    def test_a_name_that_would_be_more_than_a_name(self):
        daemon = Daemon("--policy", "piv")
        self.assertEqual(daemon.run(CLIENT, "jobs", "3", options=["--name", "a\nb,c\x1b[31m"])[0], 0)
        logged = daemon.logged()
        self.assertTrue(any(line.split(",")[3] == "a?b;c?[31m" for line in logged[1:]), logged)
        self.assertEqual({line.count(",") for line in logged}, {4})
        daemon.process.send_signal(signal.SIGTERM)
        said = daemon.process.communicate(timeout=LIMIT)[0]
        self.assertEqual([line for line in said.splitlines() if line.startswith(("a", "b"))][0][:12], "a?b,c?[31m (")
        shutil.rmtree(daemon.folder)

    def test_a_daemon_for_each_gpu(self):
        daemon = Daemon("--policy", "piv")
        environment = daemon.environment(CUDA_VISIBLE_DEVICES="3,GPU-abc,7")
        second = subprocess.Popen([GANGWAY, "serve", "--policy", "fcfs", "--gpu", "1"], stdout=subprocess.PIPE, text=True, env=environment)
        self.assertEqual(second.stdout.readline(), f"fcfs at {daemon.folder}/gangway/socket-1\n")

        def run(*options):
            return subprocess.run([GANGWAY, "exec", *options, "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"], capture_output=True, text=True,
                                  timeout=LIMIT, env=environment)
        self.assertEqual(run("--gpu", "1").stdout, "GPU-abc\n")
        self.assertIn("no daemon", run("--gpu", "2").stderr)
        self.assertEqual(run("--gpu", "2", "--socket", daemon.socket).stdout, "7\n")
        self.assertIn("no GPU 3 in CUDA_VISIBLE_DEVICES=3,GPU-abc,7", run("--gpu", "3", "--socket", daemon.socket).stderr)
        self.assertEqual(run("--socket", daemon.socket).stdout, "3,GPU-abc,7\n")
        second.terminate()
        second.communicate()
        daemon.end()

    def test_no_driver(self):
        daemon = Daemon("--policy", "piv")
        result = subprocess.run([GANGWAY, "exec", "--socket", daemon.socket, "--", "true"], capture_output=True, text=True,
                                env=dict(os.environ, LD_LIBRARY_PATH="", XDG_RUNTIME_DIR=daemon.folder))
        if result.returncode != 0:  # this machine may have one
            self.assertEqual(result.returncode, 1)
            self.assertIn("no CUDA driver", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)
        daemon.end()

    def test_signals_to_exec_alone_reach_the_program(self):
        daemon = Daemon("--policy", "piv")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGALRM, signal.SIGRTMIN + 3):
            with self.subTest(number):
                # A signal that is ignored here, as under nohup, would be ignored there, too.
                self.addCleanup(signal.signal, number, signal.signal(number, lambda *_: None))
                process = daemon.start("bash", "-c", f"trap 'echo ended; exit 5' {int(number)}; echo ready; while :; do sleep 0.05; done")
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(number)
                code, out, _ = finish(process)
                self.assertEqual((code, out), (5, "ended\n"))
        daemon.end()

    def test_an_interrupt_at_the_terminal_comes_once(self):
        daemon = Daemon("--policy", "piv")
        controller, terminal = os.openpty()
        script = "trap 'echo interrupted' INT; trap 'exit 5' TERM; echo $$; while :; do sleep 0.05; done"
        process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", GANGWAY, "exec", "--socket", daemon.socket, "--", "bash", "-c", script],
            stdin=terminal, stdout=subprocess.PIPE, text=True,
            env=daemon.environment())
        program = int(process.stdout.readline())
        os.write(controller, b"\x03")
        self.assertEqual(process.stdout.readline(), "interrupted\n")
        time.sleep(0.2)
        os.kill(program, signal.SIGTERM)
        self.assertEqual((process.stdout.read(), process.wait(LIMIT)), ("", 5))
        process.stdout.close()
        os.close(controller)
        os.close(terminal)
        daemon.end()

    def test_a_kill_ends_the_program(self):
        daemon = Daemon("--policy", "fcfs")
        program = daemon.start("sh", "-c", "echo $$; exec sleep 1000")
        number = int(program.stdout.readline())
        program.kill()
        program.wait()
        end = time.monotonic() + LIMIT
        while Path(f"/proc/{number}").exists() and "Z" not in Path(f"/proc/{number}/stat").read_text().split()[2]:
            self.assertLess(time.monotonic(), end, "it goes on")
            time.sleep(0.01)
        daemon.end()

    def test_a_look_alike_behind_a_look_alike(self):
        daemon = Daemon("--policy", "piv")
        code, out, _ = daemon.run(GANGWAY, "exec", "--socket", daemon.socket, "--", CLIENT, "jobs", "2")
        self.assertEqual((code, out), native(CLIENT, "jobs", "2")[:2])
        daemon.end()

    def test_preload(self):
        daemon = Daemon("--policy", "piv")
        code, out, _ = finish(daemon.start(CLIENT, "jobs", "2", options=["--preload"]))
        self.assertEqual((code, out), native(CLIENT, "jobs", "2")[:2])
        self.assertIn("submissions", daemon.end()[0])


if __name__ == "__main__":
    unittest.main()
