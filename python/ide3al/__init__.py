"""Reward-free exploration of finite Markov decision processes.

>>> import ide3al
>>> solution = ide3al.solve(ide3al.MDP.domain("double-chain"))
>>> solution.policy.shape
(20, 2)
"""

import sys

from ._extras import MissingExtra
from ._ide3al import Error
from ._studio import Studio, studio
from .abstraction import Abstraction
from .account import Account
from .agents import IDE3AL, CountBased, MaxEnt, Random
from .analysis import Analysis, analyze
from .auditing import audit
from .collecting import collect
from .data import Data
from .episodes import CollectionError
from .experiments import ExperimentError, ExperimentResult, experiment, scores
from .frontier import Frontier, frontier
from .mdp import MDP, domains
from .plotting import plot_curves, plot_policy, plot_visitation
from .promise import Coverage
from .solving import Solution, Utility, solve
from .timed import EpisodeAnalysis, EpisodeSolution, load_policy

__version__ = "0.1.0"

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

if sys.modules.get("gymnasium") is not None:
    # whoever works with Gymnasium finds the built-in domains there; nobody else pays for it
    from .envs import register as _register

    _register()
