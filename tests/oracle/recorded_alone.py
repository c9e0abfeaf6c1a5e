"""How long recorded jobs take with nothing else on the machine, and the host's scale at which they take a given time."""
from fractions import Fraction

class Unreachable(Exception):
    """No host's scale makes jobs take the time."""


PLAIN = {"arbitration": "mps"}  # a device without costs
UNIT, LEAST, MOST = 10_000, 10, 100_000


def mean(lengths):
    return sum(lengths) // len(lengths)


def times_alone(model, client, device):
    """Of each recorded job by its number: when it begins and ends; where times are scaled the client is played by itself, at its own pace,
    each timeline its jobs once."""
    if client.kernels_scale == 1 and client.host_scale == 1:
        return {job.number: (job.begin, job.end) for job in client.recorded}
    scale = {"kernels": client.kernels_scale, "host": client.host_scale}
    return _played(model, client, {**device, "gpus": 1}, scale)


def between_ends(times):
    """From one job's end to the next one's, on the average."""
    length = mean([end - begin for begin, end in times])
    span = max(end for _, end in times) - min(begin for begin, _ in times)
    if len(times) == 1:
        return length
    between = (span - length) // (len(times) - 1)
    return between if between >= length else span // len(times)


def _played(model, client, device, scale):
    asked = {**{key: value for key, value in client.asked.items() if key in ("file", "jobs")}, "scale": scale}
    spec = {"name": client.name, "recording": asked, "repeat": {"jobs": len(client.recorded)}, "once": True}
    played = model({"clients": [spec]}, device).run().clients[0]
    return {job.recorded.number: (job.begin, job.finish) for job in played.jobs}


def host_scale(model, client, time):
    """A Fraction."""
    def played(scale):
        return mean([end - begin for begin, end in _played(model, client, PLAIN, {"host": Fraction(scale, UNIT)}).values()])
    target = Fraction(time * played(UNIT), mean([job.length for job in client.recorded]))
    low, high = LEAST, MOST
    if not played(low) <= target <= played(high):
        raise Unreachable
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if played(middle) < target else (low, middle)
    return Fraction(high, UNIT)
