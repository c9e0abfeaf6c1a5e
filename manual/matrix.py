#!/usr/bin/env python3
"""Which policies run under which mechanisms in which worlds, as the program itself answers: the table in README.md.

    manual/matrix.py                         prints the table
    manual/matrix.py --page README.md        compares it with the page's table; --write replaces that

Every policy is offered to every world, once for each mechanism. A refusal is an error that begins with `--world`; a
missing GPU or driver is none. In `sim`, a mechanism that changes nothing about a policy's result is unused."""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GANGWAY = Path(os.environ.get('GANGWAY', ROOT / 'build/release/gangway')).resolve()
BEGIN, END = '<!-- made by manual/matrix.py -->\n\n', '\n<!-- end -->\n'
WORLDS = ('sim', 'host', 'cuda', 'live')
ABSENT = ('no CUDA device', 'no CUDA driver found')  # what a world lacks here, after its checks

CLIENT = '{{name: {name}, kernels: [{{name: k, block_tasks: 640, time: 100 us}}]}}'
PROGRAM = '{{name: {name}, command: ["true"]}}'
EXPERIMENT = """kind: experiment
version: 1
name: matrix
workload:
  kind: workload
  version: 1
  name: two
  clients: [{clients}]
device: h200
set: {{device.polls: {{host: 1 us, device: 300 ns}}}}
mechanism: {mechanism}
policies: [{policies}]
{grant}"""


def listed(what):
    """The names of what the program has."""
    return [each['name'] for each in json.loads(subprocess.run([GANGWAY, 'list', what, '--json'], capture_output=True, text=True, check=True).stdout)]


def refused(message):
    """The mechanism, or the label named after it, that a world refuses; None where it lacks nothing but a device."""
    error = next((line for line in message.splitlines() if line.startswith('error:')), '')
    named = re.match(r"error: --world \w+: key '(?:[\w.-]+\.)?mechanism': found '([\w-]+)'", error) or \
        re.match(r"error: --world \w+: key 'policies\.([^.']+)", error)
    if named:
        return named[1]
    if any(absence in error for absence in ABSENT):
        return None
    raise RuntimeError(message)


def offered(policy, mechanisms, world, folder):
    """The mechanisms under which the world plays the policy, and the times at which jobs finish under each in the simulator."""
    taken = list(mechanisms)
    client = PROGRAM if world == 'live' else CLIENT
    grant = 'job'
    while taken:
        (folder / 'e.yaml').write_text(EXPERIMENT.format(
            clients=', '.join(client.format(name=name) for name in 'ab'),
            policies=', '.join(f'{{name: {policy}, label: {mechanism}, mechanism: {mechanism}}}' for mechanism in taken),
            mechanism=taken[0], grant=f'grant: {grant}\nhorizon: 1 s\n' if world == 'live' else ''))
        done = subprocess.run([GANGWAY, 'run', folder / 'e.yaml', '--world', world, '--out', folder / 'out', '--force', '--jobs', '1'],
                              capture_output=True, text=True)
        if done.returncode == 0:
            break
        if 'cannot be given whole jobs' in done.stderr and grant == 'job':
            grant = 'kernel'
            continue
        if 'only kernels in forms have' in done.stderr and grant == 'kernel':
            grant = '{forms: worth}'
            continue
        label = refused(done.stderr)
        if label is None:
            return taken, {}
        taken.remove(label)
    if not taken or world != 'sim':
        return taken, {}
    finished = {}
    with open(folder / 'out/jobs.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            finished.setdefault(row['policy'], []).append((row['client'], row['finish_ns']))
    return taken, finished


def cell(policy, world, mechanisms, folder):
    """What stands in the table: the mechanisms under which the world plays the policy."""
    taken, finished = offered(policy, mechanisms, world, folder)
    if not taken:
        return '-'
    if finished and all(times == finished[taken[0]] for times in finished.values()):
        return 'any: unused'
    missing = [mechanism for mechanism in mechanisms if mechanism not in taken]
    if not missing:
        return 'all'
    return f'all but `{"`, `".join(missing)}`' if len(missing) < len(taken) else f'`{"`, `".join(taken)}`'


def table(policies=None):
    mechanisms = listed('mechanisms')
    rows = [f'| policy | {" | ".join(f"`{world}`" for world in WORLDS)} |\n|---|---|---|---|---|\n']
    with tempfile.TemporaryDirectory() as folder:
        cells = {policy: [cell(policy, world, mechanisms, Path(folder)) for world in WORLDS] for policy in policies or listed('policies')}
    for found in dict.fromkeys(map(tuple, cells.values())):
        names = ', '.join(f'`{policy}`' for policy, own in cells.items() if tuple(own) == found)
        rows.append(f'| {names} | {" | ".join(found)} |\n')
    return ''.join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--page', type=Path)
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args()
    made = table()
    if arguments.page is None:
        print(made, end='')
        return 0
    text = arguments.page.read_text(encoding='utf-8')
    new, count = re.subn(f'(?s){re.escape(BEGIN)}.*?{re.escape(END)}', lambda _: BEGIN + made + END, text)
    if count != 1:
        print(f'error: {arguments.page}: found {count} places for the table, expected one', file=sys.stderr)
        return 2
    if arguments.write:
        arguments.page.write_text(new, encoding='utf-8')
    elif new != text:
        print(f'error: {arguments.page}: the table differs from what the program does; manual/matrix.py --page {arguments.page} --write',
              file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
