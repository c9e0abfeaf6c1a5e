"""Ordinary CUDA programs, compiled by nvcc, whose kernels leave before their end: on the stand-in and its runtime."""

import os
import subprocess
import unittest

from live_daemon import GANGWAY, STANDIN
from test_forms import LONG, FormsTest

RUNTIME = os.environ.get("GANGWAY_RUNTIME", "")
PROGRAMS = os.environ.get("GANGWAY_PROGRAMS", "")

# Sizes of which the interpreter carries out a job in about 50 ms.
JOBS = ("--jobs", "12", "--check", "4", "--seed", "7", "--scale")
USUAL = ("bfs", "md5hash", "scan", "sort")  # the others in the long mode
OF_SHOC = {"bfs": "0.0001", "fft": "0.0005", "md5hash": "0.00005", "neuralnet": "0.00001", "reduction": "0.0005", "scan": "0.0002",
           "sort": "0.00003", "spmv": "0.00002", "triad": "0.001"}


@unittest.skipUnless(RUNTIME and PROGRAMS, "there is no nvcc")
class Programs(FormsTest):
    def play(self, program, *arguments, policy=("piv",), least=1, without=0):
        command = [f"{PROGRAMS}/{program}", *arguments]
        daemon = self.begin("--policy", *policy, "--forms", "all", "--drain-limit", "2 s", prepared=False)
        self.more["LD_LIBRARY_PATH"] = f"{RUNTIME}:{STANDIN}"
        environment = dict(os.environ, **self.more)
        subprocess.run([GANGWAY, "prepare", command[0]], env=environment, check=True, capture_output=True)
        alone = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        result, seen = self.beside_urgent(daemon, command[0], *arguments, least=least, program=True)
        self.assertEqual(result[:2], (0, alone.stdout), result[2])
        self.assertEqual(seen["kernels_without_forms"], without)
        daemon.end()
        return seen

    def test_kernels_like_those_of_shoc(self):
        evictions = 0
        for program in OF_SHOC if LONG else USUAL:
            with self.subTest(program):
                evictions += self.play(program, *JOBS, OF_SHOC[program], least=0)["evictions"]
        self.assertGreater(evictions, 2)

    def test_what_the_language_has(self):
        self.assertGreater(self.play("language", "200" if LONG else "25")["launches_in_forms"], 40)

    def test_thrust_and_cub(self):
        # The sort waits for other blocks. Most kernels are too short to be told to leave each time.
        self.play("libraries", "20" if LONG else "2", "4000", least=0, without=1)


if __name__ == "__main__":
    unittest.main()
