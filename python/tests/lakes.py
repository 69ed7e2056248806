"""A frozen lake, many of them, and what makes two data sets the same."""

import gymnasium
import numpy as np

from ide3al.datasets.card import card_text

LAKE = np.full((16, 4), 0.25)
ARRAYS = ("observations", "actions", "rewards", "next_observations", "terminations", "truncations")


def lake(**options):
    return gymnasium.make("FrozenLake-v1", **options)


def lakes(mode="sync", n=4, **options):
    return gymnasium.make_vec("FrozenLake-v1", num_envs=n, vectorization_mode=mode, **options)


def same(first, second):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    assert card_text(first.card) == card_text(second.card)
