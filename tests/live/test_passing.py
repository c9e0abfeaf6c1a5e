"""Memory that one program passes on to the next, on the stand-in driver."""

import os
import re
import signal
import subprocess
import time
import unittest

import kill_points
from live_daemon import GANGWAY, STANDIN, finish
from memory_programs import CLIENT, MIB, MemoryPrograms


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class Passing(MemoryPrograms):
    """Programs of a piece of 296 MiB and one of 4, of which one fits."""

    def two(self, daemon, stop, **more):
        programs = []
        for i in range(2):  # the second when the first has all it wants
            programs.append(self.start(daemon, "large", str(i), "0", "300", stop, options=["--name", f"p{i}"], **more))
            self.assertEqual(programs[i].stdout.readline(), "holds 300\n")
        return programs

    def passed(self, daemon):
        return [client["memory"]["passed_on"] // (296 * MIB) for client in self.clients(daemon).values()]

    def kept(self, daemon):
        """Pieces whose files the daemon has open."""
        folder, found = f"/proc/{daemon.process.pid}/fd", 0
        for name in os.listdir(folder):
            try:
                found += os.readlink(f"{folder}/{name}").startswith("/memfd:stand-in")
            except OSError:
                pass
        return found

    def nothing_is_kept(self, daemon):
        self.until(lambda: self.kept(daemon) == 0, "the daemon has no piece when all programs have ended")

    def test_a_piece_goes_back_and_forth(self):
        daemon = self.daemon("rr", "--param", "quantum=20 ms", device=420)
        stop, calls = daemon.folder + "/stop", daemon.folder + "/calls.%p"
        programs = self.two(daemon, stop, STANDIN_LOG=calls)
        self.until(lambda: all(times >= 3 for times in self.passed(daemon)), "both have passed it on")
        self.assertLessEqual(self.kept(daemon), 2)
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 2)
        exports = imports = 0
        for name in os.listdir(daemon.folder):
            if name.startswith("calls."):
                with open(f"{daemon.folder}/{name}") as log:
                    text = log.read()
                exports += len(re.findall(r"cuMemExportToShareableHandle\(.*-> 0", text))
                imports += len(re.findall(r"cuMemImportFromShareableHandle\(.*-> 0", text))
        # What was adopted cannot be exported again: it is the same piece, or one that was made anew when nobody waited for it.
        self.assertGreater(exports, 0)
        self.assertGreaterEqual(imports, 5)
        self.nothing_is_kept(daemon)
        daemon.end()

    def test_a_device_that_shares_no_memory(self):
        daemon = self.daemon("rr", "--param", "quantum=20 ms", device=420)
        stop = daemon.folder + "/stop"
        programs = self.two(daemon, stop, STANDIN_FAIL="cuMemExportToShareableHandle:1:1000000:801")
        self.until(lambda: all(client["memory"]["restores"] >= 2 for client in self.clients(daemon).values()), "both have come back")
        self.assertEqual(self.passed(daemon), [0, 0])
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 2)
        daemon.end()

    def test_memory_that_cannot_be_adopted(self):
        daemon = self.daemon("rr", "--param", "quantum=20 ms", device=420)
        stop = daemon.folder + "/stop"
        programs = self.two(daemon, stop, STANDIN_FAIL="cuMemImportFromShareableHandle:1:1000000:801")
        self.until(lambda: all(times >= 2 for times in self.passed(daemon)), "both have passed it on")
        open(stop, "w").close()
        self.all_end_well(daemon, programs, *["jobs many\n"] * 2)
        daemon.end()

    def test_killed_in_the_middle(self):
        for point in kill_points.PASSED_ON:
            with self.subTest(point=point):
                daemon = self.daemon("rr", "--param", "quantum=20 ms", device=420)
                stop = daemon.folder + "/stop"
                honest = self.start(daemon, "large", "1", "0", "300", stop, options=["--name", "honest"])
                self.assertEqual(honest.stdout.readline(), "holds 300\n")
                dies = subprocess.Popen([GANGWAY, "exec", "--socket", daemon.socket, "--name", "dies", "--", "/usr/bin/env",
                                         f"LD_LIBRARY_PATH={self.points_folder(daemon)}", f"GANGWAY_DIE_AT={point}", CLIENT, "large", "2", "1000000", "300"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=daemon.environment(**self.device, GANGWAY_LIVE_POINTS="1"))
                code, _, err = finish(dies)
                self.assertEqual(code, -signal.SIGKILL, err)
                more = self.start(daemon, "large", "3", "10", "300")
                self.assertEqual(more.stdout.readline(), "holds 300\n")
                open(stop, "w").close()
                self.all_end_well(daemon, [honest, more], "jobs many\n", "jobs 10\n")
                self.nothing_is_kept(daemon)
                daemon.end()

    def test_the_daemon_is_killed_in_the_middle(self):
        daemon = self.daemon("rr", "--param", "quantum=20 ms", "--held", device=420)
        stop = daemon.folder + "/stop"
        programs = self.two(daemon, stop)
        for _ in range(3):
            before = sum(self.passed(daemon))
            self.until(lambda: sum(self.passed(daemon)) > before, "a piece is passed on")
            daemon.process.kill()
            daemon.process.communicate()
            time.sleep(0.05)
            daemon.serve("--policy", "rr", "--param", "quantum=20 ms", "--memory", "managed", "--held")
            self.until(lambda: len(self.clients(daemon)) == 2, "both have returned")
        open(stop, "w").close()
        for program in programs:
            code, out, err = finish(program)
            self.assertEqual((code, out), (0, "jobs many\n"), err)
        refusals, most, size = self.refused(daemon)
        self.assertLessEqual(most, size)
        self.nothing_is_kept(daemon)
        daemon.end()


if __name__ == "__main__":
    unittest.main()
