"""Policies in Python: a class that decides who is served, played by the same worlds as policies in C++."""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
import operator
import os
import re
import threading
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from gangway import _core
from gangway.errors import InputError
from gangway.policy_version import version_of


class Parameter:
    """A parameter of a policy, with its default and range; experiments give its value under `params`.

    Parameter.time('2 ms', '1 us', '1 s'), Parameter.number(0.5, 0, 1), Parameter.integer(3, 1, 10), Parameter.choice('place', 'tail')."""

    def __init__(self, kind: str, standard: float = 0, least: float = 0, most: float = 0, names: Sequence[str] = (), summary: str = '') -> None:
        self._kind, self._summary, self._names = kind, summary, list(names)
        if kind not in ('time', 'number', 'integer', 'choice'):
            raise _refusal('kind', repr(kind), 'time, number, integer or choice')
        if kind == 'choice' and not (names and all(isinstance(name, str) and name for name in names) and len({*names}) == len(names)):
            raise _refusal('choice', ', '.join(map(repr, names)) or 'nothing', 'at least one name, each a text, and each once')
        value = _number if kind == 'number' else _whole_number
        self._standard, self._least, self._most = value(kind, standard), value(kind, least), value(kind, most)
        if not self._least <= self._standard <= self._most or math.isinf(self._standard):
            unit = ' ns' if kind == 'time' else ''
            raise _refusal(kind, f'{self._standard}{unit}, from {self._least}{unit} to {self._most}{unit}', 'a default in its range')

    @staticmethod
    def time(standard: str, least: str = '0 ns', most: str = '100 s', summary: str = '') -> Parameter:
        """A time, given as text such as '2 ms'; the policy gets ns."""
        return Parameter('time', _ns(standard), _ns(least), _ns(most), summary=summary)

    @staticmethod
    def number(standard: float, least: float, most: float, summary: str = '') -> Parameter:
        """A number; the range may be without an end (math.inf)."""
        return Parameter('number', standard, least, most, summary=summary)

    @staticmethod
    def integer(standard: int, least: int, most: int, summary: str = '') -> Parameter:
        """A whole number, of 64 bits."""
        return Parameter('integer', standard, least, most, summary=summary)

    @staticmethod
    def choice(*names: str, summary: str = '') -> Parameter:
        """One of some names, the first by default."""
        return Parameter('choice', names=names, summary=summary)

    def declared(self, name: str) -> tuple[str, str, str, float, float, float, list[str]]:
        return name, self._summary, self._kind, self._standard, self._least, self._most, self._names


def _refusal(key: str, found: str, expected: str) -> InputError:
    return InputError(f"gangway.Parameter: key '{key}': found {found}, expected {expected}", 'gangway.Parameter', None, key, found, expected)


def _ns(text: Any) -> int:
    if not isinstance(text, str):
        raise _refusal('time', repr(text), "a text such as '2 ms'")
    return _core.duration(text)


def _number(kind: str, value: Any) -> float:
    try:
        if isinstance(value, numbers.Real):
            return float(value)
    except OverflowError:
        pass
    raise _refusal(kind, repr(value), 'a number')


def _whole_number(kind: str, value: Any) -> int:
    try:
        if -2 ** 63 <= (whole := operator.index(value)) < 2 ** 63:
            return whole
    except TypeError:
        pass
    raise _refusal(kind, repr(value), 'a whole number of 64 bits')


class Policy:
    """A policy that hears facts and gives orders (models/policy.hpp has the contract; times are in ns, clients, launches, timers and requests
    are whole numbers).

    class Mine(gangway.Policy):            # named `mine`; a later class of that name replaces it
        needs = ('evict',)                 # capabilities: evict, ranges, access, sampling, intercept
        parameters = {'quantum': gangway.Parameter.time('2 ms')}
        def __init__(self, quantum): ...
        def note(self, now, fact, view): ...       # every fact of an instant comes first
        def decide(self, now, view, orders): ...   # then one decision

    A class without these methods is no policy, but can be a base of policies. Each run has its own instance, on any thread. An exception
    ends the run. A view, a job's facts and orders are valid only during the call that gets them."""

    needs: ClassVar[Sequence[str]] = ('evict',)
    parameters: ClassVar[dict[str, Parameter]] = {}

    def __init_subclass__(cls, name: str | None = None, abstract: bool = False, **more: Any) -> None:
        super().__init_subclass__(**more)
        if cls.__module__ != __name__:
            _warn_of_misspelt(cls, 4 if abstract else 3)
        if not abstract and cls.decide is not Policy.decide:
            _define(cls, name, ownership=False)

    def note(self, now: int, fact: Any, view: _core.View) -> None:
        """Handles a fact, an object of one of the types in gangway.facts."""

    def decide(self, now: int, view: _core.View, orders: _core.Orders) -> None:
        raise NotImplementedError(f'{type(self).__name__}.decide')


class OwnershipPolicy(Policy, abstract=True):
    """A policy that only chooses; Gangway keeps track of waiting jobs, owners and evictions (models/policy/README.md).

    class Longest(gangway.OwnershipPolicy):
        def choose(self, now, waiting):            # facts of waiting jobs, the longest-waiting first
            return max(range(len(waiting)), key=lambda i: waiting[i].alone or 0)
            # or (index, quantum in ns); after the quantum another job may be chosen
        def urgency(self, job): ...                # optional: a whole number; a waiting job with a higher one displaces an owner"""

    def __init_subclass__(cls, name: str | None = None, abstract: bool = False, **more: Any) -> None:
        super().__init_subclass__(abstract=True, **more)
        if not abstract and cls.choose is not OwnershipPolicy.choose:
            _define(cls, name, ownership=True)

    def choose(self, now: int, waiting: list[_core.JobFacts]) -> int | tuple[int, int]:
        raise NotImplementedError(f'{type(self).__name__}.choose')


def _warn_of_misspelt(cls: type[Policy], stacklevel: int) -> None:
    """Of a method that nobody calls, with a name like one that the class lacks. Without that one it may be no policy, and nothing says so."""
    chooses = issubclass(cls, OwnershipPolicy)
    called = {'choose': OwnershipPolicy.choose, 'urgency': None} if chooses else {'note': Policy.note, 'decide': Policy.decide}
    lacking = [name for name, usual in called.items() if getattr(cls, name, None) is usual]
    for name, value in vars(cls).items():
        if name.startswith('_') or name in called or not inspect.isroutine(value):
            continue
        for meant in difflib.get_close_matches(name, lacking, 1, 0.7):
            warnings.warn(f'{cls.__qualname__}.{name}(): Gangway calls no such method; is {meant}() meant?', stacklevel=stacklevel)


_NOT_YET = 'not yet known'  # a version: what a class refers to may follow it

# By name: what was defined last, whether it only says whom to choose, and its version when a run last began.
_defined: dict[str, tuple[type[Policy], bool, str]] = {}
_changing = threading.Lock()  # for changes of these, here and in the compiled module


def _forked() -> None:
    """In a child: the runs and locks of its parent belong to threads that it has not."""
    global _changing
    _changing = threading.Lock()
    _core.forget_runs()


os.register_at_fork(after_in_child=_forked)


def defined() -> dict[str, tuple[type[Policy], bool, str]]:
    """The policies defined in this process, by name."""
    return dict(_defined)


def played(configuration: dict[str, Any]) -> dict[str, tuple[type[Policy], bool, str]]:
    """Those that an experiment uses, by name."""
    return {name: known for name, known in defined().items() if _uses(configuration, name)}


def _uses(value: Any, name: str) -> bool:
    """Whether a configuration uses this policy."""
    if isinstance(value, dict):
        return any(_uses(item, name) for item in value.values())
    if isinstance(value, list):
        return any(_uses(item, name) for item in value)
    return bool(value == name)


def take_changes() -> None:
    """Before a run: what the policies refer to may have changed since the previous one. Runs that use them go on with the same classes."""
    for name, (cls, ownership, before) in defined().items():
        version = version_of(cls)
        with _changing:
            if version != before and _defined[name] == (cls, ownership, before):  # nobody else has changed it meanwhile
                _core.renew(name, version)
                _defined[name] = cls, ownership, version


def define_again(name: str, cls: type[Policy], ownership: bool, version: str) -> None:
    """Defines a class that came from another process, where it had this version; refuses it if it has another one here: modules that it
    uses are those that this process imported."""
    if version_of(cls) != version:
        expected = ("that of this session: change a policy's modules in their files only, then restart the workers (client.restart()) and the "
                    'session')
        raise InputError(f"sweep: key 'policies': found another version of policy {name!r} on a worker, expected {expected}", 'sweep', None,
                         'policies', f'another version of policy {name!r} on a worker', expected)
    _define(cls, name, ownership, version)


def _define(cls: type[Policy], name: str | None, ownership: bool, version: str = _NOT_YET) -> None:
    if name is None:
        name = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '-', cls.__name__).lower()
    if not isinstance(name, str) or not re.fullmatch(r'[A-Za-z][A-Za-z0-9_.-]*', name):
        raise InputError(f"gangway.Policy: key 'name': found {name!r}, expected a name such as 'mine'", 'gangway.Policy', None, 'name',
                         repr(name), "a name such as 'mine'")
    for parameter, declared in cls.parameters.items():
        if not isinstance(declared, Parameter):
            raise InputError(f"gangway.Policy: key 'parameters.{parameter}': found {type(declared).__name__}, expected a gangway.Parameter",
                             'gangway.Policy', None, f'parameters.{parameter}', type(declared).__name__, 'a gangway.Parameter')
    summary = next(iter(inspect.cleandoc(cls.__doc__ or '').splitlines()), 'a policy in Python')
    with _changing:
        _core.define(cls, name, summary, [declared.declared(parameter) for parameter, declared in cls.parameters.items()],
                     list(cls.needs), ownership, version)
        _defined[name] = cls, ownership, version
