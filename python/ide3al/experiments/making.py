"""Functions that make environments, in any process."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._check import check_environment
from .._extras import need
from .._ide3al import Error


@dataclass(frozen=True)
class _Made:
    """Makes environments by their specification, in any process."""

    spec: Any
    packages: tuple[str, ...]

    def __call__(self) -> Any:
        for package in self.packages:
            importlib.import_module(package)
        gymnasium = need("gymnasium", "gymnasium")
        try:
            return gymnasium.make(self.spec)
        except gymnasium.error.Error as problem:
            raise Error(f"env: {problem}") from None


def maker_of(env: Any) -> Callable[[], Any]:
    """What makes an environment: of its id, or as often as one that is given; a function itself."""
    if isinstance(env, str):
        return _Made(env, ())
    if callable(env) and not hasattr(env, "observation_space"):
        return env  # type: ignore[no-any-return]
    check_environment(env)
    if hasattr(env, "num_envs"):
        raise Error("env: give one environment; runs are done side by side anyway")
    if getattr(env, "spec", None) is None:
        # the one there is, again and again
        return lambda: env
    package = type(env.unwrapped).__module__.split(".")[0]
    return _Made(env.spec, () if package in ("gymnasium", "__main__") else (package,))
