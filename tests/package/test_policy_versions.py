"""Whether a Python policy is the one that a folder's results are of."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import gangway

HEAD = 'import gangway\n'
CHOICE = 'return (max if longest else min)(range(len(waiting)), key=lambda i: sum(k.declared for k in waiting[i].kernels))'
TAIL = '''
from gangway.policy_version import version_of
print(version_of(Mine))
'''


class Versions(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def version(self, script, seed='0', **modules):
        """Of the class Mine that a script defines, in a process of its own."""
        for name, text in modules.items():
            (self.folder / f'{name}.py').write_text(textwrap.dedent(text))
        (self.folder / 'script.py').write_text(HEAD + textwrap.dedent(script) + TAIL)
        done = subprocess.run([sys.executable, self.folder / 'script.py'], capture_output=True, text=True,
                              env=os.environ | {'PYTHONHASHSEED': seed})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def differ(self, script, one, other, **modules):
        """The script is the same in every process, and another one with the other text."""
        with self.subTest(script):
            versions = [{name: text.replace('VALUE', value) for name, text in {'script': script, **modules}.items()} for value in (one, other)]
            first = self.version(**versions[0])
            self.assertEqual(first, self.version(**versions[0], seed='1'))
            self.assertNotEqual(first, self.version(**versions[1]))

    def test_values_that_the_code_uses(self):
        for where in ('''
            class Mine(gangway.OwnershipPolicy):
                def choose(self, now, waiting, longest=VALUE):
                    CHOICE
            ''', '''
            class Mine(gangway.OwnershipPolicy):
                def choose(self, now, waiting, *, longest=VALUE):
                    CHOICE
            ''', '''
            longest = VALUE
            class Mine(gangway.OwnershipPolicy):
                def choose(self, now, waiting):
                    CHOICE
            ''', '''
            class Mine(gangway.OwnershipPolicy):
                def choose(self, now, waiting):
                    CHOICE
            longest = VALUE
            ''', '''
            def make(longest):
                class Mine(gangway.OwnershipPolicy):
                    def choose(self, now, waiting):
                        CHOICE
                return Mine
            Mine = make(VALUE)
            ''', '''
            class Mine(gangway.OwnershipPolicy):
                longest = {'a': [VALUE], 'b': {'x', 'y', 'z'}}
                def choose(self, now, waiting):
                    longest = self.longest['a'][0]
                    CHOICE
            '''):
            self.differ(where.replace('CHOICE', CHOICE), 'True', 'False')

    def test_functions_that_the_code_uses(self):
        choose = '''
                def choose(self, now, waiting):
                    return min(range(len(waiting)), key=lambda i: KEY(waiting[i]))
            '''
        for where, key in (('''
            class Mine(gangway.OwnershipPolicy):
                @staticmethod
                def key(job): return VALUE * job.arrived
            ''', 'self.key'), ('''
            class Mine(gangway.OwnershipPolicy):
                @classmethod
                def key(cls, job): return VALUE * job.arrived
            ''', 'self.key'), ('''
            class Mine(gangway.OwnershipPolicy):
                @property
                def key(self): return lambda job: VALUE * job.arrived
            ''', 'self.key'), ('''
            class Base(gangway.OwnershipPolicy):
                def key(self, job): return VALUE * job.arrived
            class Mine(Base):
            ''', 'self.key'), ('''
            def inner(job): return VALUE * job.arrived
            def key(job): return inner(job) if job else key(job)
            class Mine(gangway.OwnershipPolicy):
            ''', 'key'), ('''
            import functools
            def plain(factor, job): return factor * job.arrived
            key = functools.partial(functools.lru_cache(plain), VALUE)
            class Mine(gangway.OwnershipPolicy):
            ''', 'key'), ('''
            import dataclasses, enum
            class Sign(enum.Enum):
                sign = VALUE
            @dataclasses.dataclass(frozen=True)
            class Key:
                __slots__ = ('sign',)
                sign: Sign
                def __call__(self, job): return self.sign.value * job.arrived
            key = Key(Sign.sign)
            class Mine(gangway.OwnershipPolicy):
            ''', 'key'), ('''
            import re
            digits = re.compile('[0-9]{VALUE}'.replace('-', '2'))
            class Mine(gangway.OwnershipPolicy):
                def key(self, job): return bool(digits.match(str(job.arrived)))
            ''', 'self.key')):
            self.differ(where.rstrip() + choose.replace('KEY', key), '1', '-1')

    def test_modules_of_the_user(self):
        for imported, key in (('import rules', 'rules.key'), ('from rules import key', 'key'), ('import rules as r', 'r.key')):
            for script in (f'''
                {imported}
                class Mine(gangway.OwnershipPolicy):
                    def choose(self, now, waiting):
                        return min(range(len(waiting)), key=lambda i: {key}(waiting[i]))
                ''', f'''
                class Mine(gangway.OwnershipPolicy):
                    def choose(self, now, waiting):
                        {imported}
                        return min(range(len(waiting)), key=lambda i: {key}(waiting[i]))
                '''):
                self.differ(script, '1', '-1', rules='''
                    import signs
                    unused = object
                    def key(job): return signs.sign * job.arrived
                    ''', signs='import rules\nsign = VALUE\n')

    def test_what_the_code_does_not_use_and_where_it_stands(self):
        script = '''
            unused = VALUE
            class Mine(gangway.OwnershipPolicy):
                """A policy: VALUE."""
                def choose(self, now, waiting):
                    return 0
            '''
        self.assertEqual(self.version(script.replace('VALUE', '1')), self.version('\n\n' + script.replace('VALUE', '2')))

    def test_a_value_that_says_nothing_of_itself_is_another_one_in_each_process(self):
        script = '''
            file = open(__file__)
            class Mine(gangway.OwnershipPolicy):
                def choose(self, now, waiting):
                    return len(file.name) % len(waiting)
            '''
        self.assertNotEqual(self.version(script), self.version(script))
        lock = script.replace('open(__file__)', '__import__("threading").Condition()')
        self.assertEqual(self.version(lock), self.version(lock, '1'))


SENT = '''
import dataclasses, enum, functools, subprocess, sys
class Sign(enum.Enum):
    sign = 1
@dataclasses.dataclass(slots=True)
class Key:
    sign: Sign
    def __call__(self, job): return self.sign.value * job.arrived
class Slots:
    __slots__ = ('key',)
    def __init__(self): self.key = Key(Sign.sign)
slots = Slots()
def make(longest):
    class Mine(gangway.OwnershipPolicy):
        table = {'a': [1], 'b': {'x', 'y'}}
        @functools.wraps(len)
        def choose(self, now, waiting):
            return (max if longest else min)(range(len(waiting)), key=lambda i: slots.key(waiting[i]) * self.table['a'][0])
    return Mine
Mine = make(True)

import cloudpickle
from gangway.policy_version import version_of
version, sent = version_of(Mine), cloudpickle.dumps(Mine)
code = 'import cloudpickle, sys; from gangway.policy_version import version_of; print(version_of(cloudpickle.load(sys.stdin.buffer)))'
for _ in range(2):  # pickling leaves traces in classes
    there = subprocess.run([sys.executable, '-c', code], input=sent, capture_output=True, check=True).stdout.decode().strip()
    print(there == version == version_of(Mine))
'''


class Sent(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec('cloudpickle'), 'there is no cloudpickle')
    def test_a_class_that_comes_by_value_has_the_version_that_it_had(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / 'script.py'
            script.write_text(HEAD + SENT)
            done = subprocess.run([sys.executable, script], capture_output=True, text=True)
            self.assertEqual(done.stdout.split(), ['True', 'True'], done.stderr)


LONGEST = True


class Chooses(gangway.OwnershipPolicy):
    def choose(self, now, waiting):
        return len(waiting) - 1 if LONGEST else 0


class Runs(unittest.TestCase):
    def test_a_value_that_changed_after_the_definition(self):
        global LONGEST
        experiment = gangway.Experiment('frs/fig4')
        experiment['policies'], experiment['published'] = ['chooses'], []
        with tempfile.TemporaryDirectory() as folder:
            experiment.run(out=Path(folder) / 'out')
            self.assertTrue(experiment.run(out=Path(folder) / 'out').report['was_complete'])
            LONGEST = False
            with self.assertRaises(gangway.InputError):
                experiment.run(out=Path(folder) / 'out')
            LONGEST = True
            self.assertTrue(experiment.run(out=Path(folder) / 'out').report['was_complete'])

    def test_a_timeline_is_that_of_the_run_or_none(self):
        global LONGEST
        experiment = gangway.Experiment('frs/fig4')
        experiment['policies'], experiment['published'], experiment['permutations'] = ['changed'], [], 1

        class Changed(gangway.OwnershipPolicy):
            def choose(self, now, waiting):
                return len(waiting) - 1 if LONGEST else 0
        with tempfile.TemporaryDirectory() as folder:
            in_memory, on_disk = experiment.run(), experiment.run(out=Path(folder) / 'out')
            results = [in_memory, on_disk, gangway.read(Path(folder) / 'out')]
            before = in_memory.timeline()
            finished = before[before.name == 'finished'].set_index('track').begin_ns
            jobs = in_memory.jobs[in_memory.jobs.replication == 0].set_index('client').finish_ns
            self.assertEqual(finished.to_dict(), jobs.to_dict())
            LONGEST = False
            self.refused(results, folder)
            LONGEST = True
            for result in results:
                self.assertTrue(result.timeline().equals(before))

            class Changed(gangway.OwnershipPolicy):  # noqa: F811
                def choose(self, now, waiting):
                    return 0
            self.refused(results, folder)

    def refused(self, results, folder):
        for result in results:
            for play in (result.timeline, lambda result=result: result.write_timeline(Path(folder) / 'x.json.gz')):
                with self.assertRaises(gangway.InputError) as caught:
                    play()
                self.assertEqual(len(str(caught.exception).splitlines()), 1)
                self.assertIn('another version of changed', str(caught.exception))
        self.assertFalse((Path(folder) / 'x.json.gz').exists())


if __name__ == '__main__':
    unittest.main()
