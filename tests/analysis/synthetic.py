"""Result folders made of plausible numbers, written as the runner writes them."""
import csv
import itertools
import json
import math

CLIENTS = {'CEDD': 13.57, 'SPMV': 8.36, 'VA': 3.71, 'CONV': 3.27, 'BS': 2.36, 'PF': 1.65, 'MM': 1.43,
           'HST256': 1.29, 'RED': 0.87}  # ms alone
PUBLISHED = {  # ANTT, DNTT, STP and the classes of each
    'sjf': (1.95, 0.70, 5.13), 'srt': (1.96, 0.63, 5.06), 'frs': (2.44, 0.42, 3.79), 'rr': (4.87, 1.41, 2.02),
    'cfs': (6.0, 2.99, 1.79)}
_SUMMARY = ['antt', 'antt_ci95', 'dntt', 'dntt_ci95', 'stp', 'stp_ci95', 'makespan_ns', 'evictions',
            'eviction_delay_ns_mean', 'utilisation', 'jain', 'p99_response_ns', 'p50_response_ns', 'waiting_ns_mean',
            'concurrency_efficiency', 'launches', 'jobs', 'unfinished']


def write_bars(folder):
    """A folder like that of FRS figures 3 and 4: five policies, nine clients, published values."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / 'summary.csv', ['point', 'policy', *_SUMMARY],
               [[0, policy, *_summary_cells(policy, 1)] for policy in sorted(PUBLISHED)])
    _write_csv(folder / 'clients.csv', _CLIENT_COLUMNS, list(_client_rows(0)))
    _write_csv(folder / 'published.csv', _PUBLISHED_COLUMNS, _padded(_published_rows()))
    _write_manifest(folder, 'FRS against SJF, SRT, RR and CFS', {})


def write_sweep(folder, **sweep):
    """A folder with swept parameters, whose first stretches what RR and CFS measure.

    write_sweep(folder, **{'policies.rr.params.quantum': ['0.5 ms', '1 ms']})
    """
    folder.mkdir(parents=True, exist_ok=True)
    points = [[]]
    for values in sweep.values():
        points = [point + [value] for point in points for value in values]
    rows = [[index, policy, *point, *_summary_cells(policy, _stretch(sweep, point, policy))]
            for index, point in enumerate(points) for policy in sorted(PUBLISHED)]
    _write_csv(folder / 'summary.csv', ['point', 'policy', *sweep, *_SUMMARY], rows)
    _write_csv(folder / 'clients.csv', _CLIENT_COLUMNS,
               [row for index in range(len(points)) for row in _client_rows(index)])
    _write_csv(folder / 'published.csv', _PUBLISHED_COLUMNS, [])
    _write_manifest(folder, 'How long should a quantum be?', {key: list(values) for key, values in sweep.items()})


def write_loops(folder, ntts, published=(), **sweep):
    """A folder of clients that loop. ntts: client -> NTT under direct access at the first point, which grows by half from
    point to point; under dfq each is as many times slower as there are clients. A sweep of 'clients' has sets of names
    such as 'A+B'. published: rows of published.csv, whose last cells may be left out."""
    folder.mkdir(parents=True, exist_ok=True)
    summary, clients = [], []
    for point, swept in enumerate(itertools.product(*sweep.values())):
        here = dict(zip(sweep, swept)).get('clients', '+'.join(ntts)).split('+')
        for policy in ('dfq', 'direct'):
            found = [len(here) if policy == 'dfq' else ntts[client] * 1.5 ** point for client in here]
            antt, stp = sum(found) / len(found), sum(1 / ntt for ntt in found)
            summary.append([point, policy, *swept, antt, '', 0, '', stp, '', 10**9, 0, '', 0.9, 1, 1, 1, 1, 0.8 * stp, 9, 9, 0])
            clients += [[point, policy, client, ntt, '', 1, 1, 1, 0, 1000, 9] for client, ntt in zip(here, found)]
    _write_csv(folder / 'summary.csv', ['point', 'policy', *sweep, *_SUMMARY], summary)
    _write_csv(folder / 'clients.csv', _CLIENT_COLUMNS, clients)
    _write_csv(folder / 'published.csv', _PUBLISHED_COLUMNS, _padded(published))
    clients = [{'name': client, 'repeat': {'jobs': 'endless', 'think': '0 us'}} for client in ntts]
    _write_manifest(folder, 'Loops', {}, workload={'clients': clients})


def write_trace(folder, policy, quantum=1.0, permutation=0):
    """A Chrome trace of round robin among the clients, who arrive 1 ms apart by name."""
    about = {'experiment': 'fig4', 'policy': policy, 'point': 0, 'replication': 0, 'permutation': permutation}
    trace = {'displayTimeUnit': 'ms', 'otherData': about, 'traceEvents': _metadata() + _round_robin(quantum)}
    (folder / 'trace').mkdir(parents=True, exist_ok=True)
    file = folder / 'trace' / f'0-{policy}-0-{permutation}.json'
    file.write_text(json.dumps(trace))
    return file


def write_requests(folder, requests, policy='timeslice', access=(), point=0):
    """A Chrome trace of requests (client, kernel, begin, length[, launch]) and of access (client, kind, begin, length), in ms."""
    clients = sorted({client for client, *_ in requests})
    events = [{'ph': 'M', 'name': 'thread_name', 'pid': process, 'tid': tid, 'args': {'name': client}}
              for process in (1, *([5] if access else [])) for tid, client in enumerate(clients, 1)]
    events.append({'ph': 'M', 'name': 'thread_name', 'pid': 2, 'tid': 1, 'args': {'name': 'owner'}})
    if access:
        events.append({'ph': 'M', 'name': 'process_name', 'pid': 5, 'tid': 0, 'args': {'name': 'access'}})
    for number, (client, kernel, begin, length, *launch) in enumerate(requests, 1):
        times = {'ts': begin * 1000, 'dur': length * 1000, 'args': {'job': number, 'kernel': kernel, 'launch': launch[0] if launch else number}}
        tid = clients.index(client) + 1
        events += [{'ph': 'X', 'name': f'{client} {kernel}', 'pid': 2, 'tid': 1, **times},
                   {'ph': 'X', 'name': 'running', 'pid': 1, 'tid': tid, **times},
                   {'ph': 'i', 's': 't', 'name': 'finished', 'pid': 1, 'tid': tid, 'ts': (begin + length) * 1000, 'args': {}}]
    events += [{'ph': 'X', 'name': kind, 'pid': 5, 'tid': clients.index(client) + 1, 'ts': begin * 1000, 'dur': length * 1000}
               for client, kind, begin, length in access]
    other = {'experiment': 'loops', 'policy': policy, 'point': point, 'replication': 0, 'permutation': 0}
    (folder / 'trace').mkdir(parents=True, exist_ok=True)
    file = folder / 'trace' / f'point-{point}-{policy}-r0-p0.json'
    file.write_text(json.dumps({'displayTimeUnit': 'ms', 'otherData': other, 'traceEvents': events}))
    return file


def write_blocks(folder, spans, releases=(), queues=(), **about):
    """A Chrome trace of blocks: spans (client, job, sm, blocks, threads, begin, length[, waves]) and releases (client, time) in
    ms, queues (name, time, kernels). about: layout, sms, threads."""
    clients = sorted({client for client, *_ in spans})
    events = [{'ph': 'M', 'name': 'process_name', 'pid': 3, 'tid': 0, 'args': {'name': 'blocks on SMs'}}]
    events += [{'ph': 'M', 'name': 'thread_name', 'pid': 1, 'tid': tid, 'args': {'name': client}}
               for tid, client in enumerate(clients, 1)]
    for client, job, sm, blocks, threads, begin, length, *waves in spans:
        args = {'client': client, 'job': job, 'kernel': client, 'launch': 1, 'sm': sm, 'blocks': blocks,
                'threads': threads, 'waves': waves[0] if waves else 1}
        events.append({'ph': 'X', 'name': client, 'pid': 3, 'tid': sm << 12, 'ts': begin * 1000, 'dur': length * 1000,
                       'args': args})
    events += [{'ph': 'i', 's': 't', 'name': 'arrived', 'pid': 1, 'tid': clients.index(client) + 1, 'ts': time * 1000,
                'args': {'job': 0}} for client, time in releases]
    events += [{'ph': 'C', 'name': name, 'pid': 2, 'tid': 0, 'ts': time * 1000, 'args': {'kernels': kernels}}
               for name, time, kernels in queues]
    other = {'experiment': 'blocks', 'policy': 'passthrough', 'point': 0, 'replication': 0, 'permutation': 0, **about}
    (folder / 'trace').mkdir(parents=True, exist_ok=True)
    file = folder / 'trace' / 'point-0-passthrough-r0-p0.json'
    file.write_text(json.dumps({'displayTimeUnit': 'ms', 'otherData': other, 'traceEvents': events}))
    return file


def write_responses(folder, responses):
    """jobs.csv of one policy: (point, client) -> response times in ms, None for a job that did not finish."""
    rows = [[point, 'passthrough', run, 0, client, job, '' if time is None else round(time * 1e6) + int(run)]
            for run in '01' for (point, client), times in responses.items() for job, time in enumerate(times)]
    _write_csv(folder / 'jobs.csv', ['point', 'policy', 'replication', 'permutation', 'client', 'job', 'response_ns'], rows)


def write_jobs(folder, factors, world='sim', left_out=()):
    """jobs.csv of a folder with bars: three jobs of each client, whose NTTs are `factors` times those of clients.csv."""
    rows = []
    for _, policy, client, ntt, *_ in _client_rows(0):
        for job, factor in enumerate(factors):
            rows.append([0, policy, 0, 0, client, job, '' if (client, job) in left_out else ntt * factor])
    _write_csv(folder / 'jobs.csv', ['point', 'policy', 'replication', 'permutation', 'client', 'job', 'ntt'], rows)
    manifest = json.loads((folder / 'manifest.json').read_text())
    (folder / 'manifest.json').write_text(json.dumps({**manifest, 'world': world}))


def write_calibration(folder, mechanisms=('flag-copy', 'write-value')):
    """A folder like that of `gangway calibrate`: evictions of block-tasks of 2 to 50 us, two kernels, copies, polls."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for place, mechanism in enumerate(mechanisms) for row in _calibration_rows(mechanism, place)]
    rows += [row for place, kernel in enumerate(('RED', 'VA')) for row in _kernel_rows(kernel, place, mechanisms[0])]
    for direction, latency in (('h2d', 7000), ('d2h', 6000)):
        rows += [[f'copy {direction}', mechanisms[0], '', size, latency + size / 50 + reading]
                 for size in (4096, 1 << 16, 1 << 20) for reading in range(10)]
    rows += [['host poll', '', '', blocks, max(1300, 1000 * blocks) + 2 * blocks * (reading - 7)]
             for blocks in (1, 4, 16, 64, 132, 264, 528, 1056) for reading in range(15)]
    rows += [['looks beside claims', '', '', pieces, 800 * pieces + 300 * (reading - 7)]
             for pieces in (25, 50, 100, 200) for reading in range(15)]
    rows += [['launch', mechanism, 'RED', 0, 6000 + 1000 * place] for place, mechanism in enumerate(mechanisms)]
    rows += [['launch after idle', mechanisms[0], 'RED', idle, median + 500 * (reading - 2)]
             for idle, median in ((100_000, 8000), (10_000_000, 30_000)) for reading in range(5)]
    _write_csv(folder / 'samples.csv', ['quantity', 'mechanism', 'kernel', 'parameter', 'value_ns'], rows)
    fits = [_fit(f'eviction by {mechanism}', 7000, 0.9, 90) for mechanism in mechanisms]
    fits += [_fit('copy h2d', 7000, 0.02, 30), _fit('copy d2h', 6000, 0.02, 30)]
    fits += [_fit('host poll', 0, 1000, 60), _fit('device poll', 0, 800, 60)]
    about = {'kind': 'calibration', 'version': 1, 'device': 'made-up', 'gpu': 'Made Up 100', 'fits': fits}
    (folder / 'calibration.json').write_text(json.dumps(about))


def _calibration_rows(mechanism, place):
    for length in (2000, 10000, 50000):
        kernel = f'throttle-{length // 1000}us'
        for reading in range(30):
            drain = length * (1 if length <= 10000 else (reading + 0.5) / 30)
            yield ['eviction', mechanism, kernel, length, 7000 + drain + 50 * reading]
            yield ['evict order to next first block', mechanism, kernel, length, 20000 - 6000 * place + drain]
        yield ['longest block-task', mechanism, kernel, length, length + 200]


def _kernel_rows(kernel, place, mechanism):
    time = 900000 * (1 + 3 * place)
    for reading in range(10):
        yield ['original', mechanism, kernel, 0, time + 100 * reading]
        yield ['transformed', mechanism, kernel, 0, 1.02 * time + 100 * reading]
    for reading in range(100):
        yield ['block-task', mechanism, kernel, 0, 10000 + 100 * reading]
        yield ['eviction', mechanism, kernel, 0, 15000 + 100 * reading]


def _fit(name, intercept, slope, points):
    return {'name': name, 'intercept': {'value': intercept}, 'slope': {'value': slope}, 'points': points}


def _round_robin(quantum, launch=0.05, copy=0.3, drain=0.15):
    events = []
    for place, client in enumerate(sorted(CLIENTS)):
        events += [_instant(client, 'arrived', place), _span(client, 'copy in', place, copy)]
    waiting = [(place + copy, client) for place, client in enumerate(sorted(CLIENTS))]
    left, clock = dict(CLIENTS), 0.0
    while waiting:
        since, client = waiting.pop(0)
        start = max(clock, since) + launch
        stay = min(quantum, left[client])
        clock, left[client] = start + stay, left[client] - stay
        events += [_span(client, 'waiting', since, start - since), _span(client, 'running', start, stay)]
        if left[client] > 1e-9:
            events += [_instant(client, 'evict ordered', clock), _span(client, 'draining', clock, drain)]
            clock += drain
            waiting = sorted([*waiting, (clock, client)])
        else:
            events += [_span(client, 'copy out', clock, copy), _instant(client, 'finished', clock + copy)]
    return events


_CLIENT_COLUMNS = ['point', 'policy', 'client', 'ntt', 'ntt_ci95', 'response_ns_mean', 'response_ns_p99',
                   'waiting_ns_mean', 'evictions', 'standalone_ns', 'jobs']
_PUBLISHED_COLUMNS = ['figure', 'point', 'policy', 'client', 'metric', 'relation', 'published', 'measured',
                      'relative_error', 'class', 'group', 'verdict', 'note', 'as', 'published_to', 'take', 'last_point']


def _padded(rows):
    return [[*row, *[''] * (len(_PUBLISHED_COLUMNS) - len(row))] for row in rows]


def _summary_cells(policy, stretch):
    antt, dntt, stp = (value * factor for value, factor in zip(PUBLISHED[policy], (0.97 * stretch, 0.9 * stretch,
                                                                                   1.02 / stretch)))
    evictions = {'sjf': 4.2, 'srt': 5.5, 'frs': 9.1, 'rr': 27.0, 'cfs': 61.0}[policy] / stretch ** 2
    return [antt, 0.02 * antt, dntt, 0.04 * dntt, stp, 0.01 * stp, 38514000, evictions, 71000, 0.93, 0.8, 36000000,
            9000000, 6000000, 0.9, 44.2, 18000, 0]


def _client_rows(point):
    for policy in sorted(PUBLISHED):
        for place, client in enumerate(sorted(CLIENTS)):
            ntt = 1 + (PUBLISHED[policy][0] - 1) * (0.4 + 1.4 * (math.log(14 / CLIENTS[client]) / 2.7)
                                                    if policy in ('rr', 'cfs', 'frs') else 1 + 0.5 * math.sin(place))
            alone = int(CLIENTS[client] * 1e6)
            yield [point, policy, client, ntt, 0.03 * ntt, ntt * alone, 1.5 * ntt * alone, 0.8 * ntt * alone, 3,
                   alone, 2000]


def _published_rows():
    for policy, values in PUBLISHED.items():
        for metric, value, factor in zip(('antt', 'dntt', 'stp'), values, (0.97, 0.9, 1.02)):
            kind = 'order' if metric == 'dntt' else 'open' if (policy, metric) == ('cfs', 'antt') else 'moderate'
            yield ['fig4', 0, policy, '', metric, 'order' if kind == 'order' else '=', value, value * factor,
                   factor - 1, kind, metric if kind == 'order' else '', 'shown' if kind == 'open' else 'pass',
                   'does not follow from what is printed' if kind == 'open' else '']
            if kind == 'moderate':
                yield ['fig4', 0, policy, '', metric, 'order', value, value * factor, factor - 1, 'order', metric,
                       'pass', '']
    yield ['text', 0, 'rr', 'RED', 'ntt', '<', 2, 7.6, 2.8, 'moderate', '', 'miss', '']


def _stretch(sweep, point, policy):
    place = list(sweep.values())[0].index(point[0])
    last = len(point) > 1 and list(sweep.values())[1].index(point[1])
    return (1 + 0.08 * place if policy in ('rr', 'cfs') else 1) * (1 - 0.1 * last)


def _metadata():
    rows = [('process_name', 1, 0, {'name': 'clients'}), ('process_name', 2, 0, {'name': 'GPU 0'})]
    for thread, client in enumerate(CLIENTS, 1):
        rows += [('thread_name', 1, thread, {'name': client}), ('thread_sort_index', 1, thread, {'sort_index': thread})]
    rows += [('thread_name', 2, thread, {'name': name})
             for thread, name in enumerate(('owner', 'commands', 'copy h2d', 'copy d2h'), 1)]
    return [{'ph': 'M', 'name': name, 'pid': process, 'tid': thread, 'args': args}
            for name, process, thread, args in rows]


def _span(client, name, start, length):
    return {'ph': 'X', 'pid': 1, 'tid': list(CLIENTS).index(client) + 1, 'name': name, 'ts': round(start * 1000, 3),
            'dur': round(length * 1000, 3), 'args': {'job': 0, 'kernel': 'G' + client, 'launch': 3, 'done': 123}}


def _instant(client, name, time):
    return {'ph': 'i', 's': 't', 'pid': 1, 'tid': list(CLIENTS).index(client) + 1, 'name': name,
            'ts': round(time * 1000, 3), 'args': {'job': 0}}


def _write_manifest(folder, title, sweep, **more):
    configuration = {'kind': 'experiment', 'name': folder.name, 'title': title, 'policies': sorted(PUBLISHED),
                     'sweep': sweep, 'permutations': 100, 'replications': 20, **more}
    (folder / 'manifest.json').write_text(json.dumps({'configuration': configuration, 'hash': '0'}))


def _write_csv(file, columns, rows):
    with open(file, 'w', newline='', encoding='utf-8') as stream:
        csv.writer(stream, lineterminator='\n').writerows([columns, *rows])
