"""Chrome traces of `gangway trace`: what one is about, and its events, refused where they cannot be read."""
import json
import math
import re
from pathlib import Path

from gangway.drawing.results import InputError, open_text, read_json

CLIENTS, GPU, BLOCKS, ACCESS = 1, 2, 3, 5  # processes: a thread for each client; the GPU; SMs and what ran on them; a
                                           # thread for each client whose way to the GPU a policy controls


_SUFFIXES = ('.json.gz', '.json')  # compressed or not


def is_file(path):
    return str(path).endswith(_SUFFIXES)


def stem(path):
    """The name of a trace's file without folder and suffix."""
    suffix = next((each for each in _SUFFIXES if path.name.endswith(each)), '')
    return path.name.removesuffix(suffix)


def of_folder(folder):
    """The files of the traces that a result folder kept, by name."""
    return sorted(path for path in Path(folder, 'trace').glob('*') if is_file(path) and not path.name.startswith('.'))


def holds(file, text):
    """Whether that text is in a trace; quicker than reading it."""
    with open_text(file, errors='replace') as stream:
        return any(text in line for line in stream)


def read(file):
    """((experiment, policy, run), what else it is about, events)"""
    document = read_json(file)
    about = _about(file, document)
    events = document.get('traceEvents')
    if not isinstance(events, list):
        raise InputError(file, 'none', 'a list', 1, 'traceEvents')
    for index, event in enumerate(events):
        _check(file, index, event)
    return about, document['otherData'], events


def peek(file):
    """What a trace is about, without reading all of it where it says so early."""
    with open_text(file, errors='replace') as stream:
        early = re.search(r'"otherData":\s*({[^{}]*})', stream.read(4096))
    if early:
        try:
            return _about(file, {'otherData': json.loads(early[1])})
        except json.JSONDecodeError:
            pass  # the whole file tells where it is wrong
    return _about(file, read_json(file))


def _about(file, document):
    """(experiment, policy, run) of a trace."""
    about = document.get('otherData') if isinstance(document, dict) else None
    if not isinstance(about, dict) or not about.get('policy'):
        raise InputError(file, 'none', 'the name of a policy', 1, 'otherData.policy')
    run = tuple(_whole(file, about, key) for key in ('point', 'replication', 'permutation'))
    return str(about.get('experiment', '')), str(about['policy']), run


def _whole(file, about, key):
    value = about.get(key, 0)
    if not isinstance(value, int):
        raise InputError(file, repr(value), 'a whole number', 1, f'otherData.{key}')
    return value


def _check(file, index, event):
    """Refuses what the rest of this module could not read."""
    if not isinstance(event, dict):
        raise InputError(file, repr(event), 'a mapping', key=f'traceEvents.{index}')
    for key, kind, expected in (('name', str, 'a text'), ('tid', int, 'a whole number'),
                                ('args', dict, 'a mapping')):
        if not isinstance(event.get(key, kind()), kind):
            raise InputError(file, repr(event[key]), expected, key=f'traceEvents.{index}.{key}')


def named(events, name, key, process=CLIENTS):
    """What metadata events of that name say about the threads of the clients, or of another process."""
    return {event.get('tid'): event.get('args', {}).get(key, 0) for event in events
            if event.get('ph') == 'M' and event.get('pid') == process and event.get('name') == name}


def milliseconds(file, index, event, key):
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(file, repr(value), 'microseconds', key=f'traceEvents.{index}.{key}')
    return value / 1000
