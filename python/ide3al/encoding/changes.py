"""Whether an environment changes between episodes: a maze that is drawn anew with each reset."""

from __future__ import annotations

import math

#: Pairs beyond which no more are watched, so that memory stays bounded.
_WATCHED = 200_000
#: Standard deviations by which steps must differ more often from one episode to the next than
#: within one: chance brings four in one of thirty thousand runs.
_DEVIATIONS = 4.0
#: Expected differences within episodes without which nothing is said.
_EXPECTED = 20.0

NOTE = (
    "the environment changes between episodes: the same state and action lead elsewhere in another "
    "episode, but not within one, as in mazes that are drawn anew with each reset; what was learned "
    "is an average over them. Fix the layout with a seed, or observe all of it: "
    "ide3al.wrappers.State(env, seed=0)"
)


class EpisodeChanges:
    """Compares where a state and action lead with where they led the time before.

    In a stationary environment two tries of a pair differ with the same probability whether or not
    a reset lies between them. Per pair: the last next state and its episode, and how many tries
    were compared and differed, within an episode and across.
    """

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, int], list[int]] = {}
        self._episode = 0

    def begin(self) -> None:
        """An episode begins."""
        self._episode += 1

    def step(self, state: int, action: int, following: int) -> None:
        """An action was tried."""
        known = self._pairs.get((state, action))
        if known is None:
            if len(self._pairs) < _WATCHED:
                self._pairs[state, action] = [following, self._episode, 0, 0, 0, 0]
            return
        place = 2 if known[1] == self._episode else 4
        known[place] += 1
        known[place + 1] += known[0] != following
        known[0], known[1] = following, self._episode

    @property
    def found(self) -> bool:
        """Whether differences across episodes are too many for what happens within them."""
        expected = variance = 0.0
        seen = 0
        for _, _, within, differed, across, across_differed in self._pairs.values():
            if within and across:
                share = across_differed / (across + 1)
                expected += within * share
                # of the estimated share as well as of the tries
                variance += within * share * (1 - share) * (1 + within / across)
                seen += differed
        enough = expected >= _EXPECTED and seen < 0.5 * expected
        return enough and expected - seen > _DEVIATIONS * math.sqrt(variance + 1.0)
