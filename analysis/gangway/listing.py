"""Lists of policies, mechanisms, metrics and so on, and of the files that come with Gangway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gangway import _core

if TYPE_CHECKING:
    from pandas import DataFrame


def _listed(what: str) -> DataFrame:
    import pandas
    return pandas.DataFrame(json.loads(_core.listed(what)))


def policies() -> DataFrame:
    """Policies, as a table: name, summary, parameters (a list of mappings with name, default, range, summary)."""
    return _listed('policies')


def mechanisms() -> DataFrame:
    """Preemption mechanisms, as a table like policies()."""
    return _listed('mechanisms')


def generators() -> DataFrame:
    """Generators of workloads, as a table like policies()."""
    return _listed('generators')


def kernels() -> DataFrame:
    """Kernels for real devices, as a table like policies()."""
    return _listed('kernels')


def worlds() -> DataFrame:
    """Worlds, as a table like policies()."""
    return _listed('worlds')


def arrivals() -> DataFrame:
    """Arrival processes of requests, as a table like policies()."""
    return _listed('arrivals')


def bounds() -> DataFrame:
    """Theorems that bound response times, as a table like policies()."""
    return _listed('bounds')


def devices() -> DataFrame:
    """Device files that come with Gangway, as a table: name, path."""
    return _listed('devices')


def workloads() -> DataFrame:
    """Workload files, likewise."""
    return _listed('workloads')


def experiments() -> DataFrame:
    """Experiment files, likewise."""
    return _listed('experiments')
