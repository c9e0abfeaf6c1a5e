#!/usr/bin/env python3
"""Draws kernels, sizes, open mixes and closed loops that nobody has tuned for, anew from each seed.

Writes three files into DIR: random-kernels.yaml, whose kernels `gangway calibrate` measures alone; random-open.yaml, in which eight
of them arrive in random order; random-loops.yaml, in which clients with programs of several kernels, copies and think times go round.
"""
import argparse
import math
import pathlib
import random

OPEN, LOOPS = 8, 4
SMS, THREADS_OF_SM, BLOCKS_OF_SM = 132, 2048, 8  # of the GPUs that sizes are meant for; others only take longer or shorter

# Parameters at which an H100 takes about so many ms, and what is drawn beside the size.
KERNELS = {
    'VA': (3.7, lambda size, draw: {'elements': whole(922e6 * size, 1 << 20), 'per_thread': draw.choice([8, 16, 32, 64, 128])}),
    'RED': (0.87, lambda size, draw: {'elements': whole(683e6 * size, 1 << 20), 'per_thread': draw.choice([16, 32, 64, 128, 256])}),
    'HST256': (1.3, lambda size, draw: {'elements': whole(2950e6 * size, 1 << 20), 'per_thread': draw.choice([64, 128, 256, 512])}),
    'BS': (2.4, lambda size, draw: {'options': whole(335e6 * size, 1 << 20), 'per_thread': draw.choice([8, 16, 32])}),
    'MM': (1.4, lambda size, draw: {'n': whole(2976 * math.sqrt(size), 32), 'depth': 32 * draw.randrange(16, 31), 'tile': draw.choice([16, 32])}),
    'PF': (1.65, lambda size, draw: {'columns': whole(41.9e6 * size, 1 << 16), 'rows': draw.randrange(14, 25)}),
    'SPMV': (8.4, lambda size, draw: sparse(size, draw.randrange(600, 1500), draw.choice([8, 16, 32]))),
    'conv_rows': (1.8, lambda size, draw: image(size, draw.choice([32, 64, 128]))),
    'conv_columns': (1.5, lambda size, draw: image(size, draw.choice([64, 128, 256]))),
    'cedd_gauss': (2.5, lambda size, draw: image(size, draw.choice([64, 128, 256]))),
    'throttle': (2.0, lambda size, draw: throttle(2e6 * size, draw)),
}


def whole(size, step):
    return max(1, round(size / step)) * step


def sparse(size, mean, per_block):
    return {'rows': whole(819e3 * 1200 / mean * size, 64), 'columns': 1 << 20, 'mean': mean, 'per_block': per_block}


def image(size, rows):
    return {'width': 16384, 'height': whole(30000 * size, 256), 'rows': rows}


def throttle(ns, draw):
    """Block-tasks of 3 to 450 us, of any width."""
    threads, task = draw.choice([128, 256, 512]), math.exp(draw.uniform(math.log(3e3), math.log(450e3)))
    blocks = SMS * min(THREADS_OF_SM // threads, BLOCKS_OF_SM)
    return {'block_tasks': max(blocks + 1, round(ns / task * blocks)), 'threads': threads, 'time': f'{round(task / 100) / 10} us'}


def kernel(name, code, ms, draw):
    """A kernel that takes about so many ms."""
    usual, parameters = KERNELS[code]
    given = ', '.join(f'{key}: {value}' for key, value in parameters(ms / usual, draw).items())
    return f'{{name: {name}, code: {{name: {code}, params: {{{given}}}}}, time: {ms:.3f} ms}}'


def log_uniform(draw, low, high):
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def clients_of(draw):
    """name -> its kernels: of the open mix, then of the loops; and the mean time of the former, in ms."""
    codes = draw.sample(sorted(KERNELS), OPEN - 1) + ['throttle']
    clients, times = {}, []
    for i, code in enumerate(codes):
        times.append(log_uniform(draw, 0.3, 3.5))
        clients[f'k{i}'] = [kernel(f'k{i}', code, times[-1], draw)]
    for i in range(LOOPS):
        codes = draw.choices(sorted(KERNELS), k=draw.randrange(2, 5))
        clients[f'loop{i}'] = [kernel(f's{j}', code, log_uniform(draw, 0.1, 1.0), draw) for j, code in enumerate(codes)]
    return clients, sum(times) / len(times)


def kernels_file(seed, clients):
    lines = [f'# Drawn by experiments/random/draw.py --seed {seed}. Times are a first guess: `gangway calibrate` measures them.',
             'kind: workload', 'version: 1', f'name: random-{seed}', f'source: drawn from seed {seed}',
             'arrivals: {gap: 1 ms, order: permuted}', 'clients:']
    for name, kernels in clients.items():
        lines += [f'  - name: {name}', '    kernels:', *(f'      - {k}' for k in kernels)]
    return lines


def experiment(name, title, seed, clients, changes, rest):
    return [f'# Drawn by experiments/random/draw.py --seed {seed}. Device, workload and `useful` are those of a calibration, which ./dev hw gives.',
            'kind: experiment', 'version: 1', f'name: {name}', f'title: "{title}, seed {seed}"', 'workload: random-kernels.yaml',
            'device: h100', f'clients: [{", ".join(clients)}]', 'set:', *(f'  {path}: {value}' for path, value in changes.items()),
            'mechanism: {name: flag-copy, params: {useful: 0.5}}', 'standalone: transformed', f'seed: {seed}', 'watchdog: 10 s', *rest]


def open_file(seed, clients, mean, draw):
    """Arrivals are 0.2 to 0.8 of the kernels' mean time apart: kernels wait for each other, also on a GPU that is somewhat faster."""
    ranks = draw.sample(range(len(clients)), len(clients))
    return experiment('random-open', 'Random kernels in random order', seed, clients,
                      {'workload.arrivals.gap': f'{mean * draw.randrange(3, 13) / 15:.2f} ms',
                       **{f'workload.clients.{name}.priority': rank for name, rank in zip(clients, ranks)}},
                      ['policies: [fcfs, sjf, srt, rr, cfs, frs, piv, dprr]', 'permutations: 20', 'replications: 1'])


def loops_file(seed, clients, draw):
    changes = {}
    for rank, name in enumerate(draw.sample(clients, len(clients))):
        changes[f'workload.clients.{name}.priority'] = rank
        for copy in ('copy_in', 'copy_out'):
            changes[f'workload.clients.{name}.{copy}'] = f'{round(log_uniform(draw, 1, 32))} MiB'
        changes[f'workload.clients.{name}.repeat'] = f'{{jobs: 12, think: {log_uniform(draw, 0.2, 3):.1f} ms}}'
    return experiment('random-loops', 'Closed loops of random programs with copies', seed, clients, changes,
                      ['policies: [fcfs, sjf, srt, rr, cfs, frs, piv, dprr]', 'permutations: 6', 'replications: 1'])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seed', type=int, required=True)
    parser.add_argument('folder', type=pathlib.Path, metavar='DIR')
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    clients, mean = clients_of(draw)
    names = list(clients)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, lines in {'random-kernels': kernels_file(arguments.seed, clients),
                        'random-open': open_file(arguments.seed, names[:OPEN], mean, draw),
                        'random-loops': loops_file(arguments.seed, names[OPEN:], draw)}.items():
        (arguments.folder / f'{name}.yaml').write_text('\n'.join(lines) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
