"""What the driver refuses of kernels in forms: a program hears of it as it would without, and nobody waits for ever."""

import random
import time
import unittest

from live_daemon import LIMIT, LOOK, STANDIN, finish
from test_forms import CLIENT, FormsTest
from test_slices import microkernels, pkm

NEVER = 1_000_000_000
LOST = 3  # a program of the tests that is told of an error ends with this code


@unittest.skipUnless(STANDIN and CLIENT, "there is no stand-in driver")
class Refused(FormsTest):
    def fails(self, *policy, calls, error=2, command=("passes", "30"), thread="gangway-keeper", symbol="cuLaunchKernel"):
        """The program while these calls of its keeper fail, beside an urgent one that goes on whatever happens."""
        daemon = self.begin("--policy", *policy, "--forms", "all")
        urgent = daemon.start(CLIENT, "urgent", daemon.folder + "/done", options=["--name", "urgent", "--priority", "5"], **self.more)
        self.client(daemon, "urgent")
        first, last = calls
        fault = f"{symbol}:{first}:{last}:{error}:{thread}"
        program = daemon.start(CLIENT, *command, options=["--name", "program"], STANDIN_FAIL=fault, FORMS_LINGERS="1", **self.more)
        self.failed, limit = 0, time.monotonic() + LIMIT
        while program.poll() is None and time.monotonic() < limit:
            self.failed = max([self.failed] + [c["failed_launches"] for c in daemon.status()["clients"] if c["name"] == "program"])
            time.sleep(LOOK)
        result = finish(program)
        jobs = self.client(daemon, "urgent")["jobs"]
        while self.client(daemon, "urgent")["jobs"] < jobs + 3:
            pass
        open(daemon.folder + "/done", "w").close()
        self.assertEqual(finish(urgent)[:2], (0, "urgent: worked\n"))
        _, err, _ = daemon.end()
        self.assertEqual(err, "")
        return result

    def ends_with_the_error(self, result, error):
        code, out, err = result
        self.assertEqual(code, LOST, result)
        self.assertGreater(self.failed, 0)  # as the status has it
        self.assertIn(f"error {error}\n", out)
        self.assertNotIn("wrong", out)
        self.assertRegex(err, rf"\Agangway: the driver refuses the rest of the kernel (work|mix_words) \(error {error}\): calls that submit or wait end with that error\n\Z")


class Orders(Refused):
    ORDER = "cuStreamBatchMemOp_v2"

    def test_orders_that_are_refused_for_a_while_are_given_later(self):
        # Which order it is differs: to leave, to go on, or to give back a word.
        rng = random.Random(2)
        for passes, first in (("20", 7), ("60", 5), ("60", 15), ("60", rng.randrange(20, 80)), ("60", rng.randrange(20, 80))):
            with self.subTest(first=first):
                result = self.fails("piv", calls=(first, first + rng.randrange(3)), command=("passes", passes), symbol=self.ORDER)
                self.assertEqual(result, (*self.native("passes", passes), ""))
                self.assertEqual(self.failed, 0)

    def test_a_program_whose_orders_are_refused_for_good_is_told(self):
        # Its stream can never go on.
        daemon = self.begin("--policy", "piv", "--forms", "all")
        urgent = daemon.start(CLIENT, "urgent", daemon.folder + "/done", options=["--name", "urgent", "--priority", "5"], **self.more)
        program = daemon.start(CLIENT, "passes", "60", options=["--name", "program"], STANDIN_FAIL=f"{self.ORDER}:5:{NEVER}:701:gangway-keeper", **self.more)
        # Which of them is the first differs, as above.
        self.assertRegex(program.stderr.readline(), r"\Agangway: the driver refuses (an order to a kernel|the rest of the kernel \w+) \(error 701\): "
                                                    r"calls that submit or wait end with that error\n\Z")
        program.kill()
        finish(program)
        jobs = self.client(daemon, "urgent")["jobs"]
        while self.client(daemon, "urgent")["jobs"] < jobs + 3:
            pass
        open(daemon.folder + "/done", "w").close()
        self.assertEqual(finish(urgent)[:2], (0, "urgent: worked\n"))
        daemon.end()


class Slices(Refused):
    def test_blocks_that_a_kernel_cannot_have_are_refused_at_the_call(self):
        for policy in (pkm(7), microkernels(16)):
            with self.subTest(policy=policy[0]):
                daemon = self.begin("--policy", *policy, "--forms", "all")
                result, _ = self.beside_urgent(daemon, "refused", "24", least=0)
                self.assertEqual(result, (*self.native("refused", "24"), ""))
                self.assertIn("\n1 ", result[1])
                steps = daemon.end()[2]  # which, other than a status, also has what came last
                self.assertGreater(len([step for step in steps if (step[1], step[3]) == ("sliced", "program")]), 24)

    def test_a_slice_that_is_refused_for_a_while_is_launched_later(self):
        rng = random.Random(1)
        for policy in (pkm(10), microkernels(24)):
            first = rng.randrange(1, 40)
            with self.subTest(policy=policy[0], first=first):
                result = self.fails(*policy, calls=(first, first + rng.randrange(1, 6)))
                self.assertEqual(result, (*self.native("passes", "30"), ""))
                self.assertEqual(self.failed, 0)

    def test_a_slice_that_is_refused_for_good_ends_its_program_with_the_error(self):
        for policy in (pkm(10), microkernels(24)):
            for first in (1, 4):
                with self.subTest(policy=policy[0], first=first):
                    self.ends_with_the_error(self.fails(*policy, calls=(first, NEVER), error=701), 701)


    def test_others_do_not_wait_for_a_slice_that_does_not_end(self):
        """Its blocks wait for later ones, so that only 7.5 times the drain limit ends it."""
        daemon = self.begin("--policy", *pkm(10), "--forms", "all", "--drain-limit", "200 ms")
        self.more["STANDIN_RESIDENT"] = "48"
        result, _ = self.beside_urgent(daemon, "awaits", "3", least=0)
        self.assertEqual(result, (*self.native("awaits", "3"), ""))
        _, _, steps = daemon.end()
        stays = next(n for n, step in enumerate(steps) if (step[1], step[3]) == ("stays", "program"))
        waits = next(n for n, step in enumerate(steps) if step[1].startswith("waits await_last"))
        others = [step for step in steps[stays:waits] if (step[1], step[3]) == ("permitted", "urgent")]
        self.assertGreaterEqual(len(others), 2, steps[stays:waits])


class Evictions(Refused):
    def test_a_report_that_is_refused_once_is_made_later(self):
        """The keeper asks for a count, launches the rest, and has a report behind it: each of its first calls in turn."""
        for call in range(1, 9):
            with self.subTest(call=call):
                result = self.fails("piv", calls=(call, call))
                self.assertEqual(result, (*self.native("passes", "30"), ""))

    def test_what_is_refused_for_good_ends_its_program_with_the_error(self):
        for first in (1, 2, 3):
            with self.subTest(first=first):
                self.ends_with_the_error(self.fails("piv", calls=(first, NEVER)), 2)


if __name__ == "__main__":
    unittest.main()
