"""Reward-free exploration of finite Markov decision processes.

>>> import ide3al
>>> solution = ide3al.solve(ide3al.MDP.domain("double-chain"))
>>> solution.policy.shape
(20, 2)
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._extras import MissingExtra
    from ._ide3al import Error
    from ._studio import Studio, studio
    from .abstraction import Abstraction
    from .account import Account
    from .algorithms import IDE3AL, CountBased, MaxEnt, Random
    from .analysis import Analysis, analyze
    from .auditing import audit
    from .collecting import collect
    from .data import Data
    from .episodes import CollectionError
    from .experiments import ExperimentError, ExperimentResult, experiment, scores
    from .mdp import MDP, domains
    from .plotting import plot_curves, plot_policy, plot_visitation
    from .promise import Coverage
    from .solving import Solution, Utility, solve
    from .timed import EpisodeAnalysis, EpisodeSolution, load_policy
    from .trade_off import Frontier, frontier

    __version__: str

__all__ = [
    "IDE3AL",
    "MDP",
    "Abstraction",
    "Account",
    "Analysis",
    "CollectionError",
    "CountBased",
    "Coverage",
    "Data",
    "EpisodeAnalysis",
    "EpisodeSolution",
    "Error",
    "ExperimentError",
    "ExperimentResult",
    "Frontier",
    "MaxEnt",
    "MissingExtra",
    "Random",
    "Solution",
    "Studio",
    "Utility",
    "analyze",
    "audit",
    "collect",
    "domains",
    "experiment",
    "frontier",
    "load_policy",
    "plot_curves",
    "plot_policy",
    "plot_visitation",
    "scores",
    "solve",
    "studio",
]

# : Where the names live: modules are loaded when something of theirs is first asked for, so that
# importing the package takes : next to nothing.
_HOMES = {
    "_extras": ("MissingExtra",),
    "_ide3al": ("Error",),
    "_studio": ("Studio", "studio"),
    "abstraction": ("Abstraction",),
    "account": ("Account",),
    "algorithms": ("IDE3AL", "CountBased", "MaxEnt", "Random"),
    "analysis": ("Analysis", "analyze"),
    "auditing": ("audit",),
    "collecting": ("collect",),
    "data": ("Data",),
    "episodes": ("CollectionError",),
    "experiments": ("ExperimentError", "ExperimentResult", "experiment", "scores"),
    "mdp": ("MDP", "domains"),
    "plotting": ("plot_curves", "plot_policy", "plot_visitation"),
    "promise": ("Coverage",),
    "solving": ("Solution", "Utility", "solve"),
    "timed": ("EpisodeAnalysis", "EpisodeSolution", "load_policy"),
    "trade_off": ("Frontier", "frontier"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._ide3al import VERSION

        return VERSION
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        try:
            # a module of the package, as ide3al.wrappers
            return importlib.import_module(f".{name}", __name__)
        except ModuleNotFoundError as problem:
            if problem.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if sys.modules.get("gymnasium") is not None:
    # whoever works with Gymnasium finds the built-in domains there; nobody else pays for it
    from .registration import register as _register

    _register()
