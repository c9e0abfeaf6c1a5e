"""Policies in Python whose calls do not return."""

import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import gangway

HANGS = """import os, signal, sys, time
import gangway

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have switched off

def wait(how):
    print('hangs', flush=True)
    while how != 'swallow':
        pass
    while True:
        try:
            time.sleep(0.001)
        except Exception:
            pass

class Hangs(gangway.OwnershipPolicy):
    def choose(self, now, waiting):
        if 'HOW' in os.environ:
            wait(os.environ['HOW'])
        return 0

how, watchdog, play, out = sys.argv[1:]
experiment = gangway.Experiment('frs/fig4')
experiment['policies'] = ['fcfs', 'hangs']
experiment['published'], experiment['permutations'], experiment['replications'] = [], 1, 1
experiment['watchdog'] = watchdog
if play == 'host':
    experiment['workload'] = 'host-kernels'
try:
    if play == 'timeline':
        result = experiment.run()
        os.environ['HOW'] = how
        result.timeline(policy='hangs')
    else:
        os.environ['HOW'] = how
        experiment.run(jobs=1, world=play, out=out)
except gangway.RunError as error:
    print(error, error.result and len(error.result.summary))
except KeyboardInterrupt:
    print('interrupted')
print('goes on')
"""


class WithoutEnd(unittest.TestCase):
    """Calls of policies that do not return."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / 'out'

    def start(self, how, watchdog, play):
        process = subprocess.Popen([sys.executable, '-c', HANGS, how, watchdog, play, self.out], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), 'hangs\n')
        return process

    def test_the_run_fails_and_says_where(self):
        for how, world in (('loop', 'sim'), ('loop', 'host'), ('swallow', 'sim')):
            with self.subTest(how=how, world=world):
                self.out = self.out.with_name(f'{how}-{world}')
                said, _ = self.start(how, '1 s', world).communicate(timeout=60)
                self.assertRegex(said, r"1 of 2 results failed; the first: point 0, policy 'hangs', seed 1, replication 0, permutation 0: at \d+ ns "
                                       r'the policy has not returned from choose\(\) after [\d.]+ s \(<string>:\d+\)')
                self.assertTrue(said.endswith('2\ngoes on\n'), said)

    def test_ctrl_c(self):
        process = self.start('loop', '3600 s', 'sim')
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        self.assertEqual(said, 'interrupted\ngoes on\n')
        self.assertFalse((self.out / 'summary.csv').exists())  # the policy has not failed

    def test_ctrl_c_while_an_experiment_is_read(self):
        class Interrupted(gangway.Policy):
            def __init__(self):
                raise KeyboardInterrupt

            def decide(self, now, view, orders):
                pass
        with self.assertRaises(KeyboardInterrupt):
            experiment = gangway.Experiment('frs/fig4')
            experiment['policies'], experiment['published'] = ['interrupted'], []
            experiment.run()

    def test_in_a_timeline(self):
        said, _ = self.start('loop', '1 s', 'timeline').communicate(timeout=60)
        self.assertRegex(said, r'the policy has not returned from choose\(\) after ')
        process = self.start('loop', '3600 s', 'timeline')
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        self.assertEqual(said, 'interrupted\ngoes on\n')


if __name__ == '__main__':
    unittest.main()
