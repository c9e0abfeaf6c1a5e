"""What the Python package costs: prints JSON. package.py GANGWAY; GANGWAY_CORE and PYTHONPATH as tests have them."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gangway

ROOT = Path(__file__).resolve().parents[2]


class Turns(gangway.Policy):
    """Round robin by timers: as many decisions as a policy may have."""

    decisions = 0

    def __init__(self):
        self.queue, self.owner, self.job, self.timer = [], None, None, None

    def note(self, now, fact, view):
        if isinstance(fact, gangway.facts.Arrived):
            self.queue.append(fact.job)
        elif isinstance(fact, gangway.facts.Left):
            self.owner = None
            if not fact.job_over:
                self.queue.append(fact.job)
        elif isinstance(fact, gangway.facts.Timer) and self.owner is not None:
            self.timer = now

    def decide(self, now, view, orders):
        Turns.decisions += 1
        if self.owner is None and self.queue:
            self.owner = orders.launch(self.queue.pop(0))
            orders.wake_at(now + 200_000)
        elif self.owner is not None and self.timer == now and self.queue:
            orders.evict(self.owner)


def timed(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def least(call, times=3):
    return min(timed(call) for _ in range(times))


def experiment(**changes):
    made = gangway.Experiment('frs/fig4')
    made['published'] = []
    for path, value in {'jobs': False, **changes}.items():
        made[path] = value
    return made


def against_the_program(program, folder):
    """Seconds of an experiment of some seconds: from Python, and by the program."""
    ours = experiment(replications=150)
    python = least(lambda: ours.run(out=folder / 'python', force=True, jobs=2) and (folder / 'python/manifest.json').unlink())
    theirs = [program, 'run', 'frs/fig4', '--set', 'published=[]', '--set', 'jobs=false', '--set', 'replications=150', '--jobs', '2', '--force',
              '--out', folder / 'program']
    command_line = least(lambda: subprocess.run(theirs, check=True, capture_output=True, cwd=ROOT) and (folder / 'program/manifest.json').unlink())
    return python, command_line


def decisions():
    """In a second, by a policy in Python on one thread."""
    run = experiment(policies=['turns'], replications=2)
    Turns.decisions = 0
    seconds = timed(lambda: run.run(jobs=1))
    return Turns.decisions / seconds


def cluster(program, folder):
    """Seconds of a sweep on two local workers, and of its halves in two processes of the program at once."""
    from distributed import Client
    swept = experiment(replications=40, policies=['rr', 'sjf'],
                       sweep={'policies.rr.params.quantum': {'from': '0.1 ms', 'to': '24 ms', 'step': '0.1 ms'}})
    with Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        client.run(lambda: __import__('gangway').Experiment('frs/fig4').name)  # workers are there, and have loaded it
        ours = timed(lambda: gangway.sweep(swept, client, folder / 'dask', force=True))
    file = folder / 'swept.json'
    file.write_text(json.dumps(swept.configuration))
    began = time.perf_counter()
    halves = [subprocess.Popen([program, 'run', file, '--points', points, '--jobs', '1', '--force', '--out', folder / points],
                               stdout=subprocess.DEVNULL) for points in ('0-119', '120-239')]
    for half in halves:
        assert half.wait() == 0
    subprocess.run([program, 'merge', folder / '0-119', folder / '120-239', '--out', folder / 'merged', '--force'], check=True,
                   capture_output=True)
    return ours, time.perf_counter() - began


def loading():
    code = 'import time; t = time.perf_counter(); import gangway; print(time.perf_counter() - t)'
    return min(float(subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True).stdout) for _ in range(3))


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        python, command_line = against_the_program(program, Path(folder))
        ours, halves = cluster(program, Path(folder))
    print(json.dumps({'python_s': python, 'program_s': command_line, 'decisions_per_s': decisions(), 'dask_s': ours, 'two_programs_s': halves,
                      'import_s': loading()}))


if __name__ == '__main__':
    main()
