"""Data sets that anybody collected, read from wherever they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._extras import need
from .._ide3al import Error
from ..encoding.adaptive import AdaptivePartition
from ..encoding.discrete import DiscoveredStates, SpaceIndex
from ..encoding.partitioned import TERMINAL_KEY, PartitionEncoder
from ..encoding.raw import RawEpisode
from .arrays import data_from_arrays
from .card import CARD, about_of, read_card
from .dataset import Data, joined
from .episode import Episode
from .formats.registry import FORMATS
from .numbering import StateFunction, index_of, numbers_in, spaces_of


@runtime_checkable
class HasPartition(Protocol):
    """What knows the cells of a continuous environment: an agent."""

    @property
    def partition(self) -> AdaptivePartition | None: ...


def read(
    dataset: Any, *, env: Any = None, states: StateFunction | HasPartition | None = None
) -> Data:
    """A data set as :class:`Data`: that itself, the id of a Minari data set or one that was loaded,
    a file ending in ``.npz`` or ``.parquet``, the folder of a collection, or a dictionary of
    arrays.

    States are numbered by the spaces of ``env`` or of the data set, or as they are met. ``states``
    is the abstraction for observations that are not finite: a function from an observation to
    whatever tells its state, or an agent that was fitted in the continuous environment, whose cells
    and actions it is then (the action nearest to each)."""
    if isinstance(states, HasPartition):
        states = PartitionEncoder(_partition_of(states))
    if isinstance(dataset, Data):
        return dataset
    if isinstance(dataset, Mapping):
        return data_from_arrays(dict(dataset), "the arrays", env, states)
    if isinstance(dataset, str | os.PathLike):
        name = os.fspath(dataset)
        path = Path(name)
        if path.is_dir():
            path = path / "data.npz"
            if not path.exists():
                raise Error(
                    f"{name}: holds no data.npz: the collection is not finished; go on with resume=True"
                )
            name = str(path)
        for suffix, dataset_format in FORMATS.items():
            if name.endswith(suffix):
                return data_from_arrays(dataset_format.read(name), name, env, states)
        if path.suffix in (".h5", ".hdf5", ".json", ".html", ".csv", ".pkl"):
            raise Error(
                f"{name}: cannot read {path.suffix}; give an .npz or .parquet file, or the id of a Minari data set"
            )
        minari = need("minari", "minari")
        try:
            dataset = minari.load_dataset(name)
        except FileNotFoundError:
            raise Error(
                f"{name!r}: there is no such Minari data set here, and no file of that name ends in .npz or .parquet; "
                "minari.list_local_datasets() lists what there is"
            ) from None
        except Exception as problem:  # whatever a damaged folder makes Minari raise
            raise Error(
                f"{name!r}: Minari cannot load it: {type(problem).__name__}: {problem}"
            ) from None
    if hasattr(dataset, "iterate_episodes"):
        return _from_minari(dataset, env, states)
    raise Error(
        f"{type(dataset).__name__}: give Data, a Minari data set or its id, an .npz or .parquet file, or a dictionary of arrays"
    )


def _partition_of(agent: HasPartition) -> AdaptivePartition:
    if agent.partition is None:
        raise Error(
            "states: this agent has no cells: it was not fitted in a continuous environment, or is to be loaded with env=..."
        )
    return agent.partition


def _stored(dataset: Any) -> Iterator[Any]:
    """The episodes of a Minari data set; what a damaged file makes others raise is told as such."""
    try:
        yield from dataset.iterate_episodes()
    except (OSError, KeyError, ValueError, RuntimeError) as problem:
        name = dataset.storage.metadata.get("dataset_id", "the data set")
        raise Error(f"{name!r}: cut or damaged: {type(problem).__name__}: {problem}") from None


def _from_minari(dataset: Any, env: Any, states: StateFunction | None) -> Data:
    spaces = dataset.observation_space, dataset.action_space
    wanted = spaces_of(env)
    for kind, theirs, ours in zip(("observation", "action"), spaces, wanted, strict=True):
        if ours is not None and states is None and theirs != ours:
            raise Error(
                f"the data set's {kind} space is {theirs}, the environment's {ours}: these data are of another environment"
            )
    index = index_of(spaces[0], states)
    actions = states.actions if isinstance(states, PartitionEncoder) else SpaceIndex(spaces[1])
    episodes = []
    for k, episode in enumerate(_stored(dataset)):
        numbers = numbers_in(episode.observations, index, states)
        tried = numbers_in(episode.actions, actions, None)
        if len(numbers) != len(tried) + 1:
            raise Error(
                f"episode {k}: {len(numbers)} observations and {len(tried)} actions; one observation more is needed"
            )
        terminated = bool(np.asarray(episode.terminations)[-1]) if len(tried) else False
        if (
            terminated
            and isinstance(states, PartitionEncoder)
            and isinstance(index, DiscoveredStates)
        ):
            numbers[-1] = index.take(TERMINAL_KEY)
        rewards = np.asarray(episode.rewards, dtype=np.float64)
        raw = None
        if isinstance(states, PartitionEncoder):
            each = np.ones(len(tried), dtype=np.int64)
            raw = RawEpisode(episode.observations, episode.actions, rewards, each)
        episodes.append(Episode(numbers, tried, rewards, terminated, not terminated, raw=raw))
    metadata = dataset.storage.metadata
    about: dict[str, Any] = {}
    if CARD in metadata:
        about = about_of(read_card(str(metadata[CARD]), str(metadata.get("dataset_id"))))
    else:
        spec = getattr(dataset, "env_spec", None)
        about["environment"] = str(
            getattr(spec, "id", None) or metadata.get("dataset_id", "unknown")
        )
        about["policy"] = {"name": str(metadata.get("algorithm_name", "unknown"))}
    if isinstance(states, PartitionEncoder):
        about["abstraction"] = states.to_dict(repeat=1)
    found = tuple(index.keys) if isinstance(index, DiscoveredStates) else None
    data = joined(
        episodes, index.size, actions.size, found, about, spaces if states is None else None
    )
    if data.raw is not None:
        data = data.replace(raw=data.raw.replace(spaces=spaces))
    return data.replace(dataset=dataset)
