"""Data sets of Minari."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..._extras import need
from ..._ide3al import Error
from ...encoding.discrete import SpaceIndex
from ..card import CARD, Card, card_text
from ..transitions import Transitions, observed


def minari_folder(dataset_id: str) -> tuple[Any, Path]:
    """Minari's module, and where the data set will lie; an error if there is one already."""
    minari = need("minari", "minari")
    folder = Path(need("minari.storage.local", "minari").get_dataset_path(dataset_id))
    if folder.exists():
        raise Error(
            f"dataset_id = {dataset_id!r}: exists already; choose another name or version, or "
            "delete it with minari.delete_dataset"
        )
    return minari, folder


def unfinished(dataset_id: str) -> Path:
    """The folder in which a data set is collected until it is whole; Minari passes over it."""
    folder = minari_folder(dataset_id)[1]
    root = folder.parents[dataset_id.count("/")]
    return root / ".ide3al" / dataset_id.replace("/", "+")


def write_minari(data: Transitions, card: Card, dataset_id: str, env: Any) -> Any:
    """Built out of sight and moved into place at once."""
    minari, folder = minari_folder(dataset_id)
    if len(data) == 0:
        raise Error("a Minari data set needs at least one step")
    spec = getattr(env, "spec", None)
    spaces = data.spaces or (
        getattr(env, "observation_space", None),
        getattr(env, "action_space", None),
    )
    buffers = _minari_episodes(data, spaces, minari.data_collector.EpisodeBuffer)
    root = folder.parents[dataset_id.count("/")]
    hidden = unfinished(dataset_id) / f"building-{os.getpid()}"
    try:
        with _minari_root(hidden), warnings.catch_warnings():
            # asks for the author's address and the like, which are not ours to know
            warnings.simplefilter("ignore")
            dataset = minari.create_dataset_from_buffers(
                dataset_id,
                buffers,
                env=spec,
                observation_space=spaces[0],
                action_space=spaces[1],
                algorithm_name=str(data.about.get("policy", {}).get("name", "policy")),
                description=f"{len(data)} steps; {100 * data.coverage:.1f} % of state-action pairs seen",
                requirements=["ide3al"],
            )
            dataset.storage.update_metadata({CARD: card_text(card)})
        folder.parent.mkdir(parents=True, exist_ok=True)
        for part in Path(dataset_id).parents:
            inside = hidden / part / "namespace_metadata.json"
            if inside.exists() and not (root / part / inside.name).exists():
                shutil.copyfile(inside, root / part / inside.name)
        os.rename(hidden / dataset_id, folder)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        _remove_empty(hidden.parent, root)
    return minari.load_dataset(dataset_id)


@contextmanager
def _minari_root(root: Path) -> Iterator[None]:
    """Minari looks for its folder in the environment."""
    root.mkdir(parents=True, exist_ok=True)
    before = os.environ.get("MINARI_DATASETS_PATH")
    os.environ["MINARI_DATASETS_PATH"] = str(root)
    try:
        yield
    finally:
        if before is None:
            del os.environ["MINARI_DATASETS_PATH"]
        else:
            os.environ["MINARI_DATASETS_PATH"] = before


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _minari_episodes(data: Transitions, spaces: tuple[Any, Any], buffer: Any) -> list[Any]:
    elements = observed(data.replace(spaces=spaces))
    if elements is None:
        raise Error("the observation space of these data is not known; give env=...")
    actions = SpaceIndex(spaces[1])
    tried = [actions.element(a) for a in range(actions.size)]
    episodes = []
    for k, episode in enumerate(data.episodes()):
        going = [False] * (len(episode) - 1)
        episodes.append(
            buffer(
                id=k,
                observations=_stack([elements[s] for s in episode.states.tolist()]),
                actions=_stack([tried[a] for a in episode.actions.tolist()]),
                rewards=episode.rewards.tolist(),
                terminations=[*going, episode.terminated],
                truncations=[*going, not episode.terminated],
            )
        )
    return episodes


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
