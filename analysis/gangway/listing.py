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
    """A table: name, summary, parameters (a list of mappings with name, default, range, summary)."""
    return _listed('policies')


def mechanisms() -> DataFrame:
    """Likewise."""
    return _listed('mechanisms')


def generators() -> DataFrame:
    """Likewise, of workloads."""
    return _listed('generators')


def kernels() -> DataFrame:
    """Likewise, of kernels for real devices."""
    return _listed('kernels')


def worlds() -> DataFrame:
    """Likewise."""
    return _listed('worlds')


def arrivals() -> DataFrame:
    """Likewise, of processes by which requests arrive."""
    return _listed('arrivals')


def bounds() -> DataFrame:
    """Likewise, of theorems that bound response times."""
    return _listed('bounds')


def devices() -> DataFrame:
    """A table: name, path."""
    return _listed('devices')


def workloads() -> DataFrame:
    """Likewise."""
    return _listed('workloads')


def experiments() -> DataFrame:
    """Likewise."""
    return _listed('experiments')
