"""Data sets in Minari's format."""

from __future__ import annotations

import copy
import os
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._extras import need
from ..._ide3al import Error
from ...encoding.discrete import SpaceIndex
from ..card import CARD, Card, card_text
from ..transitions import Transitions, observed

#: Spaces that Minari can write down.
_SPACES = ("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Text", "Dict", "Tuple")


def minari_can_hold(observations: Any, actions: Any, dataset_id: str) -> None:
    """Refuses spaces that Minari cannot write down, before anything is collected."""
    for kind, space in (("observation", observations), ("action", actions)):
        found = _foreign(space, "")
        if found is not None:
            place, inner = found
            where = f" (in {place})" if place else ""
            raise Error(
                f"dataset_id = {dataset_id!r}: Minari cannot write down {kind}s of "
                f"{type(inner).__name__}{where}; leave that part out, for example with "
                "gymnasium.wrappers.FilterObservation(env, [...]) or minigrid.wrappers."
                "ImgObsWrapper(env), or keep the data with out=..."
            )


def minari_can_hold_rewards(objectives: int, dataset_id: str) -> None:
    """Refuses rewards of several numbers."""
    if objectives > 1:
        raise Error(
            f"dataset_id = {dataset_id!r}: rewards have {objectives} numbers each, and Minari holds "
            "one; weigh them, with mo_gymnasium.wrappers.LinearReward(env, weight=...) before "
            "collecting or data.replace(rewards=data.rewards @ weights, raw=None) after, or keep "
            "the data with out=..."
        )


def _foreign(space: Any, place: str) -> tuple[str, Any] | None:
    """The first part that is of no kind that Minari knows."""
    if type(space).__name__ not in _SPACES or type(space).__module__.split(".")[0] != "gymnasium":
        return place, space
    parts = getattr(space, "spaces", None)
    if parts is None:
        return None
    named = parts.items() if isinstance(parts, Mapping) else enumerate(parts)
    for name, part in named:
        found = _foreign(part, f"{place}/{name}" if place else str(name))
        if found is not None:
            return found
    return None


def minari_folder(dataset_id: str, overwrite: bool = False) -> tuple[Any, Path]:
    """Minari's module, and where the data set will lie; an error if there is one already."""
    minari = need("minari", "minari")
    try:
        need("minari.dataset.minari_dataset", "minari").parse_dataset_id(dataset_id)
    except (ValueError, TypeError) as problem:
        raise Error(f"dataset_id = {dataset_id!r}: {problem}") from None
    folder = Path(need("minari.storage.local", "minari").get_dataset_path(dataset_id))
    if folder.exists() and not overwrite:
        raise Error(
            f"dataset_id = {dataset_id!r}: exists already; choose another name or version, or "
            "replace it with overwrite=True"
        )
    return minari, folder


def unfinished(dataset_id: str) -> Path:
    """The folder in which a data set is collected until it is whole; Minari passes over it."""
    folder = minari_folder(dataset_id, True)[1]
    root = folder.parents[dataset_id.count("/")]
    return root / ".ide3al" / dataset_id.replace("/", "+")


def write_minari(
    data: Transitions, card: Card, dataset_id: str, env: Any, overwrite: bool = False
) -> Any:
    """Built out of sight and moved into place at once."""
    minari, folder = minari_folder(dataset_id, overwrite)
    if len(data) == 0:
        raise Error("a Minari data set needs at least one step")
    spec = _single_spec(env)
    spaces = _spaces(data, env)
    minari_can_hold(*spaces, dataset_id)
    minari_can_hold_rewards(data.rewards.shape[1] if data.rewards.ndim > 1 else 1, dataset_id)
    buffers = _minari_episodes(data, spaces, minari.data_collector.EpisodeBuffer)
    root = folder.parents[dataset_id.count("/")]
    hidden = unfinished(dataset_id) / f"building-{os.getpid()}"
    try:
        made = hidden / dataset_id
        made.mkdir(parents=True)
        with warnings.catch_warnings():
            # an environment whose arguments cannot be written down is left out, which is no harm
            warnings.simplefilter("ignore")
            # images as they are: Minari's default compresses them and changes their numbers
            storage = need("minari.dataset.minari_storage", "minari").MinariStorage.new(
                made / "data", *spaces, env_spec=spec, jpeg_encoding=False
            )
            storage.update_metadata(
                {
                    "dataset_id": dataset_id,
                    "minari_version": minari.__version__,
                    "algorithm_name": str(data.about.get("policy", {}).get("name", "policy")),
                    "description": f"{len(data)} steps; {100 * data.coverage:.1f} % of "
                    "state-action pairs seen",
                    "requirements": ["ide3al"],
                    CARD: card_text(card),
                }
            )
            storage.update_episodes(buffers)
        folder.parent.mkdir(parents=True, exist_ok=True)
        for namespace in list(Path(dataset_id).parents)[:-1]:
            described = root / namespace / "namespace_metadata.json"
            if not described.exists():
                described.write_text("{}")
        if folder.exists():
            # the old one lies out of sight until the new one is in its place
            os.rename(folder, hidden / "replaced")
        os.rename(made, folder)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        _remove_empty(hidden.parent, root)
    return minari.load_dataset(dataset_id)


def _single_spec(env: Any) -> Any:
    """How one environment is made, where that is known; Minari makes one to look at it."""
    spec = getattr(env, "spec", None)
    if spec is None or not hasattr(env, "num_envs"):
        return spec
    single = copy.deepcopy(spec)
    for name in ("num_envs", "vectorization_mode", "vector_kwargs"):
        single.kwargs.pop(name, None)
    return single


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _spaces(data: Transitions, env: Any) -> tuple[Any, Any]:
    """Spaces of what is written: the environment's own, where its steps were kept raw."""
    if data.raw is not None and data.raw.spaces is not None:
        return data.raw.spaces
    named = (
        getattr(env, f"single_{kind}_space", getattr(env, f"{kind}_space", None))
        for kind in ("observation", "action")
    )
    found = (data.spaces if data.raw is None else None) or tuple(named)
    if None in found:
        raise Error("the spaces of these data are not known; give env=...")
    return found[0], found[1]


def _minari_episodes(data: Transitions, spaces: tuple[Any, Any], buffer: Any) -> list[Any]:
    if data.raw is not None:
        return _raw_episodes(data, buffer)
    observations = observed(data.replace(spaces=spaces))
    if observations is None:
        raise Error("the observation space of these data is not known; give env=...")
    actions = SpaceIndex(spaces[1])
    tried = [actions.element(a) for a in range(actions.size)]
    episodes = []
    for k, episode in enumerate(data.episodes()):
        going = [False] * (len(episode) - 1)
        episodes.append(
            buffer(
                id=k,
                observations=_stack([observations[s] for s in episode.states.tolist()]),
                actions=_stack([tried[a] for a in episode.actions.tolist()]),
                rewards=episode.rewards.tolist(),
                terminations=[*going, episode.terminated],
                truncations=[*going, not episode.terminated],
            )
        )
    return episodes


def _raw_episodes(data: Transitions, buffer: Any) -> list[Any]:
    """Steps as the environment took and gave them."""
    assert data.raw is not None
    ends = data.bounds[1:] - 1
    episodes = []
    for k, raw in enumerate(data.raw.episodes()):
        terminated = bool(data.terminations[ends[k]])
        going = [False] * (len(raw.rewards) - 1)
        episodes.append(
            buffer(
                id=k,
                observations=_listed(raw.observations),
                actions=_listed(raw.actions),
                rewards=raw.rewards.tolist(),
                terminations=[*going, terminated],
                truncations=[*going, not terminated],
            )
        )
    return episodes


def _listed(batch: Any) -> Any:
    """Batches of strings as lists, which Minari takes."""
    if isinstance(batch, Mapping):
        return {name: _listed(part) for name, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_listed(part) for part in batch)
    return batch.tolist() if batch.dtype.kind == "U" else batch


def _stack(elements: list[Any]) -> Any:
    """One array of many elements, part by part for tuples and dictionaries."""
    first = elements[0]
    if isinstance(first, dict):
        return {name: _stack([element[name] for element in elements]) for name in first}
    if isinstance(first, tuple):
        return tuple(_stack(list(part)) for part in zip(*elements, strict=True))
    if isinstance(first, str):
        return elements
    return np.stack(elements)
