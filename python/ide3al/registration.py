"""The names under which Gymnasium knows the built-in domains. Light: whoever registers need not
load the environments."""

from __future__ import annotations

from . import _ide3al
from ._extras import need

_VERSION = 0


def environment_id(domain: str) -> str:
    """``double-chain`` -> ``ide3al/DoubleChain-v0``."""
    return f"ide3al/{''.join(part.title() for part in domain.split('-'))}-v{_VERSION}"


def register() -> None:
    """Registers every built-in domain; done once, whoever asks."""
    gymnasium = need("gymnasium", "gymnasium")
    for name, _, _ in _ide3al.domains():
        identifier = environment_id(name)
        if identifier not in gymnasium.registry:
            gymnasium.register(
                id=identifier,
                entry_point="ide3al.envs:ModelEnv",
                vector_entry_point="ide3al.envs:ModelVectorEnv",
                kwargs={"model": name},
            )
