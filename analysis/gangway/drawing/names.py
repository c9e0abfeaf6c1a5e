"""What things are called in figures and tables, and in which order policies stand."""
import re

from gangway import metrics

_POLICIES = ['passthrough', 'fcfs', 'sjf', 'srt', 'rr', 'cfs', 'frs', 'edf', 'stride', 'piv', 'dprr', 'pkm', 'trap-per-request', 'timeslice',
             'disengaged-timeslice', 'stride-timeslice', 'disengaged-fair-queueing', 'microkernel-rr']
_SHORT = {'direct': 'passthrough', 'dfq': 'disengaged-fair-queueing',  # what the literature calls them, and devices
          'native-fifo': 'passthrough', 'native-priority': 'passthrough', 'native-timeslice': 'passthrough', 'streams': 'passthrough',
          'stream-priorities': 'passthrough', 'processes': 'passthrough', 'mps': 'passthrough'}
GPUS = 'device.gpus'  # a swept parameter that has figures of its own
_PARAMETERS = {GPUS: 'GPUs', 'device.copy.bus': 'bus', 'workload.repeat.think': 'think time'}
FAMILIES = {'ownership': ('fcfs', 'sjf', 'srt', 'rr', 'cfs', 'frs', 'edf', 'stride', 'piv', 'dprr'), 'slicing': ('pkm', 'microkernel-rr'),
            'access': ('trap-per-request', 'timeslice', 'disengaged-timeslice', 'stride-timeslice',
                       'disengaged-fair-queueing'),
            'native': ('passthrough',)}


def in_order(labels):
    """The known policies first, as listed above, each followed by its variants; then the others."""
    return sorted(set(labels), key=lambda label: (
        _POLICIES.index(base(label)) if base(label) else len(_POLICIES), label))


def policy(label):
    """The known policy that a label names, in full or as it is called for short, or None."""
    word = label.lower()
    return _SHORT.get(word, word if word in _POLICIES else None)


def base(label):
    """The known policy that a label names or is a variant of ('rr-long' of 'rr'), or None."""
    ends = [*(match.start() for match in re.finditer(r'[^A-Za-z0-9]', label)), len(label)]
    return next(filter(None, (policy(label[:end]) for end in reversed(ends))), None)


def family(label):
    """What a policy decides: who owns the GPU, slices of kernels, who may submit, or nothing (native); else 'other'."""
    return next((name for name, policies in FAMILIES.items() if base(label) in policies), 'other')


def metric_name(name, level='point'):
    """What a metric is called; one of another version as its column."""
    found = metrics.find(name, level)
    return found.label if found else name.replace('_', ' ')


def unit(name, level='point'):
    """The unit in which figures and tables show a metric; none of plain numbers."""
    found = metrics.find(name, level)
    return {'ns': 'ms', '/s': '/s'}.get(found.unit, '') if found else ''


def scale(name, level='point'):
    """By what a value of a result folder is multiplied to be in that unit."""
    return 1e-6 if unit(name, level) == 'ms' else 1


def metric(name, level='point'):
    """The label of an axis: what it is, its unit where values are not plain numbers, and which direction is good."""
    found = metrics.find(name, level)
    about = [unit(name, level),
             f'{found.better} is better' if found and found.better != 'neither' else '']
    return metric_name(name, level) + (f" ({', '.join(filter(None, about))})" if any(about) else '')


def parameter(path):
    """'policies.rr.params.quantum' as 'rr quantum', 'workload.arrivals.gap' as 'arrivals gap'."""
    if path in _PARAMETERS:
        return _PARAMETERS[path]
    path = re.sub(r'\.([^.]+)\.(?:kernels\.)?\1\.', r'.\1.', path, flags=re.IGNORECASE)  # called what its client is
    parts = [part for part in path.replace('.kernels.', '.kernel.').split('.')
             if part not in ('policies', 'params', 'clients', 'repeat')]
    if parts[-2:-1] == ['arrivals'] and len(parts) > 3:  # of one client's requests
        del parts[-2]
    if len(parts) > 2 and parts[0] == 'workload':
        del parts[0]
    return ' '.join(parts or [path]).replace('_', ' ')


def setting(path, value):
    """A swept parameter and its value: 'rr quantum 1 ms'; of clients that take part only who: 'DCT + FFT'."""
    return value.replace('+', ' + ') if path == 'clients' else f'{parameter(path)} ' + re.sub(r'\bus$', 'µs', value)


def interval_of_mean(replications):
    return '95 % interval of the mean over ' + (f'{replications} replications' if replications else 'replications')


def interval(replications):
    return '95 % interval' + (f' over {replications} replications' if replications else '')
