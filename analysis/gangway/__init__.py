"""Gangway: predict, and then measure, what policies for sharing a GPU do to programs.

    import gangway
    experiment = gangway.Experiment('frs/fig4')
    experiment['policies.rr.params.quantum'] = '2 ms'
    result = experiment.run()
    result.summary                       # a pandas table
"""

import os as _os
from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _os.environ.get('GANGWAY_CORE'):  # where a checkout was built
    __path__.append(_os.environ['GANGWAY_CORE'])
if (_Path(__file__).parent / 'data').is_dir():  # installed: the files that come with Gangway are here
    _os.environ.setdefault('GANGWAY_DATA', str(_Path(__file__).parent / 'data'))

from gangway.errors import GangwayError, InputError, RunError

if _TYPE_CHECKING:
    from gangway import facts
    from gangway.cluster import sweep
    from gangway.comparison import Comparison, Differences, bound, compare, compare_policies
    from gangway.experiment import Experiment
    from gangway.listing import arrivals, bounds, devices, experiments, generators, kernels, mechanisms, policies, workloads, worlds
    from gangway.policy import OwnershipPolicy, Parameter, Policy
    from gangway.recording import Recording
    from gangway.result import Result, read

# Loaded when they are asked for, so that `import gangway` takes no time.
_PLACES = {'Experiment': 'experiment', 'Result': 'result', 'read': 'result', 'Policy': 'policy', 'OwnershipPolicy': 'policy',
           'Parameter': 'policy', 'compare': 'comparison', 'Comparison': 'comparison',
           'compare_policies': 'comparison', 'Differences': 'comparison', 'bound': 'comparison', 'Recording': 'recording',
           'sweep': 'cluster',
           'policies': 'listing', 'mechanisms': 'listing', 'generators': 'listing', 'kernels': 'listing', 'worlds': 'listing',
           'devices': 'listing', 'workloads': 'listing', 'experiments': 'listing', 'arrivals': 'listing', 'bounds': 'listing'}

__all__ = ['GangwayError', 'InputError', 'RunError', '__version__', 'facts', *_PLACES]


def __getattr__(name: str) -> _Any:
    if name in _PLACES:
        value = getattr(_import_module(f'gangway.{_PLACES[name]}'), name)
    elif name == '__version__':
        value = _import_module('gangway._core').version
    elif name == 'facts':
        value = _import_module('gangway.facts')
    else:
        raise AttributeError(f"module 'gangway' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
