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
    """The card of a data set that anybody collected, as ``audit(...).card``: what it covers, what is missing. ``until`` is a
    promise to hold it to, such as ``ide3al.Coverage(each_pair=50)``: the card then names what falls short and the certified least
    number of further steps, in the model that the data suggest.

    What is returned is the data set itself, read: save its card with ``save("card.html")``, fill its gaps with
    ``ide3al.collect(env, agent, until=..., complete=...)``."""
    data = read(dataset, env=env, states=states)
    if len(data) == 0:
        raise Error("the data set is empty: there is nothing to audit")
    if until is None:
        return data
    return data.replace(about={**data.about, "promise": coverage_report(data, until)})
