"""Too little host memory for the states that do not fit on the GPU together: who comes last gets no memory, and the others take turns."""

import subprocess
import unittest

from live_daemon import GANGWAY, LIMIT, STANDIN, finish
from memory_programs import MIB, MemoryPrograms

POLICIES = (["fcfs"], ["rr", "--param", "quantum=20 ms"], ["timeslice", "--param", "slice=20 ms"],
            ["microkernel-rr", "--param", "blocks=job", "--param", "slice=20 ms"])


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class HostMemory(MemoryPrograms):
    def go_on(self, daemon, programs, stop, third):
        """The third of three that do not fit with the first two, who go on."""
        code, out, err = finish(third)
        self.assertEqual((code, err), (6, ""), out)
        self.assertTrue(out.startswith("no memory at"), out)
        before = {name: client["memory"]["restores"] for name, client in self.clients(daemon).items()}
        self.assertEqual(len(before), 2)
        self.until(lambda: all(client["memory"]["restores"] > before[name] + 1 for name, client in self.clients(daemon).items()), "moves go on")
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 2)
        return daemon.end()[0]

    def start_named(self, daemon, name, stop, **more):
        return self.start(daemon, "holds", name[1:], "0", "64", stop, options=["--name", name], **more)

    def two(self, daemon, stop):
        programs = []
        for name in ("p0", "p1"):
            programs.append(self.start_named(daemon, name, stop))
            self.assertEqual(programs[-1].stdout.readline(), "holds 64\n")
        return programs

    def three_under(self, policy, *options, **of_third):
        """What the daemon prints when the third of three comes."""
        daemon = self.daemon(*policy, *options)
        stop = daemon.folder + "/stop"
        programs = self.two(daemon, stop)
        return self.go_on(daemon, programs, stop, self.start_named(daemon, "p2", stop, **of_third))

    def test_for_two_of_three(self):
        for policy in POLICIES:
            with self.subTest(policy=policy[0]):
                self.assertRegex(self.three_under(policy, "--host-memory", "270 MiB"),
                                 r"p2 \(\d+\): its memory stays on the GPU: there is no host memory for it\n")

    def test_that_the_driver_refuses_one_of_three(self):
        for policy in POLICIES:
            with self.subTest(policy=policy[0]):
                self.assertIn("p2 (", self.three_under(policy, STANDIN_HOST_MEMORY=str(8 * MIB)))

    def test_more_than_the_machine_has(self):
        result = subprocess.run([GANGWAY, "serve", "--policy", "rr", "--memory", "managed", "--host-memory", "100000 GiB"], capture_output=True,
                                text=True, timeout=LIMIT)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"at most what this machine has: \d+ MiB")

    def test_one_that_stays_beside_one_that_moves(self):
        # It has no host memory, and is small enough; the other two take turns in the rest.
        daemon = self.daemon("rr", "--param", "quantum=20 ms", device=240)
        stop = daemon.folder + "/stop"
        stays = self.start(daemon, "holds", "3", "0", "30", stop, options=["--name", "stays"], STANDIN_HOST_MEMORY=str(8 * MIB))
        self.assertEqual(stays.stdout.readline(), "holds 30\n")
        programs = self.two(daemon, stop)
        third = self.start_named(daemon, "p2", stop)
        self.assertEqual(third.stdout.readline(), "holds 64\n")
        self.until(lambda: all(client["memory"]["restores"] > 1 for name, client in self.clients(daemon).items() if name != "stays"), "moves")
        memory = self.clients(daemon)["stays"]["memory"]
        self.assertGreaterEqual(memory["cannot_move"], 30 * MIB)
        self.assertEqual(memory["saves"], 0)
        open(stop, "w").close()
        self.all_end_well(daemon, [stays, *programs, third], *["jobs many\n"] * 4)
        daemon.end()


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class HostMemoryOfProcesses(HostMemory):
    memory = "checkpoint"

    def daemon(self, policy, *options, **more):
        return super().daemon(policy, *options, around={"LD_LIBRARY_PATH": STANDIN}, **more)

    def test_for_two_of_three(self):
        for policy in POLICIES:
            with self.subTest(policy=policy[0]):
                self.three_under(policy, "--host-memory", "160 MiB")

    test_that_the_driver_refuses_one_of_three = test_more_than_the_machine_has = test_one_that_stays_beside_one_that_moves = None  # they pin nothing


if __name__ == "__main__":
    unittest.main()
