"""The built-in domains."""

from __future__ import annotations

from .. import _ide3al


def domains() -> dict[str, dict[str, str]]:
    """List the built-in domains.

    Returns
    -------
    dict
        Each name with its parameters and their defaults.

    Examples
    --------
    >>> import ide3al
    >>> ide3al.domains()["single-chain"]
    {'states': '10', 'slip': '0.1'}
    """
    return {name: dict(parameters) for name, _, parameters in _ide3al.domains()}
