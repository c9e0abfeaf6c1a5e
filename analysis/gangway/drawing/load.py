"""What an experiment's clients ask of the device."""
from gangway.drawing import quantity

_PAUSES = ('arrivals', 'period', 'releases')  # of `repeat`: jobs that come by themselves


def is_full(experiment, swept):
    """Whether every client has a job at all times, at all points: it repeats them without an end or a pause. experiment: as resolved in
    the manifest; an unknown workload is not full."""
    workload = experiment.get('workload')
    clients = workload.get('clients') if isinstance(workload, dict) else None
    if not clients or any(_changes_load(path) for path in swept):
        return False
    chosen = experiment.get('clients') or [client.get('name') for client in clients]
    return all(_never_pauses(client, workload) for client in clients if client.get('name') in chosen)


def _changes_load(path):
    return path.rpartition('.')[2] in (*_PAUSES, 'think', 'sleep', 'rate', 'load', 'jobs')


def _never_pauses(client, workload):
    repeat, throttle = client.get('repeat', workload.get('repeat')), client.get('throttle', {})
    if not isinstance(repeat, dict) or any(key in repeat for key in _PAUSES) or repeat.get('jobs') != 'endless':
        return False
    return not _is_above_0(repeat.get('think')) and not _is_above_0(throttle.get('sleep'))


def _is_above_0(text):
    found = quantity.parse(str(text)) if text is not None else None
    return found is not None and found.number > 0
