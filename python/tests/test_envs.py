"""The built-in domains in Gymnasium."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import ide3al
from ide3al.envs import environment_id, register

register()


@pytest.mark.parametrize("domain", sorted(ide3al.domains()))
def test_check_env_and_table(domain):
    env = gymnasium.make(environment_id(domain))
    check_env(env.unwrapped, skip_render_check=True)
    assert ide3al.MDP.from_gymnasium(env) == _plain(ide3al.MDP.domain(domain))


def _plain(mdp):
    """Without names and map."""
    states, actions = mdp.pairs
    return ide3al.MDP(mdp.sparse(), mdp.start, s_indices=states, a_indices=actions)


def test_steps_follow_the_model():
    env = gymnasium.make("ide3al/RiverSwim-v0", states=4)
    state, _ = env.reset(seed=1)
    table, seen = env.unwrapped.P, np.zeros((4, 2, 4))
    for _ in range(5000):
        action = env.action_space.sample() if _ else 1
        following, reward, terminated, truncated, _info = env.step(action)
        assert reward == 0 and not terminated and not truncated
        seen[state, action, following] += 1
        state = following
    for s in range(4):
        for a in range(2):
            n = seen[s, a].sum()
            if n > 300:
                for p, t, _r, _d in table[s][a]:
                    assert seen[s, a, t] / n == pytest.approx(p, abs=0.1)


def test_wrong_use_is_refused():
    env = gymnasium.make("ide3al/DoubleChain-v0").unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(gymnasium.error.InvalidAction):
        env.step(2)
    with pytest.raises(ide3al.Error, match="did you mean 'states'"):
        gymnasium.make("ide3al/DoubleChain-v0", sttes=5)


def test_vectorised_steps_follow_the_model():
    env = gymnasium.make_vec(
        "ide3al/Garnet-v0", num_envs=4000, vectorization_mode="vector_entry_point", states=7
    )
    mdp, rng = env.unwrapped.mdp, np.random.default_rng(0)
    states, _ = env.reset(seed=5)
    assert states.shape == (4000,)
    seen = np.zeros((7, 4, 7))
    for _ in range(10):
        actions = rng.integers(0, 4, 4000)
        following, rewards, terminated, truncated, _info = env.step(actions)
        assert not rewards.any() and not terminated.any() and not truncated.any()
        np.add.at(seen, (states, actions, following), 1)
        states = following
    dense, totals = mdp.dense(), seen.sum(axis=2, keepdims=True)
    assert not seen[dense == 0].any()
    enough = totals[..., 0] > 300
    assert enough.any()
    assert np.abs(seen / np.maximum(totals, 1) - dense)[enough].max() < 0.1
    again = gymnasium.make_vec(
        "ide3al/Garnet-v0", num_envs=3, vectorization_mode="vector_entry_point"
    )
    first = [again.reset(seed=1)[0], again.step(np.zeros(3, dtype=np.int64))[0]]
    second = [again.reset(seed=1)[0], again.step(np.zeros(3, dtype=np.int64))[0]]
    np.testing.assert_array_equal(first, second)
    with pytest.raises(gymnasium.error.InvalidAction):
        again.step(np.full(3, 9))
