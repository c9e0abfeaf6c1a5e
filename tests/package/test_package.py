"""The Python package against the program and its files."""

import csv
import gzip
import json
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
from unittest import mock

import pandas

import gangway
from gangway import figures

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ['GANGWAY']
SMALL = {
    'kind': 'experiment', 'version': 1, 'name': 'small', 'mechanism': 'ideal', 'standalone': 'original',
    'device': {'kind': 'device', 'version': 1, 'name': 'eight', 'layout': 'pool', 'm': 8},
    'workload': {'kind': 'workload', 'version': 1, 'name': 'two', 'clients': [
        {'name': 'long', 'kernels': [{'name': 'l', 'block_tasks': 80, 'block': [1], 'time': '10 ms'}]},
        {'name': 'short', 'arrive': '1.5 ms', 'kernels': [{'name': 's', 'block_tasks': 8, 'block': [1], 'time': '1 ms'}]}]},
    'policies': ['fcfs', 'srt'],
}


class Package(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def experiment(self, **changes):
        return gangway.Experiment({**SMALL, **changes})

    def test_assignments_replace_what_was_there(self):
        experiment = gangway.Experiment('frs/fig4')
        experiment['policies.rr.params.quantum'] = '2 ms'
        experiment['policies'], experiment['published'] = ['rr', 'sjf'], []
        self.assertEqual(experiment.configuration['policies'], ['rr', 'sjf'])
        experiment['policies.rr.params.quantum'] = '3 ms'
        self.assertEqual(experiment['policies.rr.params.quantum'], '3 ms')
        experiment['policies.0.params.quantum'] = '4 ms'  # the same under another name
        with self.assertRaisesRegex(gangway.InputError, "undoes the one for 'policies.rr.params.quantum'"):
            experiment.read()

    def test_a_schedule_worked_out_by_hand(self):
        # On the whole device one takes 10 ms, the other 1. fcfs: the short one runs from 10 to 11 ms. srt: it is more urgent when it comes
        # at 1.5 ms, and `ideal` evicts at once, so the long one goes on at 2.5 ms.
        jobs = self.experiment().run().jobs.set_index(['policy', 'client'])
        self.assertEqual(jobs.response_ns['fcfs', 'long'], 10e6)
        self.assertEqual(jobs.response_ns['fcfs', 'short'], 9.5e6)
        self.assertEqual(jobs.response_ns['srt', 'short'], 1e6)
        self.assertEqual(jobs.response_ns['srt', 'long'], 11e6)
        self.assertEqual(jobs.evictions['srt', 'long'], 1)

    def test_tables_are_those_of_the_files(self):
        for name, more in (('frs/fig4', {'permutations': 20}), ('colocation/load', {'horizon': '1 s'}),
                           ('effisha/fig10', {'replications': 1})):
            experiment = gangway.Experiment(name)
            for path, value in more.items():
                experiment[path] = value
            told = experiment.run()
            experiment.run(out=self.folder / 'out', force=True)
            found = gangway.read(self.folder / 'out')
            for table in ('summary', 'clients', 'services', 'replications', 'service_replications', 'jobs', 'published'):
                one, other = getattr(told, table), getattr(found, table)
                if other is None:
                    self.assertIsNone(one, (name, table))
                    continue
                self.assertIsNotNone(one, (name, table))
                pandas.testing.assert_frame_equal(one, other, check_exact=True, obj=f'{name} {table}')
                with open(self.folder / 'out' / f'{table}.csv', newline='') as file:
                    self.assertEqual(next(csv.reader(file)), list(one.columns))

    def test_tables_are_the_same_whatever_type_pandas_gives_to_texts(self):
        result = self.experiment(horizon='10.5 ms').run(out=self.folder / 'out')
        read_csv = pandas.read_csv
        with mock.patch('pandas.read_csv', lambda *arguments, **more: read_csv(*arguments, **{**more, 'dtype': 'string'})):
            jobs = gangway.read(self.folder / 'out').jobs
        pandas.testing.assert_frame_equal(jobs, result.jobs)
        self.assertTrue(jobs.finish_ns.isna().any())

    def test_files_are_those_of_the_program(self):
        experiment = gangway.Experiment('frs/fig4')
        experiment['policies.rr.params.quantum'] = '3 ms'
        experiment.run(out=self.folder / 'ours', jobs=2)
        subprocess.run([PROGRAM, 'run', 'frs/fig4', '--set', 'policies.rr.params.quantum=3 ms', '--out', self.folder / 'theirs', '--jobs', '1'],
                       check=True, capture_output=True, cwd=ROOT)
        for name in ('summary.csv', 'clients.csv', 'replications.csv', 'jobs.csv', 'published.csv'):
            self.assertEqual((self.folder / 'ours' / name).read_bytes(), (self.folder / 'theirs' / name).read_bytes(), name)
        again = experiment.run(out=self.folder / 'ours')
        self.assertTrue(again.report['was_complete'])
        self.assertEqual(len(again.summary), 5)

    def test_nothing_is_left_where_no_folder_is_asked_for(self):
        before = set(os.listdir(tempfile.gettempdir()))
        result = self.experiment().run()
        self.assertIsNone(result.path)
        self.assertEqual({name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith('gangway-')}, set())
        self.assertEqual(result.manifest['experiment'], 'small')
        self.assertEqual(len(result.jobs), 4)

    def test_saved_tables_are_those_of_the_files(self):
        experiment = gangway.Experiment('frs/fig4')
        result = experiment.run(out=self.folder / 'out')
        (self.folder / 'saved').mkdir()
        result.save_tables(self.folder / 'saved')
        for name in ('summary', 'clients', 'replications', 'jobs', 'published'):
            with open(self.folder / 'out' / f'{name}.csv') as theirs, open(self.folder / 'saved' / f'{name}.csv') as ours:
                for one, other in zip(csv.reader(ours), csv.reader(theirs), strict=True):
                    if one != other:  # numbers may be written in another way
                        self.assertEqual([float(a) if a != b else a for a, b in zip(one, other)],
                                         [float(b) if a != b else b for a, b in zip(one, other)])

    def test_what_failed_is_told_with_the_rest(self):
        with self.assertRaises(gangway.RunError) as caught:
            self.experiment(sweep={'workload.clients.long.kernels.0.time': ['1 ms', '60 s']}, horizon='1.2 ms').run()
        result = caught.exception.result
        self.assertEqual(len(result.summary), 4)  # in memory, though the folder is gone
        self.assertEqual(sorted(result.summary.error.map(bool)), [False, False, True, True])
        self.assertEqual(result.manifest['failed'], 2)

    def test_results_of_policies_that_are_not_here_are_read(self):
        code = """if True:
            import gangway, sys
            class Unknown(gangway.OwnershipPolicy):
                def choose(self, now, waiting):
                    return 0
            experiment = gangway.Experiment('frs/fig4')
            experiment['policies'], experiment['published'], experiment['replications'] = ['unknown'], [], 1
            experiment['sweep'] = {'seed': [1, 2]}
            experiment.run(out=sys.argv[1])"""
        subprocess.run([sys.executable, '-c', code, self.folder / 'out'], check=True)
        result = gangway.read(self.folder / 'out')
        self.assertEqual(list(result.summary.policy), ['unknown', 'unknown'])
        self.assertEqual(list(result.summary.seed), ['1', '2'])
        with self.assertRaises(gangway.InputError):
            result.timeline()

    def test_a_study_is_read(self):
        subprocess.run([PROGRAM, 'run', 'bounds/schedulability', '--set', 'sets=5', '--out', self.folder / 'study'], check=True,
                       capture_output=True, cwd=ROOT)
        study = gangway.read(self.folder / 'study')
        self.assertGreater(len(study.summary), 3)
        for table in ('clients', 'services', 'replications', 'service_replications', 'jobs', 'published'):
            self.assertIsNone(getattr(study, table), table)
        with self.assertRaises(gangway.InputError):
            study.timeline()

    def test_values_are_read_and_changed_by_path(self):
        experiment = gangway.Experiment('frs/fig4')
        self.assertEqual(experiment['name'], 'frs-fig4')
        other = experiment.copy()
        other['seed'] = 5
        other['policies'] = ['sjf', {'name': 'rr', 'params': {'quantum': '2 ms'}}]
        other['published'] = []
        self.assertEqual(other['policies.rr.params.quantum'], '2 ms')
        self.assertEqual(other.policies(), ['rr', 'sjf'])
        self.assertEqual(experiment.policies(), ['cfs', 'frs', 'rr', 'sjf', 'srt'])
        with self.assertRaises(KeyError):
            other['policies.frs.params']

    def test_paths_lead_where_those_of_the_program_do(self):
        clients = [{'name': name, 'kernels': [{'name': kernel, 'block_tasks': 8, 'block': [1], 'time': time}]}
                   for name, kernel, time in (('conv', '1', '1 ms'), ('conv.1', 'k.2', '2 ms'), ('conv.1.1', 'k', '3 ms'))]
        experiment = self.experiment(workload={'kind': 'workload', 'version': 1, 'name': 'dots', 'clients': clients}, sweep={'seed': [1, 2]},
                                     policies=['fcfs', {'name': 'rr', 'label': 'short', 'params': {'quantum': '1 ms'}},
                                               {'name': 'rr', 'params': {'quantum': '2 ms'}}])
        for path, value in (('workload.clients.conv.kernels.1.time', '1 ms'), ('workload.clients.conv.1.kernels.k.2.time', '2 ms'),
                            ('workload.clients.conv.1.1.kernels.k.time', '3 ms'), ('workload.clients.1.kernels.0.time', '2 ms'),
                            ('policies.short.params.quantum', '1 ms'), ('policies.rr.params.quantum', '2 ms')):
            self.assertEqual(experiment[path], value, path)
            changed = experiment.copy()
            changed[path] = '7 ms'
            self.assertEqual(changed[path], '7 ms', path)
        self.assertEqual(experiment['workload.clients.conv.1.name'], 'conv.1')
        self.assertEqual(experiment['workload.clients.conv.1.1']['name'], 'conv.1.1')
        experiment['sweep'] = {'policies.rr.params.quantum': ['1 ms', '2 ms']}
        self.assertEqual(experiment['sweep.policies.rr.params.quantum'], ['1 ms', '2 ms'])
        for path in ('workload.clients.conv.2', 'workload.clients.7', 'workload.clients.²', 'workload..name', 'name.x', 'policies.rr.'):
            with self.assertRaises(KeyError) as caught:
                experiment[path]
            self.assertEqual(caught.exception.args, (path,))

    def test_files_are_read_again_whenever_they_are_used(self):
        files = {name: self.folder / f'{name}.yaml' for name in ('experiment', 'workload')}
        files['workload'].write_text(json.dumps(SMALL['workload']))
        files['experiment'].write_text(json.dumps(SMALL | {'workload': 'workload.yaml'}))
        shutil.copy(ROOT / 'experiments/colocation/h100/long-kernel.rec.gz', self.folder / 'a.rec.gz')
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        made, recorded = gangway.Experiment('experiment.yaml'), self.experiment(device='h100', policies=['passthrough'], grant='job', workload={
            'kind': 'workload', 'version': 1, 'name': 'w', 'clients': [{'name': 'a', 'recording': 'a.rec.gz'}]})
        changed = made.copy()
        changed['seed'] = 2
        os.chdir(ROOT)
        for experiment in (made, changed):
            self.assertEqual((experiment.policies(), experiment.clients()), (['fcfs', 'srt'], ['long', 'short']))
        before = recorded['workload.clients.a.recording.sha256']
        files['experiment'].write_text(files['experiment'].read_text().replace('"srt"', '"sjf"'))
        files['workload'].write_text(files['workload'].read_text().replace('"short"', '"brief"'))
        shutil.copy(ROOT / 'experiments/colocation/h100/fft-filter.rec.gz', self.folder / 'a.rec.gz')
        for experiment in (made, changed, made.copy()):
            self.assertEqual((experiment.policies(), experiment.clients()), (['fcfs', 'sjf'], ['long', 'brief']))
            self.assertEqual(set(experiment.run().jobs.client), {'long', 'brief'})
        self.assertNotEqual(recorded['workload.clients.a.recording.sha256'], before)

    def test_nothing_is_taken_for_another_file_after_the_working_directory_has_changed(self):
        here, elsewhere = self.folder / 'here', self.folder / 'elsewhere'
        for folder, clients in ((here, 2), (elsewhere, 1)):
            (folder / 'sub').mkdir(parents=True)
            (folder / 'sub/w.yaml').write_text(json.dumps(SMALL['workload'] | {'clients': SMALL['workload']['clients'][:clients]}))
            (folder / 'e.yaml').write_text(json.dumps(SMALL | {'workload': 'sub/w.yaml'}))
            shutil.copy(ROOT / 'experiments/colocation/h100/long-kernel.rec.gz', folder / 'a.rec.gz')
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(here)
        mapping = gangway.Experiment(SMALL | {'workload': 'w.yaml'}, folder='sub')
        file, recording = gangway.Experiment('e.yaml'), gangway.Recording('a.rec.gz')
        ran = gangway.Experiment('e.yaml').run(out='out')
        read = gangway.read('out')
        os.chdir(elsewhere)
        (elsewhere / 'a.rec.gz').unlink()
        file.run(out='out')
        self.assertEqual(mapping.clients(), ['long', 'short'])
        self.assertEqual(file.clients(), ['long', 'short'])
        self.assertGreater(len(recording.jobs), 0)
        for result in (ran, read):
            self.assertEqual(result.path, here / 'out')
            self.assertEqual(len(result.jobs), 4)
            self.assertEqual(len(result.clients), 4)
        (here / 'e.yaml').unlink()
        with self.assertRaises(gangway.InputError):
            file.clients()

    def test_characters_of_any_plane(self):
        for title in ('fast 🚀', 'é\u2028\x85\ufeff \\ud83d\\ude80 "\t'):
            with self.subTest(title):
                experiment = self.experiment(title=title)
                self.assertEqual(experiment.title, title)
                result = experiment.run(out=self.folder / 'out', force=True)
                self.assertEqual(gangway.read(self.folder / 'out').manifest['configuration']['title'], title)
                self.assertEqual(len(result.timeline()), len(self.experiment().run().timeline()))
                changed = self.experiment()
                changed['title'] = title
                self.assertEqual(changed.title, title)
        with self.assertRaises(gangway.InputError):
            self.experiment(title='\ud83d').title
        with self.assertRaises(gangway.InputError):
            self.experiment().__setitem__('title', '\ud83d')
        with self.assertRaises(gangway.InputError):
            gangway.bound({'name': '\ud83d'})

    def test_a_sweep(self):
        experiment = self.experiment(policies=['fcfs', 'rr'], sweep={'policies.rr.params.quantum': ['1 ms', '2 ms']})
        self.assertEqual(experiment.points, 2)
        summary = experiment.run().summary
        self.assertEqual(list(summary['policies.rr.params.quantum']), ['1 ms', '1 ms', '2 ms', '2 ms'])
        self.assertEqual(list(summary['policies.rr.params.quantum_ns']), [1e6, 1e6, 2e6, 2e6])

    def test_a_timeline(self):
        result = self.experiment().run()
        timeline = result.timeline(policy='srt')
        short = timeline[timeline.track.str.contains('short')]
        self.assertEqual(short.begin_ns.min(), 1_500_000)
        self.assertIn(1_000_000, set(short[short.begin_ns == 1_500_000].length_ns))
        result.write_timeline(self.folder / 'x.json.gz', policy='srt')
        self.assertEqual((self.folder / 'x.json.gz').read_bytes()[:2], b'\x1f\x8b')
        with self.assertRaisesRegex(gangway.InputError, "^timeline: key 'most': found 10, expected at least room for "):
            result.write_timeline(self.folder / 'y.json', most=10)
        self.assertFalse((self.folder / 'y.json').exists())
        with self.assertWarnsRegex(UserWarning, r'y\.json: ends at \d+ ns, because the limit of 100000 bytes is reached') as caught:
            gangway.Experiment('frs/fig4').run().write_timeline(self.folder / 'y.json', most=100_000)
        self.assertEqual(caught.filename, __file__)
        self.assertLessEqual((self.folder / 'y.json').stat().st_size, 100_000)
        for beyond in ({'policy': 'rr'}, {'point': 1}, {'replication': 1}, {'permutation': 1}):
            with self.assertRaises(gangway.InputError):
                result.timeline(**beyond)

    def test_comparison_and_bound(self):
        self.experiment().run(out=self.folder / 'a')
        self.experiment().run(out=self.folder / 'b')
        comparison = gangway.compare(self.folder / 'a', self.folder / 'b')
        self.assertEqual(comparison.jobs['jobs'], 4)
        self.assertEqual(set(comparison.groups.policy), {'fcfs', 'srt'})
        self.assertEqual(set(comparison.differences.rows.finding), {'untested'})
        self.assertIn('Chance cannot be judged', comparison.differences.conclusions[0])
        found = gangway.bound({'kind': 'taskset', 'version': 1, 'name': 't', 'device': {'layout': 'pool', 'm': 8},
                               'tasks': [{'name': 'a', 'C': 8, 'T': 20, 'g': 1, 'b': 4}]})
        self.assertEqual(found['tasks'][0]['name'], 'a')
        costs = {'lateness': '1 us', 'launch': '2 us', 'resume': '4 us', 'eviction': '8 us', 'ending': '16 us', 'block': '1 us'}
        found = gangway.bound({'kind': 'taskset', 'version': 1, 'name': 't', 'scheduler': 'fixed-priority', 'costs': costs,
                               'tasks': [{'name': 'a', 'c': '100 us', 'e': '3 us', 'l': '5 us', 'J': '7 us', 'T': '999 us'},
                                         {'name': 'b', 'c': '200 us', 'e': '30 us', 'l': '0 us', 'T': '9 ms'}]})
        self.assertEqual(found['tasks'][0]['tightest']['exact'], '179')  # with its costs: 44 + 127 + 8

    def test_differences_are_those_of_the_program(self):
        experiment = gangway.Experiment('frs/fig4')
        experiment['replications'] = 6
        experiment.run(out=self.folder / 'a')
        experiment['device.commands.launch'] = '60 us'
        result = experiment.run(out=self.folder / 'b')
        for arguments, found in ((['a', 'b'], gangway.compare(self.folder / 'a', result).differences),
                                 (['b', '--baseline', 'frs'], gangway.compare_policies(result, 'frs')),
                                 (['a', 'b', '--metrics', 'stp'], gangway.compare(self.folder / 'a', result, metrics=['stp']).differences)):
            told = subprocess.run([PROGRAM, 'compare', *arguments, '--json'], cwd=self.folder, check=True, capture_output=True, text=True)
            told = json.loads(told.stdout)
            told = told.get('differences', told)
            self.assertEqual({key: told[key] for key in ('conclusions', 'rows', 'test', 'tests')},
                             {key: found.told[key] for key in ('conclusions', 'rows', 'test', 'tests')})
            self.assertEqual(len(found.rows), len(told['rows']))
            self.assertEqual(len(found.significant), told['significant'])
            self.assertGreater(told['significant'], 4)
            self.assertEqual(list(found.rows.p_holm.dropna()), [row['p_holm'] for row in told['rows'] if row['p_holm'] is not None])
        with self.assertRaises(gangway.InputError):
            gangway.compare_policies(result, 'nobody')

    def test_words_of_differences_are_those_that_the_program_prints(self):
        found = set()
        for replications, changes in ((6, {'device.commands.launch': '20.2 us'}), (1, {'device.commands.launch': '60 us'}), (4, {})):
            experiment = gangway.Experiment('frs/fig4')
            experiment['replications'] = replications
            experiment.run(out=self.folder / 'a', force=True)
            for path, value in changes.items():
                experiment[path] = value
            experiment['seed'] = 2 if changes else 1
            experiment.run(out=self.folder / 'b', force=True)
            rows = gangway.compare(self.folder / 'a', self.folder / 'b').differences.rows
            printed = subprocess.run([PROGRAM, 'compare', 'a', 'b'], cwd=self.folder, check=True, capture_output=True, text=True).stdout.splitlines()
            for row in rows[rows.finding != 'equal'][:20].itertuples():
                line = next(line for line in printed if line.split()[:2] == [str(row.point), row.policy] and
                            line.split()[2 + bool(row.client)] == row.metric.replace('_ns', '') and (not row.client or line.split()[2] == row.client))
                self.assertTrue(line.endswith(f'  {row.words}'), (line, row.words))
            self.assertFalse(rows[rows.finding == 'not significant'].words.str.contains('higher|lower').any())
            found |= set(rows.finding)
        self.assertLessEqual({'not significant', 'significant', 'untested', 'equal'}, found)

    def test_a_recording(self):
        recording = gangway.Recording(ROOT / 'experiments/colocation/h100/long-kernel.rec.gz')
        self.assertEqual(len(recording.jobs[recording.jobs.warm_up == 0]), recording.summary['job_count'])
        self.assertGreater(len(recording.submissions), 50)
        with self.assertRaises(gangway.InputError):
            gangway.Recording(ROOT / 'README.md').summary

    def test_recordings_whose_names_mean_something_in_a_uri(self):
        packed = ROOT / 'experiments/colocation/h100/long-kernel.rec.gz'
        with gzip.open(packed) as file:
            content = file.read()
        jobs = gangway.Recording(packed).jobs
        for name in ('run%31.rec', 'run#2.rec', 'what?.rec', 'ein Lauf.rec'):
            (self.folder / name).write_bytes(content)
            recording = gangway.Recording(self.folder / name)
            pandas.testing.assert_frame_equal(recording.jobs, jobs, obj=name)
            self.assertEqual(recording.summary['job_count'], len(jobs[jobs.warm_up == 0]))
        self.assertEqual(len(os.listdir(self.folder)), 4)

    def test_what_there_is(self):
        self.assertIn('frs', set(gangway.policies().name))
        self.assertIn('h100', set(gangway.devices().name))
        self.assertIn('sim', set(gangway.worlds().name))

    def test_importing_takes_no_time(self):
        code = 'import time; t = time.perf_counter(); import gangway; print(time.perf_counter() - t); import sys; print("pandas" in sys.modules)'
        told = [subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
        self.assertLess(min(float(t) for t, _ in told), 0.3)
        self.assertEqual({loaded for _, loaded in told}, {'False'})


class WrongInput(unittest.TestCase):
    def refused(self, call, *parts):
        with self.assertRaises(gangway.InputError) as caught:
            call()
        self.assertEqual(len(str(caught.exception).splitlines()), 1)
        for part in parts:
            self.assertIn(part, str(caught.exception))
        return caught.exception

    def test_a_result_whose_folder_holds_another_run(self):
        with tempfile.TemporaryDirectory() as folder:
            one, out = gangway.Experiment(SMALL), Path(folder) / 'out'
            other = one.copy()
            other['seed'] = 77
            for changed in (other, one):  # also a second run of one experiment
                first = one.run(out=out, force=True)
                found, touched = gangway.read(out), gangway.read(out)
                jobs = touched.jobs
                second = changed.run(out=out, force=True)
                self.assertEqual(len(first.summary), 2)  # in memory
                self.assertEqual(first.manifest['seed'], 1)
                self.assertIs(touched.jobs, jobs)
                for ask in (lambda: first.jobs, lambda: found.summary, lambda: touched.summary, lambda: gangway.compare(first, second),
                            lambda: gangway.compare(second, first), lambda: gangway.compare_policies(first, 'fcfs'),
                            lambda: figures.metrics(first), lambda: figures.kinds(touched), lambda: figures.comparison(second, first),
                            lambda: first.save_tables(folder)):
                    self.refused(ask, str(out), 'another run', first.manifest['start'])
                self.assertIn('replaced', repr(found))
                self.assertEqual(len(first.timeline()), len(one.run().timeline()))
                self.assertEqual(len(second.jobs), 4)
                self.assertIn('metrics', figures.kinds(second))
            (out / 'manifest.json').unlink()
            self.refused(lambda: gangway.compare(second, second), 'no finished run')

    def test_files_that_are_added_to_a_folder_change_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            result = gangway.Experiment(SMALL).run(out=folder)
            before = (Path(folder) / 'manifest.json').read_text()
            subprocess.run([PROGRAM, 'trace', folder], check=True, capture_output=True)
            self.assertNotEqual((Path(folder) / 'manifest.json').read_text(), before)
            self.assertEqual(len(result.jobs), 4)

    def test_errors_have_their_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / 'x.yaml'
            file.write_text('kind: experiment\nversion: 1\nname: x\nworkload: frs-table1\ndevice: titan-x-pascal\nmechanism: ideal\n'
                            'policies: [fcfs]\nhorizn: 5 ms\n')
            error = self.refused(gangway.Experiment(file).read, 'horizn')
            self.assertEqual((error.file, error.line, error.key), (str(file), 8, 'horizn'))
            self.assertTrue(error.found and error.expected)

    def test_objects_of_the_wrong_type(self):
        self.refused(lambda: gangway.Experiment(5), 'int')
        experiment = gangway.Experiment(SMALL)
        self.refused(lambda: experiment.__setitem__('seed', object()), 'seed')
        self.refused(lambda: experiment.__setitem__('', 1))
        self.refused(lambda: experiment.run(jobs=0), 'jobs')
        self.refused(lambda: experiment.run(jobs='2'), 'jobs')
        self.refused(lambda: experiment.run(world='moon'), 'moon')
        self.refused(lambda: experiment.run(world=5), '5')
        self.refused(lambda: experiment.run(out=''), 'out')
        self.refused(lambda: experiment.run(trace=True), 'trace', 'out=FOLDER')
        self.refused(lambda: gangway.bound('/nowhere'), '/nowhere')
        self.refused(lambda: gangway.bound({'x': 1}), 'kind')
        self.refused(lambda: gangway.Experiment({'kind': 'experiment', 'x': {1, 2}}).read())
        self.refused(lambda: gangway.Experiment({'kind': 'experiment'}).read(), 'version')
        self.refused(lambda: gangway.Experiment(SMALL).policies(7), '7')
        self.refused(lambda: gangway.compare(gangway.Experiment(SMALL).run(), 'nothing'), 'folder')

    def test_no_result_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused(lambda: gangway.read(folder), 'manifest.json')
            for text, part in (('{', 'manifest'), ('[]', 'kind'), ('{"kind": "calibration"}', 'kind'),
                               ('{"kind": "part", "version": 1}', 'gangway merge'), ('{"kind": "result", "version": 2}', 'version')):
                (Path(folder) / 'manifest.json').write_text(text)
                self.refused(lambda: gangway.read(folder), part)
            (Path(folder) / 'manifest.json').unlink()
            (Path(folder) / 'other').write_text('')
            self.refused(lambda: gangway.Experiment(SMALL).run(out=folder), folder)

    def test_other_results_are_not_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / 'out'
            gangway.Experiment(SMALL).run(out=out)
            other = gangway.Experiment(SMALL)
            other['seed'] = 2
            self.refused(lambda: other.run(out=out))
            self.assertEqual(len(other.run(out=out, force=True).summary), 2)


class Interruption(unittest.TestCase):
    def test_ctrl_c_keeps_what_is_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            experiment = gangway.Experiment('frs/fig4')
            experiment['replications'] = 3000
            experiment['published'] = []
            experiment['jobs'] = False
            threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
            began = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                experiment.run(out=Path(folder) / 'out')
            self.assertLess(time.monotonic() - began, 10)
            self.assertEqual(os.listdir(Path(folder) / 'out'), ['parts'])

    def test_others_go_on_meanwhile(self):
        turns, over = [], threading.Event()

        def others():
            while not over.is_set():
                turns.append(time.monotonic())
                time.sleep(0.001)
        thread = threading.Thread(target=others)
        thread.start()
        experiment = gangway.Experiment('frs/fig4')
        experiment['replications'] = 100
        experiment['published'] = []
        began = time.monotonic()
        experiment.run(jobs=1)
        length = time.monotonic() - began
        over.set()
        thread.join()
        self.assertGreater(sum(began < turn < began + length for turn in turns), 20 * length)


if __name__ == '__main__':
    unittest.main()
