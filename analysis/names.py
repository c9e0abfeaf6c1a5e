"""What things are called in figures and tables, and in which order policies stand."""
import re

METRIC_NAMES = {'antt': 'ANTT', 'dntt': 'DNTT', 'stp': 'STP', 'ntt': 'NTT', 'evictions': 'evictions per run'}
_BETTER = {'antt': 'lower', 'dntt': 'lower', 'stp': 'higher', 'ntt': 'lower'}
_POLICIES = ['passthrough', 'fcfs', 'sjf', 'srt', 'rr', 'cfs', 'frs', 'piv', 'dprr', 'pkm', 'microkernel-rr']


def in_order(labels):
    """The known policies first, as listed above, each followed by its variants; then the others."""
    return sorted(set(labels), key=lambda label: (
        _POLICIES.index(base(label)) if base(label) else len(_POLICIES), label))


def base(label):
    """The known policy that a label names or is a variant of ('rr-long' of 'rr'), or None."""
    if label in _POLICIES:
        return label
    word = re.split(r'[^A-Za-z0-9]', label)[0].lower()
    return word if word in _POLICIES else None


def metric(name):
    """The label of an axis: what it is, and which direction is good."""
    return f'{METRIC_NAMES[name]} ({_BETTER[name]} is better)' if name in _BETTER else METRIC_NAMES[name]


def parameter(path):
    """'policies.rr.params.quantum' as 'rr quantum', 'workload.arrivals.gap' as 'arrivals gap'."""
    path = re.sub(r'\.([^.]+)\.kernels\.\1\.', r'.\1.', path)  # a client's only kernel often has its name
    parts = [part for part in path.replace('.kernels.', '.kernel.').split('.')
             if part not in ('policies', 'params', 'clients')]
    if len(parts) > 2 and parts[0] == 'workload':
        del parts[0]
    return ' '.join(parts or [path]).replace('_', ' ')


def interval(replications):
    return '95 % interval' + (f' over {replications} replications' if replications else '')
