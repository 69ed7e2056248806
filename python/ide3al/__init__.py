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
    from .agents.algorithms import IDE3AL, CountBased, MaxEnt, Random
    from .agents.rivals import RFUCRL, EntGame, RMax
    from .collecting.collect import collect
    from .datasets.audit import audit
    from .datasets.coverage import Coverage
    from .datasets.dataset import Data
    from .encoding.abstraction import Abstraction
    from .evaluation.account import Account
    from .experiments.comparison import Comparison, compare
    from .experiments.experiment import experiment
    from .experiments.result import ExperimentError, ExperimentResult, scores
    from .models.domains import domains
    from .models.mdp import MDP
    from .planning.accuracy import Accuracy
    from .planning.learned import LearnedPlan
    from .planning.plan import Plan, plan
    from .planning.rollout import Evaluation
    from .plotting.models import plot_curves, plot_policy, plot_visitation
    from .runners.base import CollectionError
    from .solving.analysis import Analysis, analyze
    from .solving.frontier import Frontier, frontier
    from .solving.solution import Solution
    from .solving.solve import solve
    from .solving.time_dependent import EpisodeAnalysis, EpisodeSolution, load_policy
    from .solving.utility import Utility

    __version__: str

__all__ = [
    "IDE3AL",
    "MDP",
    "Abstraction",
    "Account",
    "Accuracy",
    "Analysis",
    "CollectionError",
    "Comparison",
    "CountBased",
    "Coverage",
    "Data",
    "EntGame",
    "EpisodeAnalysis",
    "EpisodeSolution",
    "Error",
    "Evaluation",
    "ExperimentError",
    "ExperimentResult",
    "Frontier",
    "LearnedPlan",
    "MaxEnt",
    "MissingExtra",
    "Plan",
    "RFUCRL",
    "RMax",
    "Random",
    "Solution",
    "Studio",
    "Utility",
    "analyze",
    "audit",
    "collect",
    "compare",
    "domains",
    "experiment",
    "frontier",
    "load_policy",
    "plan",
    "plot_curves",
    "plot_policy",
    "plot_visitation",
    "scores",
    "solve",
    "studio",
]

# Where the public names are defined. A module is imported when one of its names is first used, so
# that importing the package takes next to no time.
_HOMES = {
    "_extras": ("MissingExtra",),
    "_ide3al": ("Error",),
    "_studio": ("Studio", "studio"),
    "encoding.abstraction": ("Abstraction",),
    "evaluation.account": ("Account",),
    "agents.algorithms": ("IDE3AL", "CountBased", "MaxEnt", "Random"),
    "agents.rivals": ("EntGame", "RFUCRL", "RMax"),
    "solving.analysis": ("Analysis", "analyze"),
    "datasets.audit": ("audit",),
    "collecting.collect": ("collect",),
    "datasets.dataset": ("Data",),
    "runners.base": ("CollectionError",),
    "experiments.comparison": ("Comparison", "compare"),
    "experiments.experiment": ("experiment",),
    "experiments.result": ("ExperimentError", "ExperimentResult", "scores"),
    "models.domains": ("domains",),
    "models.mdp": ("MDP",),
    "planning.accuracy": ("Accuracy",),
    "planning.learned": ("LearnedPlan",),
    "planning.plan": ("Plan", "plan"),
    "planning.rollout": ("Evaluation",),
    "plotting.models": ("plot_curves", "plot_policy", "plot_visitation"),
    "datasets.coverage": ("Coverage",),
    "solving.solution": ("Solution",),
    "solving.solve": ("solve",),
    "solving.utility": ("Utility",),
    "solving.time_dependent": ("EpisodeAnalysis", "EpisodeSolution", "load_policy"),
    "solving.frontier": ("Frontier", "frontier"),
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
    return sorted([*__all__, "__all__", "__doc__", "__version__", "callbacks", "envs", "wrappers"])


if sys.modules.get("gymnasium") is not None:
    # whoever works with Gymnasium finds the built-in domains there; nobody else pays for it
    from .registration import register as _register

    _register()
