"""Data that others collected: read, and described by the same card."""

from __future__ import annotations

from typing import Any

from .._ide3al import Error
from .coverage import Coverage, coverage_report
from .dataset import Data
from .numbering import StateFunction
from .reading import HasPartition, read


def audit(
    dataset: Any,
    *,
    env: Any = None,
    states: StateFunction | HasPartition | None = None,
    until: Coverage | None = None,
) -> Data:
    """Describe a data set that anybody collected by a card.

    Parameters
    ----------
    dataset : Data, str, path-like, mapping or minari.MinariDataset
        The data: a Minari data set or its id, a file that ends in ``.npz`` or ``.parquet``, the
        folder of a collection, or a dictionary of arrays.
    env : gymnasium.Env, optional
        The environment, whose spaces say how states and actions are numbered.
    states : callable or Agent, optional
        For observations that are not finite: a function from an observation to whatever
        distinguishes its state, or an agent that was fitted in the continuous environment, whose
        cells and actions are taken then (the action nearest to each).
    until : Coverage, optional
        A promise to hold the data to. The card then names what falls short and the certified least
        number of further steps, in the model that the data suggest.

    Returns
    -------
    Data
        The data with their card: save it with ``save("card.html")``, fill the gaps with
        :func:`collect` and ``initial_data``.

    Raises
    ------
    Error
        If the data cannot be read, or are empty.

    Examples
    --------
    >>> import ide3al
    >>> data = ide3al.audit({"observations": [0, 1], "actions": [0, 0], "terminations": [0, 1],
    ...                      "next_observations": [1, 2]})
    >>> data.card["states"]["met"]
    3
    """
    data = read(dataset, env=env, states=states)
    if len(data) == 0:
        raise Error("the data set is empty: there is nothing to audit")
    claim = data.about.get("promise")
    if until is None and claim is not None:
        # what a file says of itself is computed anew, or not repeated
        until = _promised(claim)
        if until is None:
            about = {name: value for name, value in data.about.items() if name != "promise"}
            return data.replace(about=about)
    if until is None:
        return data
    return data.replace(about={**data.about, "promise": coverage_report(data, until)})


def _promised(claim: Any) -> Coverage | None:
    """The promise that a card speaks of; None where it is damaged, or names states, of which a card
    has the texts only."""
    wanted = claim.get("wanted") if isinstance(claim, dict) else None
    if not isinstance(wanted, dict) or "states" in wanted:
        return None
    try:
        return Coverage(**wanted)
    except (TypeError, ValueError):
        return None
