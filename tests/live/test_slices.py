"""Kernels of programs that nobody changed, in slices: the stand-in carries their PTX out."""

import os
import random
import signal
import subprocess
import time
import unittest

from live_daemon import STANDIN, finish
from test_forms import CLIENT, LONG, POINTS, FormsTest

# The stand-in holds as many blocks as there are, so slices are given in blocks.
PKM = ("pkm", "--param", "slice=block-tasks", "--param", "block_tasks=10")
RANDOM = ("microkernel-rr", "--param", "state=resident", "--param", "blocks=block-tasks")


class SlicesTest(FormsTest):
    def begin(self, *options, prepared=True, resident="4"):
        daemon = super().begin(*options, prepared=prepared)
        self.more["STANDIN_RESIDENT"] = resident
        return daemon

    def sliced(self, *command, policy=PKM, least=1, slices=1, **more):
        """The client's `command` beside an urgent one, in slices: the same output as natively; its last status, and the log."""
        daemon = self.begin("--policy", *policy, "--forms", "all", **more)
        result, seen = self.beside_urgent(daemon, *command, least=least)
        self.assertEqual(result[:2], self.native(*command), result[2])
        self.assertGreaterEqual(seen["slices"], slices, seen)
        _, err, steps = daemon.end()
        self.assertEqual(err, "")
        return seen, [step for step in steps if step[3] == "program"]


@unittest.skipUnless(STANDIN and CLIENT, "there is no stand-in driver")
class Results(SlicesTest):
    def test_the_riskiest_order_of_work(self):
        seen, _ = self.sliced("riskiest", "400" if LONG else "60", least=20, slices=200)
        self.assertGreater(seen["launches_in_forms"], 60)
        self.assertGreater(seen["slices"], 4 * seen["launches_in_forms"])

    def test_all_kinds_of_launches(self):
        self.sliced("kinds", "60", slices=60)

    def test_what_a_program_asks_while_its_kernel_is_partly_done(self):
        self.sliced("asks", "60", slices=60)


if __name__ == "__main__":
    unittest.main()
