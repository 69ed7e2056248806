"""What learning to explore an unknown environment has in common, whatever the algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .._arguments import checked_names
from .._check import check_callback, check_flag, whole_number
from .._ide3al import Error
from ..datasets.tally import TransitionTally
from ..encoding.adaptive import AdaptivePartition
from ..evaluation.account import Account, account
from ..planning.decoder import Decoder
from ..planning.learned import LearnedPlan, Untried, plan_learned
from ..runners.vector import is_vector
from ..types import Engine, Floats
from .rollouts.base import Rollout, train
from .rollouts.episodes import ClusterRollout
from .rollouts.partitioned import PartitionRollout
from .rollouts.single import SingleRollout
from .rollouts.vector import VectorRollout
from .rollouts.vector_partitioned import PartitionVectorRollout
from .saving import SavableEstimator

Callback = Callable[["Agent"], Any]


class Agent(SavableEstimator):
    """What all exploration algorithms have in common.

    :meth:`fit` alternates batches of steps in the environment with learning from everything seen so
    far. A terminal state belongs to the model: the reset that leaves it counts as a step. A
    truncated episode ends without a transition; all agents but the paper's (``paper=True``) plan
    for the restarts that follow.

    Finite observation spaces of up to a million elements are enumerated. Any other observation that
    can be distinguished from others (numbers, strings, arrays, tuples and dictionaries of them,
    whatever is hashable) gets a number when it is first met: ``visits``, ``policy`` and ``model``
    then hold the states met so far, and ``states`` lists them.

    Observations or actions that are real numbers are cut into cells and a few actions, each held
    for some steps, as ``abstraction`` says (:class:`ide3al.Abstraction`); states are the cells met
    then, and counts are those of decisions.

    Parameters
    ----------
    batch_size : int, optional
        Steps between two updates of the policy; a tenth of the steps so far unless given.
    seed : int, default 0
        Seed of the environment and of all draws; equal seeds give equal results.
    abstraction : Abstraction, optional
        How a continuous environment is cut into cells and a few actions.
    **parameters
        Parameters of the algorithm.
    """

    @checked_names()
    def fit(
        self,
        env: Any,
        total_timesteps: int,
        progress_bar: bool = False,
        callback: Callback | None = None,
        *,
        engine: Engine | None = "local",
        workers: int | None = None,
    ) -> Self:
        """Explore an environment and learn from it.

        Fitting again goes on from what was learned, with a new episode.

        Parameters
        ----------
        env : gymnasium.Env, gymnasium.vector.VectorEnv or callable
            An environment, or many at once (``gymnasium.make_vec``), which share one policy and
            learn the same for a seed and a number of environments. With ``engine="ray"`` a function
            that makes one.
        total_timesteps : int
            Number of steps to take.
        progress_bar : bool, default False
            Whether to show a line of progress.
        callback : callable, optional
            Function that is called with the agent after each batch; returning False ends the fit.
        engine : {"local", "ray"}, default "local"
            Where steps are taken: in this process, or in whole episodes by runners on a Ray
            cluster. One that dies is replaced, and nothing changes.
        workers : int, optional
            Number of runners on the cluster; 2 unless given.

        Returns
        -------
        Agent
            The agent itself.

        Raises
        ------
        Error
            If the environment is unlike those learned from before, or an argument is out of range.
        """
        total_timesteps = whole_number("total_timesteps", total_timesteps)
        check_callback(callback)
        check_flag("progress_bar", progress_bar)
        rollout = self._rollout(env, total_timesteps, engine, workers)
        train(self, rollout, total_timesteps, progress_bar, callback)
        return self

    def _rollout(self, env: Any, total: int, engine: str | None, workers: int | None) -> Rollout:
        """Where the steps of a fit come from."""
        if engine not in (None, "local", "ray"):
            raise Error(f"engine = {engine!r}: 'local' and 'ray' are known")
        if engine == "ray":
            if self.limits:
                raise Error(
                    "limits: kept where all steps are taken in this process; leave engine out"
                )
            workers = 2 if workers is None else whole_number("workers", workers)
            return ClusterRollout(self, env, total, workers)
        if workers is not None:
            raise Error(
                'workers: only with engine="ray"; for many environments here give '
                "gymnasium.make_vec(...)"
            )
        if self.is_partitioned(env):
            self.reset()
            kind = PartitionVectorRollout if is_vector(env) else PartitionRollout
            return kind(self, env, total)
        return (
            VectorRollout(self, env, total) if is_vector(env) else SingleRollout(self, env, total)
        )

    def predict(
        self, observation: Any, deterministic: bool = False, *, action_masks: Any = None
    ) -> Any:
        """Choose an action for an observation.

        In a continuous environment an action is held for ``agent.repeat`` calls before another is
        drawn; :meth:`reset` says that an episode begins.

        Parameters
        ----------
        observation : object
            An observation, or a batch of them, as vector environments return them.
        deterministic : bool, default False
            Whether to take the likeliest action instead of drawing one from the policy.
        action_masks : array_like of bool, optional
            Which actions are allowed; those that were when the state was met unless given.

        Returns
        -------
        object
            An action, or a batch of actions.

        Raises
        ------
        Error
            If the agent has not seen anything yet.
        """
        return self._actor.act(observation, deterministic, action_masks)

    def reset(self) -> None:
        """Say that an episode begins: an action that is held is let go.

        :class:`ide3al.wrappers.Follow` says so whenever its environment is reset.
        """
        self._actor.reset()

    def plan(
        self,
        reward: Any = None,
        goal: Any = None,
        *,
        avoid: Any = None,
        discount: float | None = None,
        average: bool = False,
        within: int | None = None,
        untried: Untried = "worthless",
        confidence: float = 0.95,
        reward_range: tuple[float, float] | None = None,
        tolerance: float = 1e-9,
        time_limit: float | None = None,
    ) -> LearnedPlan:
        """Plan for a reward or a goal from what was explored.

        Parameters
        ----------
        reward : array_like or callable, optional
            The environment's own rewards when left out. An array (S,) is earned by every step taken
            in a state, (S, A) by its actions, (S, A, S) by transitions; a function of the
            observation reached, or of observation, action and next observation.
        goal, avoid : optional
            Instead of a reward: an observation, a list of them, or a predicate of observations. The
            goal is worth one when it is reached, and ends the episode; so does what is to be
            avoided, for nothing.
        discount : float, optional
            Worth of a reward one step later; 0.99 when nothing else is maximised.
        average, within : optional
            Maximise the long-run average, or what the first so many steps earn.
        untried : {"worthless", "optimistic"}
            Actions that were never tried are not taken, or are worth the largest reward for ever.
        confidence : float
            Probability with which :attr:`LearnedPlan.interval` holds.
        reward_range : (float, float), optional
            Least and largest reward that there may be. Of a goal and an array it is known; without
            it there is no interval for the environment's own reward.
        tolerance, time_limit : float
            Wanted width of the bounds of the values in the estimated model, and most seconds.

        Returns
        -------
        LearnedPlan
            The policy with its value, an interval for the value in the true environment,
            ``predict``, ``evaluate`` and ``save``.

        Raises
        ------
        Error
            If the agent was not fitted, rewards are not finite or of the wrong shape, or a goal was
            never met.
        """
        agent = self.fitted()
        tally = self.tally if self.partition is None else _partition_tally(self.partition)
        if self.partition is None and self.action_encoder is None:
            raise Error("give env=... to load, or fit, before planning")
        actions = self.action_encoder if self.partition is None else self.partition.actions
        assert actions is not None
        decoder = Decoder(self.encoder, actions, self.partition, agent.n_states)
        return plan_learned(
            tally, decoder, actions.size, reward, goal, avoid=avoid, discount=discount,
            average=average, within=within, untried=untried, confidence=confidence,
            reward_range=reward_range, tolerance=tolerance, time_limit=time_limit, seed=self.seed,
        )  # fmt: skip

    def account(self, env: Any, steps: int = 10_000, seed: int = 0) -> Account:
        """Follow what was learned in a continuous environment, and compare with what was predicted.

        Parameters
        ----------
        env : gymnasium.Env
            The environment.
        steps : int, default 10000
            Number of steps to take.
        seed : int, default 0
            Seed of the environment.

        Returns
        -------
        Account
            The shares of time in every cell, predicted and realised.

        Raises
        ------
        Error
            If the agent's environment is finite, or ``steps`` are fewer than 10.
        """
        if self.partition is None:
            raise Error(
                "account: this agent's environment is finite; there are no cells to account for"
            )
        if steps < 10:
            raise Error(f"steps = {steps}: at least 10 are needed")
        self.reset()
        predicted = np.asarray(self.metrics["stationary"], dtype=np.float64)
        partition, learner = self.partition, self.fitted()

        def choose(vector: Floats) -> int:
            return learner.draw(partition.find(vector, learner.n_states))

        return account(partition, predicted, choose, env, steps, seed)


def _partition_tally(partition: AdaptivePartition) -> TransitionTally:
    """What was tried and earned in a continuous environment, between the current cells."""
    tally = TransitionTally()
    rows, earned, starts = partition.decisions()
    if np.isnan(earned).any():
        raise Error("this agent was saved by a version that kept no rewards; fit it again to plan")
    for state in starts.tolist():
        tally.begin(state)
    for (state, action, reached, ended), reward in zip(rows.tolist(), earned.tolist(), strict=True):
        tally.record(state, action, reward, reached, bool(ended))
    return tally
