"""The identity of a policy's code and of what that code refers to, the same in every process."""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import importlib.util
import os
import site
import sys
import sysconfig
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_BUILT_IN = (types.BuiltinFunctionType, types.MethodWrapperType)  # functions, and methods bound to something
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
                types.ClassMethodDescriptorType)
# Of a class: what says nothing of its behaviour, or differs between processes.
_UNREAD = {'__dict__', '__weakref__', '__doc__', '__module__', '__qualname__', '__annotations__', '__annotate__', '__abstractmethods__',
           '__firstlineno__', '__slotnames__', '__static_attributes__', '__orig_bases__', '__parameters__', '__match_args__', '_abc_impl'}

_NEVER_OWN = {'gangway', 'builtins'}

# Values that nothing can be said of: kept, so that no other one gets their address, each with a number of this process.
_opaque: dict[int, tuple[Any, bytes]] = {}


def version_of(cls: type) -> str:
    """A hash of the class, of its bases, and of the functions, classes and values that their code refers to by name.

    What belongs to Python, to Gangway or to an installed package (but that of the class) counts by its name. A value that cannot be pickled
    counts as a new one in each process."""
    return _Digests(cls).of(cls).hex()


class _Digests:
    """Digests by content, so that it does not matter whether equal things are one object."""

    def __init__(self, root: type) -> None:
        self._own = {_top(base.__module__) for base in root.__mro__} - _NEVER_OWN
        self._done: dict[int, tuple[Any, bytes]] = {}  # the objects, too: made ones must not lose their address to others
        self._under_way: dict[int, int] = {}           # with their depth, which stands for them in cycles
        self._modules: set[tuple[str, frozenset[str] | None]] = set()  # under way, likewise

    def of(self, value: Any, names: frozenset[str] | None = None) -> bytes:
        """names: those in the code that refers to the value."""
        if type(value) in _ATOMS:
            return _hash(type(value).__name__, repr(value))
        if isinstance(value, types.ModuleType):
            return self._module(value, names)
        if id(value) in self._done:
            return self._done[id(value)][1]
        if id(value) in self._under_way:
            return _hash('cycle', str(self._under_way[id(value)]))
        self._under_way[id(value)] = len(self._under_way)
        try:
            digest = _hash(*self._parts(value))
        except RecursionError:
            digest = _unlike_all(value)
        finally:
            del self._under_way[id(value)]
        self._done[id(value)] = value, digest
        return digest

    def _parts(self, value: Any) -> Iterator[str | bytes]:
        # A run on another thread, or a finalizer, may change a collection, but not while copy() makes the copy that is read.
        yield type(value).__name__
        if isinstance(value, type):
            yield from self._class(value)
        elif isinstance(value, types.FunctionType):
            yield from self._function(value)
        elif isinstance(value, types.CodeType):
            yield from self._code(value)
        elif type(value) in (tuple, list):
            yield from map(self.of, value[:])
        elif type(value) in (set, frozenset):
            yield from sorted(map(self.of, value.copy()))
        elif type(value) in (dict, types.MappingProxyType):
            yield from self._items(value)
        elif isinstance(value, (staticmethod, classmethod)):
            yield self.of(value.__func__)
        elif isinstance(value, property):
            yield from map(self.of, (value.fget, value.fset, value.fdel))
        elif isinstance(value, types.MethodType):
            yield from map(self.of, (value.__func__, value.__self__))
        elif isinstance(value, _BUILT_IN):
            yield value.__qualname__
            yield self.of(value.__self__)
        elif isinstance(value, _DESCRIPTORS):
            yield value.__qualname__
        elif isinstance(value, weakref.ref):
            yield self.of(value())
        elif isinstance(value, functools.cached_property):
            yield self.of(value.func)
        elif isinstance(value, functools._lru_cache_wrapper):
            yield from map(self.of, (value.__wrapped__, value.cache_parameters()))
        elif not isinstance(value, _LOCKS):
            yield from self._instance(value)

    def _class(self, cls: type) -> Iterator[str | bytes]:
        if self._is_library(cls.__module__):
            yield f'{cls.__module__}.{cls.__qualname__}'
            return
        yield f'{cls.__module__}.{cls.__name__}'  # cloudpickle does not keep the other one
        yield from map(self.of, cls.__bases__)
        if type(cls) is not type:
            yield self.of(type(cls))
        for name, value in sorted(vars(cls).copy().items()):
            if name not in _UNREAD and not isinstance(value, types.MemberDescriptorType):  # __slots__ has those
                yield name
                yield self.of(value)

    def _function(self, function: types.FunctionType) -> Iterator[str | bytes]:
        if self._is_library(function.__module__) and '<locals>' not in function.__qualname__:
            yield f'{function.__module__}.{function.__qualname__}'
            return
        code = function.__code__
        names = _names(code)
        yield self.of(code)
        yield from map(self.of, (function.__defaults__, function.__kwdefaults__, vars(function)))
        for cell in function.__closure__ or ():
            yield self._cell(cell, names)
        for name in sorted(_globals_of(code)):
            if name in function.__globals__:
                yield name
                yield self.of(function.__globals__[name], names)
        for name in sorted(_imports_of(code)):
            yield name
            yield self._imported(name, function.__globals__.get('__package__'), names)

    def _cell(self, cell: types.CellType, names: frozenset[str]) -> bytes:
        try:
            return self.of(cell.cell_contents, names)
        except ValueError:  # a variable without a value yet
            return b'empty'

    def _imported(self, name: str, package: str | None, names: frozenset[str]) -> bytes:
        if not name.startswith('.') and self._is_library(name):
            return b'library'
        try:
            return self._module(importlib.import_module(name, package), names)
        except Exception:  # the policy will meet it, too, or has prepared for it
            return b'none'

    def _code(self, code: types.CodeType) -> Iterator[str | bytes]:
        """Independent of the place in a file."""
        yield code.co_code
        yield code.co_exceptiontable
        yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount, code.co_posonlyargcount,
                    code.co_kwonlyargcount, code.co_flags))
        yield from map(self.of, code.co_consts)

    def _items(self, mapping: dict[Any, Any] | types.MappingProxyType[Any, Any]) -> Iterator[bytes]:
        for key, value in mapping.copy().items():
            yield self.of(key)
            yield self.of(value)

    def _module(self, module: types.ModuleType, names: frozenset[str] | None) -> bytes:
        """Of a module of the user's: what has one of the names, or, without names, all."""
        name = module.__name__
        if self._is_library(name) or (name, names) in self._modules:
            return _hash('module', name)
        self._modules.add((name, names))
        parts: list[str | bytes] = ['module', name]
        for known, value in sorted(vars(module).copy().items()):
            if known in names if names is not None else not known.startswith('__'):
                parts += [known, self.of(value, names)]
        self._modules.remove((name, names))
        return _hash(*parts)

    def _is_library(self, name: str | None) -> bool:
        return _top(name) not in self._own and _is_installed(_top(name))

    def _instance(self, value: Any) -> Iterator[str | bytes]:
        """As it would be pickled."""
        name = getattr(value, '__qualname__', None)
        if isinstance(name, str) and self._is_library(getattr(value, '__module__', None)):  # a function of a compiled module
            yield name
            return
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = reduce(value) if reduce else value.__reduce_ex__(4)
        except RecursionError:
            raise
        except Exception:
            yield _unlike_all(value)
            return
        if isinstance(reduced, str):  # the name of something that a module has
            yield f'{getattr(value, "__module__", "")}.{reduced}'
            return
        for part in reduced:
            yield b''.join(map(self.of, part)) if isinstance(part, Iterator) else self.of(part)


def _unlike_all(value: Any) -> bytes:
    if id(value) not in _opaque:
        _opaque[id(value)] = value, os.urandom(16)
    return _opaque[id(value)][1]


def _hash(*parts: str | bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode('utf-8', 'surrogatepass') if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, 'little') + data)
    return digest.digest()


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _names(code: types.CodeType) -> frozenset[str]:
    return frozenset(name for one in _nested(code) for name in one.co_names)


def _globals_of(code: types.CodeType) -> set[str]:
    return {str(one.argval) for part in _nested(code) for one in dis.get_instructions(part) if one.opname in ('LOAD_GLOBAL', 'LOAD_NAME')}


def _imports_of(code: types.CodeType) -> set[str]:
    """Modules that the code imports itself, with a leading point for each level of a relative import."""
    found = set()
    for part in _nested(code):
        done = list(dis.get_instructions(part))
        for number, one in enumerate(done):
            if one.opname == 'IMPORT_NAME':  # after the level and the names
                level = done[number - 2].argval
                found.add('.' * (level if isinstance(level, int) else 0) + str(one.argval))
    return found


def _top(name: str | None) -> str:
    return (name or '').partition('.')[0]


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({os.path.realpath(path) + os.sep for path in (paths['stdlib'], paths['platstdlib'], paths['purelib'], paths['platlib'],
                                                               *site.getsitepackages(), site.getusersitepackages())})


@functools.cache
def _is_installed(top: str) -> bool:
    """Whether a module belongs to Python, to Gangway or to an installed package. It is not loaded."""
    if top in _NEVER_OWN or top in sys.stdlib_module_names:
        return True
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):  # __main__, or one that was made by hand
        return False
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return any(place is not None and os.path.realpath(place).startswith(_library_folders()) for place in places)
