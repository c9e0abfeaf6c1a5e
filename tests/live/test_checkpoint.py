"""Whole processes that the driver takes off the GPU and brings back: programs whose memory stays the driver's, on the stand-in."""

import fcntl
import os
import signal
import subprocess
import time
import unittest

from live_daemon import GANGWAY, LIMIT, STANDIN, finish
from memory_programs import HOLDS, STATE, MemoryPrograms, helpers, holding

DRIVER = {"LD_LIBRARY_PATH": STANDIN}


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Checkpoint(MemoryPrograms):
    memory = "checkpoint"

    def daemon(self, policy, *options, around=None, **more):
        return super().daemon(policy, *options, around={**DRIVER, **(around or {})}, **more)

    def three(self, daemon, stop):
        programs = [self.start(daemon, "holds", str(i), "0", STATE, stop, options=["--name", f"p{i}"]) for i in range(3)]
        for program in programs:
            self.assertEqual(program.stdout.readline(), HOLDS)
        return programs

    def all_move(self, daemon, count=3):
        before = {name: client["memory"]["restores"] for name, client in self.clients(daemon).items()}
        self.assertEqual(len(before), count)
        self.until(lambda: all(client["memory"]["restores"] > before[name] + 1 for name, client in self.clients(daemon).items()), "moves go on")

    def test_three_states_on_a_device_that_holds_two(self):
        for policy in (["rr", "--param", "quantum=20 ms"], ["timeslice", "--param", "slice=20 ms"],
                       ["microkernel-rr", "--param", "blocks=job", "--param", "slice=20 ms"]):
            with self.subTest(policy=policy[0]):
                daemon = self.daemon(*policy, device=holding(2.6))
                stop = daemon.folder + "/stop"
                programs = self.three(daemon, stop)
                self.all_move(daemon)
                status = daemon.status()
                self.assertLessEqual(sum(client["memory"]["resident"] for client in status["clients"]), status["memory"]["capacity"])
                open(stop, "w").close()
                self.all_end_well(daemon, programs, *["jobs many\n"] * 3)
                found = helpers(daemon)
                self.assertEqual(len(found), 1)
                daemon.end()
                self.until(lambda: not os.path.exists(f"/proc/{found[0]}"), "it ends with its daemon")

    def test_random_allocations_under_moves(self):
        daemon = self.daemon("rr", "--param", "quantum=5 ms", "--linger", "200 us", device=260)
        programs = [self.start(daemon, "random", str(seed), "150", "40") for seed in range(3)]
        self.all_end_well(daemon, programs, *["random 150\n"] * 3)
        daemon.end()

    def test_memory_that_goes_with_its_context(self):
        daemon = self.daemon("rr", device=240)
        self.all_end_well(daemon, [self.start(daemon, "resets", "0", "8", "60")], "resets 8\n")
        daemon.end()

    def idle(self, daemon, mode, number):
        """A process with a state that does nothing until there is a file."""
        go = f"{daemon.folder}/go{number}"
        program = self.start(daemon, mode, str(number), "0", STATE, go, options=["--name", f"p{number}"])
        self.assertEqual(program.stdout.readline(), HOLDS)
        return program, go

    def test_a_process_that_waits_in_the_driver_beside_an_idle_one(self):
        # No gate is passed where it waits, and the idle one keeps its turn.
        for policy in (["fcfs"], ["rr", "--param", "quantum=20 ms"], ["timeslice", "--param", "slice=20 ms"]):
            with self.subTest(policy=policy[0]):
                daemon = self.daemon(*policy, device=holding(1.4))
                programs = [self.idle(daemon, "captures", number) for number in range(2)]
                self.until(lambda: self.clients(daemon)["p1"]["memory"]["away"] == 0, "it has its state")
                for program, go in programs:
                    open(go, "w").close()
                    code, out, err = finish(program)
                    self.assertEqual((code, err), (0, ""), out)
                daemon.end()

    def test_a_process_that_waits_in_the_driver_beside_a_busy_one(self):
        # In the driver's call before its first submission, for the context of the default stream.
        for policy in (["rr", "--param", "quantum=20 ms"], ["fcfs"]):
            with self.subTest(policy=policy[0]):
                daemon = self.daemon(*policy, device=holding(1.4))
                program, go = self.idle(daemon, "default", 0)
                stop = daemon.folder + "/stop"
                busy = self.start(daemon, "holds", "1", "0", STATE, stop, options=["--name", "busy"])
                self.assertEqual(busy.stdout.readline(), HOLDS)
                self.until(lambda: self.clients(daemon)["p0"]["memory"]["away"] != 0, "it leaves")
                open(go, "w").close()
                self.assertEqual(finish(program), (0, "default 1f\n", ""))
                open(stop, "w").close()
                self.all_end_well(daemon, [busy], "jobs many\n")
                daemon.end()

    def test_idle_processes_change_places_rarely(self):
        daemon = self.daemon("fcfs", device=holding(2.6))
        programs = [self.idle(daemon, "captures", number) for number in range(3)]
        time.sleep(12)
        saves = sum(client["memory"]["saves"] for client in self.clients(daemon).values())
        self.assertLess(saves, 9)
        for _, go in programs:
            open(go, "w").close()
        for program, _ in programs:
            code, out, err = finish(program)
            self.assertEqual((code, err), (0, ""), out)
        daemon.end()

    def test_a_driver_that_cannot(self):
        for version, words in (("12040", "12.4, and checkpoints need one for 12.8 or newer"), ):
            result = subprocess.run([GANGWAY, "serve", "--policy", "rr", "--memory", "checkpoint", "--socket", f"/tmp/gangway-none-{os.getpid()}"],
                                    capture_output=True, text=True, timeout=LIMIT, env={**os.environ, **DRIVER, "STANDIN_DRIVER_VERSION": version})
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_a_checkpoint_that_fails(self):
        # The first one: that client goes on and stays, and the others take turns around it.
        daemon = self.daemon("rr", "--param", "quantum=10 ms", device=holding(2.6), around={"STANDIN_FAIL": "cuCheckpointProcessCheckpoint:1:1:801"})
        stop = daemon.folder + "/stop"
        programs = self.three(daemon, stop)
        self.until(lambda: sum(client["memory"]["failed"] for client in self.clients(daemon).values()) == 1, "a failure")
        failed = [name for name, client in self.clients(daemon).items() if client["memory"]["failed"]]
        self.until(lambda: all(client["memory"]["restores"] > 1 for name, client in self.clients(daemon).items() if name not in failed), "moves")
        memory = self.clients(daemon)[failed[0]]["memory"]
        self.assertEqual((memory["last_error"], memory["saves"], memory["away"]), (801, 0, 0))
        self.assertGreaterEqual(memory["cannot_move"], int(STATE) << 20)
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 3)
        out, _, _ = daemon.end()
        self.assertIn("its memory stays on the GPU: the driver's error 801 at its checkpoint", out)

    def test_the_daemon_is_killed_and_nobody_follows(self):
        # Who is away comes back by the process that outlives the daemon: no client stays locked.
        daemon = self.daemon("rr", "--param", "quantum=10 ms", device=holding(2.6))
        stop = daemon.folder + "/stop"
        programs = self.three(daemon, stop)
        self.until(lambda: any(client["memory"]["away"] for client in self.clients(daemon).values()), "a move")
        found = helpers(daemon)
        daemon.process.kill()
        daemon.process.communicate()
        open(stop, "w").close()  # the two that are here end, and there is room
        for program in programs:
            code, out, err = finish(program)
            self.assertEqual((code, out), (0, "jobs many\n"), err)
        self.until(lambda: not any(os.path.exists(f"/proc/{helper}") for helper in found), "it ends")

    def test_the_daemon_is_killed_and_another_one_follows(self):
        daemon = self.daemon("rr", "--param", "quantum=10 ms", device=holding(2.6))
        stop = daemon.folder + "/stop"
        programs = self.three(daemon, stop)
        for kill_helper in (False, True, False):
            with self.subTest(kill_helper=kill_helper):
                self.until(lambda: any(client["memory"]["state"] in ("leaves", "comes", "away") for client in self.clients(daemon).values()), "a move")
                found = helpers(daemon)
                daemon.process.kill()
                daemon.process.communicate()
                for helper in found if kill_helper else ():
                    os.kill(helper, signal.SIGKILL)
                time.sleep(0.05)
                daemon.serve("--policy", "rr", "--param", "quantum=10 ms", "--memory", "checkpoint")
                self.until(lambda: len(self.clients(daemon)) == 3, "all return")
                self.all_move(daemon)
        open(stop, "w").close()
        for program in programs:
            code, out, err = finish(program)
            self.assertEqual((code, out), (0, "jobs many\n"), err)
        daemon.end()

    def test_another_daemon_answers_while_it_waits_for_states(self):
        # As by the process of the daemon before, which restores what it has taken away, for seconds each.
        daemon = self.daemon("rr", "--param", "quantum=10 ms", device=holding(2.6))
        stop = daemon.folder + "/stop"
        programs = self.three(daemon, stop)
        self.until(lambda: any(client["memory"]["away"] for client in self.clients(daemon).values()), "a move")
        found = helpers(daemon)
        for helper in found:
            os.kill(helper, signal.SIGSTOP)
        daemon.process.kill()
        daemon.process.communicate()
        with open(daemon.socket + ".restoring", "w") as restoring:
            fcntl.flock(restoring, fcntl.LOCK_EX)
            daemon.serve("--policy", "rr", "--param", "quantum=10 ms")
            self.until(lambda: len(self.clients(daemon)) == 3, "all return")
            began = time.monotonic()
            programs.append(self.start(daemon, "holds", "9", "3", "20", options=["--name", "late"]))
            self.until(lambda: "late" in self.clients(daemon), "who comes meanwhile is a client")
            self.assertLess(time.monotonic() - began, 4)  # a daemon that waited would not have answered in 5
        for helper in found:
            os.kill(helper, signal.SIGCONT)
        open(stop, "w").close()
        for program, jobs in zip(programs, ("many", "many", "many", "3")):
            code, out, err = finish(program)
            self.assertEqual((code, out.splitlines()[-1]), (0, f"jobs {jobs}"), err)
        daemon.end()

    def test_the_process_for_checkpoints_is_killed(self):
        daemon = self.daemon("rr", "--param", "quantum=10 ms", device=holding(2.6))
        stop = daemon.folder + "/stop"
        programs = self.three(daemon, stop)
        self.all_move(daemon)
        for helper in helpers(daemon):
            os.kill(helper, signal.SIGKILL)
        self.all_move(daemon)
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 3)
        out, _, _ = daemon.end()
        self.assertIn("another one starts", out)


if __name__ == "__main__":
    unittest.main()
