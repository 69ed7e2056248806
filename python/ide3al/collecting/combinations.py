"""Which arguments of a collection go together."""

from __future__ import annotations

from typing import Any

from .._ide3al import Error
from ..agents.base import Agent


def check_combination(
    policy: Any,
    learn: bool,
    resume: bool,
    overwrite: bool,
    until: Any,
    complete: Any,
    out: Any,
    dataset_id: str | None,
    engine: str | None,
    workers: int | None,
) -> None:
    """Refuses arguments that exclude each other, or that need another one."""
    if resume and overwrite:
        raise Error("resume, overwrite: one goes on, the other begins anew; give one of them")
    if learn and not isinstance(policy, Agent):
        raise Error("learn: only an agent can; give one, such as ide3al.IDE3AL()")
    if learn and (resume or until is not None or complete is not None):
        raise Error(
            "learn: an agent that learns from its own steps takes no resume, until or initial_data; leave one out"
        )
    if resume and out is None and dataset_id is None:
        raise Error("resume: give the out or dataset_id of the collection to go on with")
    if engine not in (None, "local", "ray"):
        raise Error(f"engine = {engine!r}: 'local' and 'ray' are known")
    if workers is not None and engine != "ray":
        raise Error(
            'workers: only with engine="ray"; for many environments here give gymnasium.make_vec(...)'
        )
