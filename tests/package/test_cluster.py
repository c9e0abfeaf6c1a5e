"""Sweeps on Dask's workers: the bytes of one run, whatever happens to workers."""

import filecmp
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import gangway

try:
    from distributed import Client
except ImportError:
    Client = None

PROGRAM = os.environ['GANGWAY']
TABLES = ('summary.csv', 'clients.csv', 'jobs.csv', 'published.csv')


class LastFirst(gangway.OwnershipPolicy):
    """Whoever came last; slowly where a file says so."""

    def choose(self, now, waiting):
        return len(waiting) - 1


# Its class reaches the workers by value, with the globals that it uses.
SCRIPT = '''
import sys
import gangway
from distributed import Client

LONGEST, ASKED = True, []

class Tool:
    def key(self, job):
        ASKED.append(job.arrived)
        return sum(kernel.declared for kernel in job.kernels) * (1 if LONGEST else -1)

class Mine(gangway.OwnershipPolicy):
    tool = Tool()

    def choose(self, now, waiting):
        return max(range(len(waiting)), key=lambda i: self.tool.key(waiting[i]))

if __name__ == '__main__':
    experiment = gangway.Experiment('frs/fig4')
    experiment['policies'], experiment['published'], experiment['replications'] = ['mine'], [], 2
    experiment['sweep'] = {'workload.arrivals.gap': {'from': '0.5 ms', 'to': '6 ms', 'step': '0.5 ms'}}
    with Client(n_workers=2, threads_per_worker=1, processes=PROCESSES, dashboard_address=None, silence_logs=50) as client:
        found = []
        for LONGEST in (True, False):
            swept = gangway.sweep(experiment, client, f'{sys.argv[1]}-{LONGEST}')
            found.append(swept.summary)
            print(swept.summary.equals(experiment.run().summary) if LONGEST else found[0].equals(found[1]))
'''

# A module reaches the workers by its name: they import it themselves.
RULES = 'SIGN = 1\ndef key(job): return SIGN * sum(kernel.declared for kernel in job.kernels)\n'
WITH_A_MODULE = '''
import importlib
import pathlib
import sys
import gangway
import signed_rules as rules
from distributed import Client

class Mine(gangway.OwnershipPolicy):
    def choose(self, now, waiting):
        return max(range(len(waiting)), key=lambda i: rules.key(waiting[i]))

def say(client, name):
    try:
        swept = gangway.sweep(experiment, client, f'{sys.argv[1]}-{name}')
    except gangway.InputError as error:
        print(name, error.key, 'restart the workers' in str(error), len(str(error).splitlines()))
    else:
        print(name, swept.summary.equals(experiment.run().summary))

if __name__ == '__main__':
    experiment = gangway.Experiment('frs/fig4')
    experiment['policies'], experiment['published'], experiment['replications'] = ['mine'], [], 2
    experiment['sweep'] = {'workload.arrivals.gap': {'from': '0.5 ms', 'to': '3 ms', 'step': '0.5 ms'}}
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=30) as client:
        say(client, 'first')
        rules.SIGN = -1
        say(client, 'set')
        rules.SIGN = 1
        say(client, 'back')
        file = pathlib.Path(rules.__file__)
        file.write_text(file.read_text().replace('SIGN = 1', 'SIGN = -1'))
        importlib.reload(rules)
        say(client, 'edited')
        client.restart()
        say(client, 'edited')
        client.run(setattr, rules, 'SIGN', 1)
        say(client, 'elsewhere')
'''


def experiment(points=60, **changes):
    made = gangway.Experiment('frs/fig4')
    made['policies'], made['replications'] = ['rr', 'sjf', 'last-first'], 2
    made['published'] = [{'figure': 'x', 'policy': 'rr', 'metric': 'antt', 'point': 3, 'published': 2, 'class': 'open'}]
    made['sweep'] = {'policies.rr.params.quantum': {'from': '0.1 ms', 'to': f'{points / 10} ms', 'step': '0.1 ms'}}
    for path, value in changes.items():
        made[path] = value
    return made


@unittest.skipUnless(Client, 'there is no distributed')
class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.whole = cls.folder / 'whole'
        experiment().run(out=cls.whole)

    def client(self, workers=4):
        client = Client(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
        self.addCleanup(client.close)
        return client

    def check(self, out, whole=None):
        for name in TABLES:
            self.assertTrue(filecmp.cmp((whole or self.whole) / name, out / name, shallow=False), name)
        self.assertEqual([str(path) for path in out.glob('parts')], [])

    def test_the_bytes_of_one_run_with_a_worker_killed_in_the_middle(self):
        client = self.client()
        victim = list(client.run(os.getpid).values())[0]
        killed = threading.Event()

        def kill():
            os.kill(victim, signal.SIGKILL)
            killed.set()
        timer = threading.Timer(0.5, kill)
        timer.start()
        result = gangway.sweep(experiment(), client, self.folder / 'killed')
        timer.join()
        self.assertTrue(killed.is_set())
        self.check(self.folder / 'killed')
        self.assertEqual(len(result.summary), 180)

    def test_the_program_takes_the_folder_for_its_own(self):
        plain = experiment(policies=['rr', 'sjf'])
        gangway.sweep(plain, self.client(2), self.folder / 'plain')
        subprocess.run([PROGRAM, 'compare', self.folder / 'plain', self.folder / 'plain'], check=True, capture_output=True)
        again = plain.run(out=self.folder / 'plain')
        self.assertTrue(again.report['was_complete'])
        self.assertTrue(gangway.sweep(plain, self.client(1), self.folder / 'plain').summary.equals(again.summary))

    def test_one_that_is_interrupted_goes_on(self):
        client, out = self.client(2), self.folder / 'interrupted'
        # A shell's background jobs ignore SIGINT.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

        def interrupt():
            while not out.is_dir():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
        with self.assertRaises(KeyboardInterrupt):
            gangway.sweep(experiment(150), client, out)
        self.assertFalse((out / 'summary.csv').exists())
        began = time.monotonic()
        gangway.sweep(experiment(150), self.client(2), out)
        with_rest = time.monotonic() - began
        experiment(150).run(out=self.folder / 'all-at-once')
        self.check(out, self.folder / 'all-at-once')
        self.assertGreater(with_rest, 0)

    def test_a_policy_of_the_script_itself_and_what_it_refers_to(self):
        script = self.folder / 'script.py'
        for processes in ('True', 'False'):
            script.write_text(SCRIPT.replace('PROCESSES', processes))
            done = subprocess.run([sys.executable, script, self.folder / f'script-{processes}'], capture_output=True, text=True)
            self.assertEqual(done.stdout.split(), ['True', 'False'], done.stderr)

    def test_a_policy_whose_module_is_another_one_on_the_workers(self):
        (self.folder / 'signed_rules.py').write_text(RULES)
        script = self.folder / 'with_a_module.py'
        script.write_text(WITH_A_MODULE)
        done = subprocess.run([sys.executable, script, self.folder / 'module'], capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines(), ['first True', 'set policies True 1', 'back True', 'edited policies True 1', 'edited True',
                                                    'elsewhere policies True 1'], done.stderr)
        self.assertFalse((self.folder / 'module-set/summary.csv').exists())
        self.assertNotIn('Compute Failed', done.stderr)

    def test_points_that_fail_are_told(self):
        # A kernel that does not fit: the last value of a sweep that begins well.
        broken = experiment(sweep={'workload.clients.VA.kernels.0.block': [[256], [1_000_000]]}, policies=['rr'], published=[])
        with self.assertRaises(gangway.GangwayError):
            gangway.sweep(broken, self.client(1), self.folder / 'broken')

    def test_wrong_input(self):
        for call in (lambda: gangway.sweep('frs/fig4', None, self.folder / 'x'), lambda: gangway.sweep(experiment(), None), lambda: gangway.sweep(experiment(), 'tcp://nowhere:1', self.folder / 'x'),
                     lambda: gangway.sweep(experiment(seed=2), self.client(1), self.whole)):
            with self.assertRaises(gangway.InputError) as caught:
                call()
            self.assertEqual(len(str(caught.exception).splitlines()), 1)
        self.check(self.whole)


if __name__ == '__main__':
    unittest.main()
