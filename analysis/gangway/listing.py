"""What there is: policies, mechanisms and the rest, and the files that come with Gangway."""

import json

from gangway import _core


def _listed(what):
    import pandas
    return pandas.DataFrame(json.loads(_core.listed(what)))


def policies():
    """A table: name, summary, parameters (a list of mappings with name, default, range, summary)."""
    return _listed('policies')


def mechanisms():
    """Likewise."""
    return _listed('mechanisms')


def generators():
    """Likewise, of workloads."""
    return _listed('generators')


def kernels():
    """Likewise, of kernels for real devices."""
    return _listed('kernels')


def worlds():
    """Likewise."""
    return _listed('worlds')


def arrivals():
    """Likewise, of processes by which requests arrive."""
    return _listed('arrivals')


def bounds():
    """Likewise, of theorems that bound response times."""
    return _listed('bounds')


def devices():
    """A table: name, path."""
    return _listed('devices')


def workloads():
    """Likewise."""
    return _listed('workloads')


def experiments():
    """Likewise."""
    return _listed('experiments')
