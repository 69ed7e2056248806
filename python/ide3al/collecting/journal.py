"""Episodes on disk while they are being collected: one file that only ever grows.

Every record carries its length and a checksum, and is written with one call. Whatever moment the
process dies at, the file holds all records reported as written and perhaps a torn one, which is cut
off when the file is opened again."""

from __future__ import annotations

import ast
import io
import json
import math
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .._archives import Archive
from .._check import file_name
from .._ide3al import Error
from ..datasets.episode import Episode
from ..encoding.discrete import literal
from ..encoding.raw import RawSteps
from ..runners.plan import Plan

_MAGIC = b"ide3al-episodes-3\n"
_FRAME = struct.Struct("<II")


class EpisodeJournal:
    """The episodes, and the plan they follow. ``setup`` says how the collection was set up: one
    that goes on must have been set up alike."""

    def __init__(self, path: Path, setup: dict[str, Any], resume: bool) -> None:
        self.path = path
        self.episodes: list[Episode] = []
        #: The last plan, with what was said of it.
        self.plan: Plan | None = None
        self.plan_info: list[dict[str, Any]] = []
        exists = path.exists()
        if exists and not resume:
            raise Error(
                f"{path}: a collection was begun here and not finished; go on with resume=True, or delete the file"
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "r+b" if exists else "x+b", buffering=0)
        except OSError as problem:
            raise Error(f"{path}: cannot write: {problem}") from None
        try:
            _alone(self._file, path)
            if exists:
                self._read(setup)
            else:
                self._file.write(_MAGIC)
                self._append({"kind": "setup", **setup})
        except BaseException:
            self._file.close()
            raise

    def add(self, episode: Episode) -> None:
        """Saved when this returns."""
        head = {
            "kind": "episode",
            "steps": len(episode),
            "terminated": episode.terminated,
            "truncated": episode.truncated,
            "plan": episode.plan,
        }
        if episode.found:
            head["found"] = literal(episode.found)
        body = episode.states.tobytes() + episode.actions.tobytes() + episode.rewards.tobytes()
        if episode.rewards.ndim > 1:
            head["rewards"] = episode.rewards.shape[1]
        if episode.allowed is not None:
            head["allowed"] = episode.allowed.shape[1]
            body += episode.allowed.tobytes()
        if episode.raw is not None:
            arrays, head["raw"] = RawSteps.of([episode.raw], None).to_arrays()
            body += _packed(arrays)
        self._append(head, body)
        self.episodes.append(episode)

    def record_plan(self, plan: Plan, info: dict[str, Any]) -> None:
        """The plan that the next episodes follow, with what is said of it."""
        head = {
            "kind": "plan",
            "number": plan.number,
            "shape": list(plan.table.shape),
            "info": info,
        }
        body = np.ascontiguousarray(plan.table).tobytes()
        self._append(head, body)
        self.plan = plan
        self.plan_info.append(info)

    def close(self) -> None:
        self._file.close()

    def _append(self, head: dict[str, Any], body: bytes = b"") -> None:
        text = json.dumps(head).encode()
        payload = struct.pack("<I", len(text)) + text + body
        record = memoryview(_FRAME.pack(len(payload), zlib.crc32(payload)) + payload)
        end = self._file.tell()
        try:
            while record:
                record = record[self._file.write(record) :]
        except OSError as problem:
            # a full disk: what was saved before stays whole
            self._file.truncate(end)
            self._file.seek(end)
            raise Error(
                f"{self.path}: cannot write: {problem}; {len(self.episodes)} episodes are saved"
            ) from None

    def _read(self, setup: dict[str, Any]) -> None:
        data = self._file.readall()
        if not data.startswith(_MAGIC):
            if not _MAGIC.startswith(data):
                raise Error(f"{self.path}: this is no collection of ide3al; choose another place")
            # died before anything was written
            data = b""
        at = len(_MAGIC) if data else 0
        first = True
        while at + _FRAME.size <= len(data):
            length, check = _FRAME.unpack_from(data, at)
            payload = data[at + _FRAME.size : at + _FRAME.size + length]
            if len(payload) < length:
                break
            if length < 4 or zlib.crc32(payload) != check:
                if at + _FRAME.size + length < len(data):
                    raise Error(
                        f"{self.path}: damaged at byte {at}, after {len(self.episodes)} episodes; more follows, so this is no "
                        f"write that was cut short. To go on without what follows, cut the file there: truncate -s {at}"
                    )
                break
            (size,) = struct.unpack_from("<I", payload)
            head = json.loads(payload[4 : 4 + size])
            self._take(head, payload[4 + size :], setup if first else None)
            first = False
            at += _FRAME.size + length
        # what follows the last whole record was being written when the process died
        self._file.truncate(at)
        self._file.seek(at)
        if at == 0:
            self._file.write(_MAGIC)
        if first:
            self._append({"kind": "setup", **setup})

    def _take(self, head: dict[str, Any], body: bytes, setup: dict[str, Any] | None) -> None:
        kind = head.pop("kind")
        if setup is not None:
            now = json.loads(json.dumps(setup))
            other = [name for name in {**head, **now} if head.get(name) != now.get(name)]
            if other:
                listed = "; ".join(
                    f"{name}: {head.get(name)!r} then, {now.get(name)!r} now" for name in other
                )
                raise Error(
                    f"{self.path}: this collection was begun with other settings ({listed}); use the same, or another place"
                )
        elif kind == "plan":
            shape = [int(n) for n in head["shape"]]
            table = np.frombuffer(body, dtype=np.float64, count=math.prod(shape)).reshape(shape)
            # an explorer is made again from the episodes, which are all here
            self.plan = Plan(int(head["number"]), table)
            self.plan_info.append(dict(head["info"]))
        elif kind == "episode":
            n = int(head["steps"])
            whole = np.frombuffer(body, dtype=np.int64, count=2 * n + 1)
            at = 8 * (2 * n + 1)
            numbers = n * int(head.get("rewards", 1))
            rewards = np.frombuffer(body, dtype=np.float64, offset=at, count=numbers)
            at += 8 * numbers
            allowed = raw = None
            if "allowed" in head:
                wide = int(head["allowed"])
                flags = np.frombuffer(body, dtype=np.bool_, offset=at, count=(n + 1) * wide)
                allowed, at = flags.reshape(n + 1, wide), at + (n + 1) * wide
            if "raw" in head:
                arrays = Archive(body[at:]).arrays()
                raw = next(RawSteps.from_arrays(arrays, head["raw"], str(self.path)).episodes())
            self.episodes.append(
                Episode(
                    states=whole[: n + 1],
                    actions=whole[n + 1 :],
                    rewards=rewards.reshape(n, -1) if "rewards" in head else rewards,
                    terminated=bool(head["terminated"]),
                    truncated=bool(head["truncated"]),
                    plan=int(head["plan"]),
                    found=tuple(ast.literal_eval(head["found"])) if "found" in head else (),
                    raw=raw,
                    allowed=allowed,
                )
            )


def _packed(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _alone(file: Any, path: Path) -> None:
    """Two processes must not write the same file."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Error(
            f"{path}: another process is collecting here; wait for it, or choose another place"
        ) from None


def collection_folder(out: str | os.PathLike[str]) -> Path:
    """The folder that a collection is kept in."""
    folder = Path(file_name("out", out))
    if folder.exists() and not folder.is_dir():
        raise Error(f"out = {str(folder)!r}: is a file; give a folder")
    return folder
