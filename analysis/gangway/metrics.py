"""The metrics of result folders: the table of `gangway list metrics --json`, kept beside this file as metrics.json (made by ./dev metrics)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name('metrics.json')
LEVELS = ('point', 'client', 'service', 'job')


@dataclass(frozen=True)
class Metric:
    """A column of a result folder's tables."""
    name: str
    level: str    # one of LEVELS
    file: str     # summary.csv, clients.csv, services.csv or jobs.csv
    label: str    # in figures and tables
    unit: str     # ns, /s, share, ratio, count or text
    kind: str     # of its cells: whole, number (may be missing) or text
    better: str   # lower, higher or neither
    summary: str  # what it is
    interval: bool  # whether a column NAME_ci95 has the half-width of its interval
    always: bool    # whether every result has it
    if_understated: str  # what the real value is where unfinished jobs raise a client's mean: at least, at most, rough; empty: exact
    if_unfinished: str   # the same where any job is unfinished
    ranked: bool    # policies are ranked by it
    compared: bool  # `gangway compare` shows the error of a prediction
    tested: bool    # ... and whether two simulations differ in it


ALL = tuple(Metric(**entry) for entry in json.loads(FILE.read_text(encoding='utf-8')))


def of(level: str) -> tuple[Metric, ...]:
    """The metrics of a level, in the order of their columns."""
    return tuple(metric for metric in ALL if metric.level == level)


def find(name: str, level: str = 'point') -> Metric | None:
    """The metric of that name at the level, otherwise at another level; None for a column of another version."""
    known = [metric for metric in ALL if metric.name == name]
    return next((metric for metric in known if metric.level == level), known[0] if known else None)


def named(name: str, level: str = 'point') -> Metric:
    """A metric that must exist."""
    return next(metric for metric in of(level) if metric.name == name)


def ranked() -> tuple[str, ...]:
    """The names of the metrics that rank policies."""
    return tuple(metric.name for metric in of('point') if metric.ranked)


def first(level: str) -> str:
    """The column after the keys and swept parameters of a table."""
    return of(level)[0].name
