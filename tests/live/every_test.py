"""Runs every test of this folder, several at once: python3 every_test.py [--at-once N] [ID...].

The tests hold times against programs that share this machine's processors, with each other and with whoever else uses it. One that
fails is tried once more when all others are over. What failed is printed; it counts as failed if the second fails, too."""

import argparse
import concurrent.futures
import io
import multiprocessing
import os
import sys
import time
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent
# They begin first, so that no core is idle at the end.
LONG = ("test_passing", "test_slices", "test_memory", "test_refused_launches", "test_programs", "test_forms")
SKIPPED = 77  # exit code, if all are


class Result(unittest.TextTestResult):
    """Tells also what was skipped."""

    def outcome(self):
        return "failed" if not self.wasSuccessful() else "skipped" if self.skipped else "passed"


def run(test):
    """In a process of the pool: how the test of this name ended, and what was printed."""
    text = io.StringIO()
    suite = unittest.defaultTestLoader.loadTestsFromName(test)
    result = unittest.TextTestRunner(text, buffer=True, resultclass=Result).run(suite)
    return result.outcome() if result.testsRun or result.skipped else "failed", text.getvalue()


def names(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from names(part)
        else:
            yield part.id()


def rank(test):
    module = test.split(".")[0]
    return LONG.index(module) if module in LONG else len(LONG)


def ends(tests, at_once):
    """(test, how it ended, what was printed) as each ends."""
    context = multiprocessing.get_context("spawn")  # each process has a machine of its own: live_daemon.MACHINE
    with concurrent.futures.ProcessPoolExecutor(at_once, mp_context=context) as pool:
        running = {pool.submit(run, test): test for test in tests}
        for future in concurrent.futures.as_completed(running):
            try:
                yield running[future], *future.result()
            except Exception as error:  # in the loading of its module, or of the pool
                yield running[future], "failed", f"ERROR: {running[future]}\n{type(error).__name__}: {error}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at-once", type=int, default=(os.cpu_count() or 1) + 1)
    parser.add_argument("tests", nargs="*", metavar="ID")
    arguments = parser.parse_args()
    os.chdir(FOLDER)
    sys.path.insert(0, str(FOLDER))
    loader = unittest.defaultTestLoader
    found = arguments.tests or sorted(names(loader.discover(str(FOLDER))), key=rank)
    print(*loader.errors, sep="\n", end="")  # of modules that cannot be imported, whose tests fail
    began, outcomes = time.monotonic(), {}
    for test, outcome, text in ends(found, arguments.at_once):
        outcomes[test] = outcome
        if outcome == "failed":
            print(text, flush=True)
    again = [test for test, outcome in outcomes.items() if outcome == "failed"]
    for failed in again:
        for test, outcome, text in ends([failed], 1):
            outcomes[test] = outcome
            print(text if outcome == "failed" else f"passed at its second attempt only: {test}", flush=True)
    count = {outcome: list(outcomes.values()).count(outcome) for outcome in ("failed", "skipped")}
    print(f"Ran {len(outcomes)} tests in {time.monotonic() - began:.0f} s: {count['failed']} failed, {count['skipped']} skipped, "
          f"{len([test for test in again if outcomes[test] != 'failed'])} passed at the second attempt only")
    if count["failed"] or not outcomes:
        return 1
    return SKIPPED if count["skipped"] == len(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
