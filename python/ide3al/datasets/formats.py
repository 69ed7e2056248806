"""Data sets as others keep them: Minari, NPZ, Parquet, d3rlpy."""

from __future__ import annotations

import ast
import io
import json
import os
import shutil
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import need
from .._ide3al import Error
from ..encoding.discrete import SpaceIndex, from_key, literal
from .card import card_text

if TYPE_CHECKING:
    from .dataset import Data

#: Metadata key of the card.
CARD = "ide3al_card"


def npz_bytes(data: Data) -> bytes:
    """NumPy's archive: the six arrays, numbers of states and actions, what was met, the card."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {
        "observations": data.observations,
        "actions": data.actions,
        "rewards": data.rewards,
        "next_observations": data.next_observations,
        "terminations": data.terminations,
        "truncations": data.truncations,
        "n_states": np.int64(data.n_states),
        "n_actions": np.int64(data.n_actions),
        "card": np.array(card_text(data.card)),
    }
    if data.states is not None:
        arrays["states"] = np.array(literal(data.states))
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def frame(data: Data) -> Any:
    """A Polars frame, one row per step."""
    polars = need("polars", "polars")
    bounds = data.bounds
    lengths = np.diff(bounds)
    episode = np.repeat(np.arange(lengths.size), lengths)
    return polars.DataFrame(
        {
            "episode": episode,
            "step": np.arange(len(data)) - bounds[:-1][episode],
            "observation": data.observations,
            "action": data.actions,
            "reward": data.rewards,
            "next_observation": data.next_observations,
            "terminated": data.terminations,
            "truncated": data.truncations,
        }
    )


def parquet_bytes(data: Data) -> bytes:
    """Parquet with the card in its metadata."""
    about = {
        CARD: card_text(data.card),
        "n_states": str(data.n_states),
        "n_actions": str(data.n_actions),
    }
    if data.states is not None:
        about["states"] = literal(data.states)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # Polars calls the metadata experimental
        warnings.simplefilter("ignore")
        frame(data).write_parquet(buffer, metadata=about)
    return buffer.getvalue()


def d3rlpy_dataset(data: Data) -> Any:
    """``MDPDataset`` of d3rlpy: observations as one number (or as the arrays they were), actions by number."""
    dataset = need("d3rlpy.dataset", "d3rlpy")
    constants = need("d3rlpy.constants", "d3rlpy")
    observations = data.observations[:, None].astype(np.float32)
    elements = observed(data)
    if elements is not None and isinstance(elements[0], np.ndarray) and elements[0].ndim:
        table = np.stack([np.ravel(element) for element in elements]).astype(np.float32)
        observations = table[data.observations]
    ends = np.zeros(len(data), dtype=np.bool_)
    ends[data.bounds[1:] - 1] = True
    return dataset.MDPDataset(
        observations=observations,
        actions=data.actions[:, None],
        rewards=data.rewards[:, None].astype(np.float32),
        terminals=data.terminations.astype(np.float32),
        timeouts=(ends & ~data.terminations).astype(np.float32),
        action_space=constants.ActionSpace.DISCRETE,
        action_size=data.n_actions,
    )


def observed(data: Data) -> list[Any] | None:
    """The observation of each state, where it can be told."""
    if data.spaces is None:
        return None
    space = data.spaces[0]
    if data.states is not None:
        return [from_key(space, key) for key in data.states]
    index = SpaceIndex(space)
    return [index.element(s) for s in range(index.size)]


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


def write_minari(data: Data, dataset_id: str, env: Any) -> Any:
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
            dataset.storage.update_metadata({CARD: card_text(data.card)})
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


def _minari_episodes(data: Data, spaces: tuple[Any, Any], buffer: Any) -> list[Any]:
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


def read_npz(name: str) -> dict[str, Any]:
    """All arrays of an archive by name."""
    try:
        with np.load(name, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except OSError as problem:
        raise Error(f"{name}: cannot read: {problem}") from None
    except (
        ValueError,
        EOFError,
        KeyError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
    ) as problem:
        raise Error(
            f"{name}: this is no NPZ file of arrays, or it is cut or damaged: {problem}"
        ) from None


def read_parquet(name: str) -> dict[str, Any]:
    """Columns and metadata of a Parquet file under the names of the arrays in an NPZ."""
    polars = need("polars", "polars")
    try:
        table = polars.read_parquet(name)
        about = dict(polars.read_parquet_metadata(name))
    except OSError as problem:
        raise Error(f"{name}: cannot read: {problem}") from None
    except polars.exceptions.PolarsError as problem:
        raise Error(
            f"{name}: this is no Parquet file, or it is cut or damaged: {problem}"
        ) from None
    arrays: dict[str, Any] = {column: table[column].to_numpy() for column in table.columns}
    for key in ("n_states", "n_actions"):
        if key in about:
            arrays[key] = np.int64(about[key])
    for key, inside in (("states", "states"), (CARD, "card")):
        if key in about:
            arrays[inside] = np.array(about[key])
    return arrays


def read_keys(text: str, source: str) -> tuple[Any, ...]:
    """What was met, as :func:`literal` wrote it."""
    try:
        return tuple(ast.literal_eval(text))
    except (ValueError, SyntaxError) as problem:
        raise Error(f"{source}: states: damaged: {problem}") from None


def read_card(text: str, source: str) -> dict[str, Any]:
    """A card as :func:`card_text` wrote it."""
    try:
        card = json.loads(text)
        if not isinstance(card, dict):
            raise ValueError("no object")
    except ValueError as problem:
        raise Error(f"{source}: card: damaged: {problem}") from None
    return card
