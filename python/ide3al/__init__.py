"""Reward-free exploration of finite Markov decision processes.

>>> import ide3al
>>> solution = ide3al.solve(ide3al.MDP.domain("double-chain"))
>>> solution.policy.shape
(20, 2)
"""

import sys

from ._extras import MissingExtra
from ._ide3al import Error
from .abstraction import Abstraction
from .account import Account
from .agents import IDE3AL, CountBased, MaxEnt, Random
from .analysis import Analysis, analyze
from .data import Data, collect
from .experiments import ExperimentError, ExperimentResult, experiment, scores
from .frontier import Frontier, frontier
from .mdp import MDP, domains
from .plotting import plot_curves, plot_policy, plot_visitation
from .solving import Solution, solve

__version__ = "0.1.0"

__all__ = [
    "IDE3AL",
    "MDP",
    "Abstraction",
    "Account",
    "Analysis",
    "CountBased",
    "Data",
    "Error",
    "ExperimentError",
    "ExperimentResult",
    "Frontier",
    "MaxEnt",
    "MissingExtra",
    "Random",
    "Solution",
    "analyze",
    "collect",
    "domains",
    "experiment",
    "frontier",
    "plot_curves",
    "plot_policy",
    "plot_visitation",
    "scores",
    "solve",
]

if sys.modules.get("gymnasium") is not None:
    # whoever works with Gymnasium finds the built-in domains there; nobody else pays for it
    from .envs import register as _register

    _register()
