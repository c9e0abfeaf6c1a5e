"""Policies in Python, against those in C++ and against what policies may not do."""

import gc
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas

import gangway
from gangway.policy_version import version_of


class PythonSjf(gangway.OwnershipPolicy):
    """The shortest job first, as sjf has it."""

    def total(self, job):
        return sum(kernel.declared for kernel in job.kernels)

    def choose(self, now, waiting):
        return min(range(len(waiting)), key=lambda i: (self.total(waiting[i]), waiting[i].arrived, waiting[i].id.client))

    def urgency(self, job):
        return -self.total(job)


class PythonRr(gangway.OwnershipPolicy):
    """Round robin."""

    parameters = {'quantum': gangway.Parameter.time('1 ms', '1 us', '100 s')}

    def __init__(self, quantum):
        self.quantum = quantum

    def choose(self, now, waiting):
        return 0, self.quantum


class PythonPiv(gangway.OwnershipPolicy):
    """The most urgent kernel runs."""

    def choose(self, now, waiting):
        return min(range(len(waiting)), key=lambda i: (-waiting[i].urgency, waiting[i].arrived, waiting[i].id.client))

    def urgency(self, job):
        return job.urgency


class OwnQuanta(gangway.OwnershipPolicy):
    """In order of waiting; the quantum in ms is the client's weight, and without an end if that is 1."""

    def choose(self, now, waiting):
        return 0 if waiting[0].weight == 1 else (0, round(waiting[0].weight * 1_000_000))


class Endless(gangway.OwnershipPolicy):
    """In order of waiting, for the longest time that there is."""

    def choose(self, now, waiting):
        return 0, 2 ** 63 - 1


class PythonFcfs(gangway.Policy):
    """First come, first served: the whole contract by hand."""

    def __init__(self):
        self.queue, self.owner = [], None

    def note(self, now, fact, view):
        if isinstance(fact, gangway.facts.Arrived):
            self.queue.append(fact.job)
        elif isinstance(fact, gangway.facts.Left):
            self.owner = None
            if not fact.job_over:  # its next kernel
                self.queue.append(fact.job)

    def decide(self, now, view, orders):
        if self.owner is None and self.queue:
            self.owner = orders.launch(self.queue.pop(0))


def run(policies, **changes):
    experiment = gangway.Experiment('frs/fig4')
    experiment['policies'] = policies
    experiment['published'] = []
    for path, value in changes.items():
        experiment[path] = value
    return experiment.run()


class Equal(unittest.TestCase):
    def same(self, ours, theirs, **changes):
        ours, theirs = run([ours], **changes), run([theirs], **changes)
        pandas.testing.assert_frame_equal(ours.jobs.drop(columns='policy'), theirs.jobs.drop(columns='policy'))

    def test_sjf(self):
        self.same('python-sjf', 'sjf')

    def test_rr(self):
        self.same({'name': 'python-rr', 'params': {'quantum': '700 us'}}, {'name': 'rr', 'params': {'quantum': '700 us'}})

    def test_piv(self):
        clients = [{'name': name, 'priority': priority, 'arrive': arrive, 'repeat': {'jobs': 5, 'period': '7 ms'},
                    'kernels': [{'name': 'k', 'block_tasks': 800, 'block': [256], 'time': time}]}
                   for name, priority, arrive, time in (('a', 0, '0 ms', '4 ms'), ('b', 1, '1 ms', '1 ms'), ('c', 2, '1.5 ms', '0.3 ms'))]
        found = []
        for policy in ('python-piv', 'piv'):
            experiment = gangway.Experiment({'kind': 'experiment', 'version': 1, 'name': 'urgent', 'device': 'k40m', 'mechanism': 'proxy',
                                             'policies': [policy], 'workload': {'kind': 'workload', 'version': 1, 'name': 'three',
                                                                                'clients': clients}})
            found.append(experiment.run().jobs.drop(columns='policy'))
        pandas.testing.assert_frame_equal(*found)
        self.assertGreater(found[0].evictions.sum(), 3)

    def test_threads_change_nothing(self):
        experiment = gangway.Experiment('frs/fig4')
        experiment['policies'], experiment['published'] = ['python-sjf', 'python-rr'], []
        pandas.testing.assert_frame_equal(experiment.run(jobs=1).jobs, experiment.run(jobs=4).jobs)

    def test_on_cpu_cores(self):
        experiment = gangway.Experiment('frs/fig4')
        experiment['policies'], experiment['published'] = ['python-sjf'], []
        experiment['permutations'] = experiment['replications'] = 1
        experiment['workload'] = 'host-kernels'
        jobs = experiment.run(world='host').jobs
        self.assertEqual(set(jobs.outcome), {'finished'})

    def test_the_contract_by_hand(self):
        jobs = run(['python-fcfs']).jobs
        self.assertEqual(set(jobs.outcome), {'finished'})
        order = jobs[(jobs.replication == 0) & (jobs.permutation == 0)].sort_values('start_ns')
        self.assertTrue((order.arrival_ns.diff().dropna() >= 0).all())


class Quanta(unittest.TestCase):
    """Two GPUs, at no cost: a and b take 20 ms from 0 on, c takes 1 ms from 2.5 ms on."""

    def finishes(self, policy, weights):
        clients = [{'name': name, 'arrive': arrive, 'weight': weight, 'kernels': [{'name': 'k', 'block_tasks': 1000, 'block': [256], 'time': time}]}
                   for (name, arrive, time), weight in zip((('a', '0 ms', '20 ms'), ('b', '0 ms', '20 ms'), ('c', '2.5 ms', '1 ms')), weights)]
        device = {'kind': 'device', 'version': 1, 'name': 'two', 'source': 'made up', 'gpus': 2, 'sms': 10,
                  'sm': {'threads': 256, 'blocks': 1, 'registers': 65536, 'shared_memory': '96 KiB'}}
        jobs = gangway.Experiment({'kind': 'experiment', 'version': 1, 'name': 'quanta', 'device': device, 'mechanism': 'ideal', 'policies': [policy],
                                   'workload': {'kind': 'workload', 'version': 1, 'name': 'three', 'clients': clients}}).run().jobs
        return {job.client: (job.finish_ns / 1e6, job.evictions) for job in jobs.itertuples()}

    def test_each_owner_has_its_own_again(self):
        # a's ends for the second time at 3 ms, with c waiting; b's would end at 10 ms.
        self.assertEqual(self.finishes('own-quanta', (1.5, 10, 2)), {'a': (21, 1), 'b': (20, 0), 'c': (4, 0)})

    def test_one_without_an_end_beside_one_that_has_one(self):
        self.assertEqual(self.finishes('own-quanta', (2, 1, 2)), {'a': (21, 1), 'b': (20, 0), 'c': (5, 0)})

    def test_one_that_ends_after_all_time(self):
        self.assertEqual(self.finishes('endless', (1, 1, 1)), {'a': (20, 0), 'b': (20, 0), 'c': (21, 0)})


class Wrong(unittest.TestCase):
    def fails(self, policy, *parts):
        with self.assertRaises(gangway.RunError) as caught:
            run([policy])
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_one_that_raises(self):
        class Raises(gangway.Policy):
            def decide(self, now, view, orders):
                raise ValueError('no\nidea')
        self.fails('raises', "policy 'raises'", 'the policy failed: ValueError: no idea', 'test_policies.py')

    def test_one_that_answers_nonsense(self):
        for number, answer in enumerate((-1, 99, 'first', None, (0, -5), (0, 0), 1.5)):
            class Nonsense(gangway.OwnershipPolicy, name=f'nonsense-{number}'):
                def choose(self, now, waiting, answer=answer):
                    return answer
            self.fails(f'nonsense-{number}', 'the policy failed: choose() returned', ', expected ')

    def test_one_that_orders_the_impossible(self):
        class Impossible(gangway.Policy):
            def note(self, now, fact, view):
                if isinstance(fact, gangway.facts.Arrived):
                    self.job = fact.job

            def decide(self, now, view, orders):
                if now > 0:
                    orders.wake_at(now - 1)
        self.fails('impossible', "policy 'impossible'")

    def test_one_that_keeps_what_is_not_its_own(self):
        class Keeps(gangway.Policy):
            kept = ()

            def note(self, now, fact, view):
                if isinstance(fact, gangway.facts.Arrived):
                    self.kept = (view, view.job(fact.job))

            def decide(self, now, view, orders):
                for mine in self.kept:
                    getattr(mine, 'clients' if hasattr(type(mine), 'clients') else 'arrived')
        self.fails('keeps', 'ReferenceError')

    def test_one_that_cannot_be_made(self):
        class Unmade(gangway.Policy):
            def __init__(self):
                raise KeyError('x')

            def decide(self, now, view, orders):
                pass
        with self.assertRaises(gangway.GangwayError) as caught:
            run(['unmade'])
        self.assertIn('KeyError', str(caught.exception))

    def test_names_and_parameters(self):
        does = {'decide': lambda self, now, view, orders: None}
        for make in (lambda: type('Mine', (gangway.Policy,), does, name='sjf'), lambda: type('Mine', (gangway.Policy,), does, name='a b'),
                     lambda: type('Mine', (gangway.Policy,), {'needs': ('magic',), **does}),
                     lambda: type('Mine', (gangway.Policy,), {'parameters': {'x': 5}, **does}),
                     lambda: gangway.Parameter.time('5')):
            with self.assertRaises(gangway.InputError):
                make()
        with self.assertRaises(gangway.InputError) as caught:
            run([{'name': 'python-rr', 'params': {'quantum': '1 ns'}}])
        self.assertIn('quantum', str(caught.exception))

    def test_parameters_that_cannot_be_right(self):
        parameter = gangway.Parameter
        for make in (lambda: parameter.choice(), lambda: parameter.choice('a', 'a'), lambda: parameter.choice('a', ''), lambda: parameter.choice(1),
                     lambda: parameter.time(5), lambda: parameter.time('1 ms', '2 ms', '3 ms'), lambda: parameter.time('3 ms', '4 ms', '2 ms'),
                     lambda: parameter.number(float('nan'), 0, 1), lambda: parameter.number(0.5, 0, float('nan')),
                     lambda: parameter.number(0.5, 1, 0),
                     lambda: parameter.number(float('inf'), 0, float('inf')), lambda: parameter.number('0.5', 0, 1),
                     lambda: parameter.number(10 ** 400, 0, 1), lambda: parameter.number(2, 0, 1), lambda: parameter.integer(1.7, 0, 5),
                     lambda: parameter.integer(10 ** 30, 0, 10 ** 31), lambda: parameter.integer(0, 1, 5), lambda: parameter.integer('1', 0, 5),
                     lambda: parameter('flag', 1, 0, 1)):
            with self.assertRaises(gangway.InputError) as caught:
                make()
            self.assertRegex(str(caught.exception), r"^gangway.Parameter: key '\w+': found .*, expected [^\n]*$")
        with self.assertRaisesRegex(gangway.InputError, "key 'parameters.linger'.*Gangway's own"):
            type('Lingers', (gangway.OwnershipPolicy,), {'choose': lambda self, now, waiting: 0,
                                                         'parameters': {'linger': parameter.time('3 ms')}})
        self.assertNotIn('lingers', set(gangway.policies().name))

    def test_parameters_are_exact(self):
        got = {}

        class Exact(gangway.OwnershipPolicy):
            parameters = {'whole': gangway.Parameter.integer(2 ** 60 + 1, 0, 2 ** 62), 'time': gangway.Parameter.time('100 s', '0 ns', '100 s'),
                          'number': gangway.Parameter.number(1, 0, float('inf')), 'choice': gangway.Parameter.choice('a', 'b')}

            def __init__(self, **values):
                got.update(values)

            def choose(self, now, waiting):
                return 0
        run([{'name': 'exact', 'params': {'choice': 'b'}}], permutations=1, replications=1)
        self.assertEqual(got, {'whole': 2 ** 60 + 1, 'time': 10 ** 11, 'number': 1.0, 'choice': 'b'})

    def test_a_class_that_does_nothing_is_not_known(self):
        class Base(gangway.OwnershipPolicy):
            quantum = 1
        self.assertNotIn('base', set(gangway.policies().name))

        class Derived(Base):
            def choose(self, now, waiting):
                return 0
        self.assertIn('derived', set(gangway.policies().name))

    def test_results_of_other_code_are_not_taken_for_these(self):
        with tempfile.TemporaryDirectory() as folder:
            experiment = gangway.Experiment('frs/fig4')
            experiment['policies'], experiment['published'] = ['changing'], []

            class Changing(gangway.OwnershipPolicy):
                def choose(self, now, waiting):
                    return 0
            experiment.run(out=Path(folder) / 'out')
            self.assertTrue(experiment.run(out=Path(folder) / 'out').report['was_complete'])

            class Changing(gangway.OwnershipPolicy):  # noqa: F811
                def choose(self, now, waiting):
                    return len(waiting) - 1
            with self.assertRaises(gangway.InputError):
                experiment.run(out=Path(folder) / 'out')


DEFINED_MEANWHILE = """import threading, time
import gangway

def define(number):
    class Again(gangway.OwnershipPolicy):
        kept = number
        def choose(self, now, waiting):
            return 0

define(0)
experiment = gangway.Experiment('frs/fig4')
experiment['policies'] = [{'name': name, 'label': f'{name}-{i}'} for i in range(40) for name in ('again', 'srt', 'stride')]
experiment['published'] = []
counts, least, end = [0, 0], time.monotonic() + 1, time.monotonic() + 60

def repeat(which, call):
    while time.monotonic() < least or min(counts) < 5 and time.monotonic() < end:
        call(counts[which])
        counts[which] += 1

threads = [threading.Thread(target=repeat, args=arguments)
           for arguments in ((0, lambda _: experiment.read()), (0, lambda _: experiment.read()), (1, define))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(min(counts) >= 5)
"""

FORKED = """import os, sys, threading
import gangway

inside, over = threading.Event(), threading.Event()

class Waits(gangway.OwnershipPolicy):
    def choose(self, now, waiting):
        inside.set()
        over.wait()
        return 0

def run(policy, watchdog='3600 s'):
    experiment = gangway.Experiment('frs/fig4')
    experiment['policies'], experiment['published'], experiment['permutations'], experiment['replications'] = [policy], [], 1, 1
    experiment['watchdog'] = watchdog
    return experiment.run().jobs

thread = threading.Thread(target=run, args=['waits'], daemon=True)
thread.start()
inside.wait(60)
child = os.fork()
if child == 0:
    class First(gangway.OwnershipPolicy):
        def choose(self, now, waiting):
            return 0

    class Loops(gangway.OwnershipPolicy):
        def choose(self, now, waiting):
            while True:
                pass
    print(len(run('first')))
    try:
        run('loops', '1 s')
    except gangway.RunError as error:
        print('has not returned' in str(error))
    sys.stdout.flush()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
over.set()
thread.join()
"""


class Threads(unittest.TestCase):
    def process(self, script):
        done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout.split()

    def test_a_class_is_defined_while_experiments_are_read(self):
        self.assertEqual(self.process(DEFINED_MEANWHILE), ['True'])

    def test_a_policy_that_counts_is_played_several_times_at_once(self):
        class Counts(gangway.OwnershipPolicy):
            decisions = 0
            clients = {}

            def choose(self, now, waiting):
                Counts.decisions += 1
                Counts.clients[Counts.decisions] = waiting[0].id.client
                return 0, 1_000_000
        with ThreadPoolExecutor(3) as pool:
            jobs = list(pool.map(lambda _: run(['counts'], permutations=5).jobs, range(6)))
        for others in jobs[1:]:
            pandas.testing.assert_frame_equal(others, jobs[0])

    def test_a_dictionary_that_changes_whenever_garbage_is_collected(self):
        class Changes:
            def __init__(self):
                self.itself = self

            def __del__(self):
                if gc.get_threshold()[0] == 10:
                    shared[len(shared)] = 0
                    Changes()

        shared = {n: n for n in range(1000)}
        policy = type('Shares', (gangway.OwnershipPolicy,), {'shared': shared})
        threshold = gc.get_threshold()
        gc.set_threshold(10)
        try:
            Changes()
            version_of(policy)  # to list the items takes memory for each
        finally:
            gc.set_threshold(*threshold)

    def test_a_child_of_a_process_that_plays(self):
        self.assertEqual(self.process(FORKED), ['9', 'True', '0'])


if __name__ == '__main__':
    unittest.main()
