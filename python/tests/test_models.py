"""Models from every kind of input are the same model; nothing is lost on the way to a file."""

import pickle
import tracemalloc
from fractions import Fraction

import gymnasium
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import ide3al


@st.composite
def dense_models(draw):
    """Random (S, A, S) arrays: sparse rows, and actions that some states lack."""
    n_states = draw(st.integers(1, 6))
    n_actions = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    P = rng.random((n_states, n_actions, n_states))
    P *= rng.random(P.shape) < 0.5
    for s in range(n_states):
        if not P[s].any():
            P[s, rng.integers(n_actions), rng.integers(n_states)] = 1.0
    sums = P.sum(axis=2, keepdims=True)
    return np.divide(P, sums, out=np.zeros_like(P), where=sums > 0)


@given(P=dense_models(), seed=st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_every_form_gives_the_same_model(P, seed):
    n_states, n_actions, _ = P.shape
    mdp = ide3al.MDP(P)
    np.testing.assert_allclose(mdp.dense()[:, : mdp.n_actions], P[:, : mdp.n_actions], atol=1e-15)
    tall = scipy.sparse.coo_array(P.reshape(-1, n_states))
    assert ide3al.MDP(tall) == mdp
    assert ide3al.MDP(scipy.sparse.csc_matrix(tall)) == mdp
    assert ide3al.MDP([scipy.sparse.csr_array(P[:, a]) for a in range(n_actions)]) == mdp
    # pairs in any order
    s, a = np.nonzero(P.any(axis=2))
    order = np.random.default_rng(seed).permutation(s.size)
    s, a = s[order], a[order]
    assert ide3al.MDP(P[s, a], s_indices=s, a_indices=a) == mdp
    assert ide3al.MDP(scipy.sparse.csr_array(P[s, a]), s_indices=s, a_indices=a) == mdp
    np.testing.assert_allclose(mdp.sparse().toarray(), P[mdp.pairs], atol=1e-15)


@given(P=dense_models())
@settings(max_examples=25, deadline=None)
def test_files_and_pickles_bring_the_model_back(P, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    start = np.arange(1.0, len(P) + 1)
    mdp = ide3al.MDP(P, start / start.sum())
    assert pickle.loads(pickle.dumps(mdp)) == mdp
    for ending in ("json", "npz", "tra", "umb"):
        mdp.save(folder / f"model.{ending}")
        again = ide3al.MDP.load(folder / f"model.{ending}")
        np.testing.assert_allclose(again.dense(), mdp.dense(), atol=1e-15)
        np.testing.assert_allclose(again.start, mdp.start, atol=1e-15)


def test_an_estimate_with_pairs_never_tried_is_pickled_as_it_is():
    environment = ide3al.envs.ModelEnv("four-rooms")
    estimate = ide3al.IDE3AL(seed=1).fit(environment, total_timesteps=60).model
    # rows of the pairs never tried are uniform and not written out
    assert estimate.nnz < estimate.n_pairs
    again = pickle.loads(pickle.dumps(estimate))
    assert again == estimate
    assert again.nnz == estimate.nnz
    np.testing.assert_array_equal(again.dense(), estimate.dense())
    assert ide3al.solve(again).objective == ide3al.solve(estimate).objective


def test_domains_by_name_with_parameters():
    assert ide3al.MDP.domain("double-chain").n_states == 20
    assert ide3al.MDP.domain("garnet", states=30, seed=3) == ide3al.MDP.domain(
        "garnet:states=30,seed=3"
    )
    assert "four-rooms" in ide3al.domains()
    rooms = ide3al.MDP.domain("four-rooms")
    assert rooms.layout.shape == (rooms.n_states, 2)
    assert pickle.loads(pickle.dumps(rooms)) == rooms
    assert rooms.action_names is not None


def test_names_and_start():
    P = np.eye(2)[:, None, :]
    mdp = ide3al.MDP(P, start=1, state_names=["left", "right"], action_names=["stay"])
    assert mdp.start.tolist() == [0, 1]
    assert (mdp.state_names, mdp.action_names) == (["left", "right"], ["stay"])
    assert mdp.actions(0).tolist() == [0]


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_gymnasium_tables_row_by_row(name):
    env = gymnasium.make(name)
    table = env.unwrapped.P
    n_states, n_actions = len(table), len(table[0])
    expected = np.zeros((n_states, n_actions, n_states))
    terminal = set()
    for s in range(n_states):
        for a in range(n_actions):
            for p, t, _, terminated in table[s][a]:
                expected[s, a, t] += p
                if terminated and p > 0:
                    terminal.add(int(t))
    start = np.asarray(env.unwrapped.initial_state_distrib)
    assert terminal
    for on_terminal in ("reset", "absorb"):
        for s in terminal:
            expected[s] = start if on_terminal == "reset" else np.eye(n_states)[s]
        mdp = ide3al.MDP.from_gymnasium(env, on_terminal=on_terminal)
        np.testing.assert_allclose(mdp.dense(), expected, atol=1e-12)
        np.testing.assert_allclose(mdp.start, start, atol=1e-12)


def test_nothing_sparse_is_made_dense():
    # a dense array of this size would take 720 GB
    n = 300_000
    s = np.arange(n)
    left = scipy.sparse.csr_array((np.ones(n), (s, np.maximum(s - 1, 0))), shape=(n, n))
    right = scipy.sparse.csr_array((np.ones(n), (s, np.minimum(s + 1, n - 1))), shape=(n, n))
    tracemalloc.start()
    mdp = ide3al.MDP([left, right])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (mdp.n_states, mdp.nnz) == (n, 2 * n)
    assert peak < 100e6


def test_enumeration_finds_the_table_of_a_deterministic_environment():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    mdp = ide3al.MDP.from_simulator(env)
    keys = mdp.state_keys
    assert sorted(keys) == sorted(set(keys)) and mdp.n_states == 16
    order = np.argsort(keys)
    truth = ide3al.MDP.from_gymnasium(env).dense()
    np.testing.assert_array_equal(mdp.dense()[order][:, :, order], truth)
    assert mdp.start[keys.index(0)] == 1


class Walk(gymnasium.Env):
    """Five places in a row; a step succeeds four times in five. Ends at the right."""

    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action):
        if self.np_random.random() < 0.8:
            self.at = min(max(self.at + 2 * action - 1, 0), 4)
        return self.at, 0.0, self.at == 4, False, {}


def test_enumeration_estimates_a_random_environment():
    mdp = ide3al.MDP.from_simulator(Walk(), samples=300)
    keys = mdp.state_keys
    assert sorted(keys) == list(range(5))
    order = np.argsort(keys)
    found = mdp.dense()[order][:, :, order]
    for s in range(4):
        for a in range(2):
            expected = 0.2 * np.eye(5)[s] + 0.8 * np.eye(5)[max(s + 2 * a - 1, 0)]
            np.testing.assert_array_equal(found[s, a] > 0, expected > 0)
            assert np.abs(found[s, a] - expected).max() < 0.1
    np.testing.assert_array_equal(found[4], np.eye(5)[[0, 0]])
    again = ide3al.MDP.from_simulator(Walk(), samples=300)
    assert again == mdp
    with pytest.raises(ide3al.Error, match="samples = 1"):
        ide3al.MDP.from_simulator(Walk(), samples=1)
    with pytest.raises(ide3al.Error, match="estimate its probabilities with samples"):
        ide3al.MDP.from_simulator(Walk())


def test_minigrid_is_enumerated():
    pytest.importorskip("minigrid")
    env = gymnasium.make("MiniGrid-Empty-5x5-v0")
    mdp = ide3al.MDP.from_simulator(env)
    keys = mdp.state_keys
    # nine cells, four directions; the goal is one of them
    assert mdp.n_states == len(keys) == 36 and mdp.n_actions == 7
    assert ide3al.solve(mdp, "dual", xi=0.01).status == "optimal"
    # a key in the hand is part of the state
    door = ide3al.MDP.from_simulator(gymnasium.make("MiniGrid-DoorKey-5x5-v0"))
    keys = door.state_keys
    assert {key[2] for key in keys} == {None, ("key", "yellow")}
    assert 100 < door.n_states == len(set(keys))


def test_enumeration_refuses_randomness_and_floods():
    slippery = gymnasium.make("FrozenLake-v1", is_slippery=True)
    with pytest.raises(ide3al.Error, match="two tries led to different states"):
        ide3al.MDP.from_simulator(slippery)
    with pytest.raises(ide3al.Error, match="more than 5 states"):
        ide3al.MDP.from_simulator(gymnasium.make("FrozenLake-v1", is_slippery=False), max_states=5)


def test_umb_files_are_shared_with_the_reference_implementation(tmp_path):
    umbi = pytest.importorskip("umbi")
    rooms = ide3al.MDP.domain("four-rooms")
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[1, 1, 0] = P[2, 0, 0] = 1.0
    P[0, 1] = [0.125, 0.5, 0.375]
    names = {"state_names": ["a", "b", "ü"], "action_names": ["stay", "go"]}
    uneven = ide3al.MDP(P, [0.25, 0.25, 0.5], **names)
    for mdp in (rooms, uneven):
        mdp.save(tmp_path / "ours.umb")
        assert ide3al.MDP.load(tmp_path / "ours.umb") == mdp
        # they read ours
        system = umbi.ats.read(tmp_path / "ours.umb")
        assert system.num_states == mdp.n_states and system.num_choices == mdp.n_pairs
        dense = np.zeros((mdp.n_states, mdp.n_actions, mdp.n_states))
        for choice in system.choices:
            for branch in choice.branches:
                dense[choice.state, choice.action, branch.target] += branch.prob
        np.testing.assert_array_equal(dense, mdp.dense())
        assert list(system.initial_states) == np.flatnonzero(mdp.start).tolist()
        # and we read theirs, which are compressed
        umbi.ats.write(system, tmp_path / "theirs.umb")
        assert (tmp_path / "theirs.umb").read_bytes()[:2] == b"\x1f\x8b"
        theirs = ide3al.MDP.load(tmp_path / "theirs.umb")
        np.testing.assert_array_equal(theirs.dense(), mdp.dense())
        assert theirs.action_names == mdp.action_names
    # fractions, as exact model checkers write them
    walk = umbi.ats.ExplicitAts()
    states = [walk.add_state() for _ in range(3)]
    walk.set_initial_states([1])
    for s in states:
        choice = walk.add_state_choice(s)
        choice.add_branch((s + 1) % 3, Fraction(1, 3))
        choice.add_branch((s + 2) % 3, Fraction(2, 3))
    walk.num_players = 0
    umbi.ats.write(walk, tmp_path / "walk.umb")
    chain = ide3al.MDP.load(tmp_path / "walk.umb")
    np.testing.assert_allclose(chain.dense()[1, 0], [2 / 3, 0, 1 / 3], atol=1e-15)
    assert chain.start.tolist() == [0, 1, 0]


def test_bridge_tables(tmp_path):
    """As Julia writes them: in Fortran order, with rewards."""
    transitions = np.asfortranarray([[1, 2, 0], [-1, 0, 1], [2, 2, -1]])
    rewards = np.ones((3, 3), dtype=np.float32)
    np.savez_compressed(tmp_path / "consolidated.npz", transitions=transitions, rewards=rewards)
    mdp = ide3al.MDP.load(tmp_path / "consolidated.npz")
    ends = np.where(transitions < 0, 0, transitions)
    np.testing.assert_array_equal(mdp.dense(), np.eye(3)[ends])
    assert mdp.start.tolist() == [1, 0, 0]
    np.savez(tmp_path / "bad.npz", transitions=transitions + 1, rewards=rewards)
    with pytest.raises(ide3al.Error, match=r"transitions\[0, 1\] is 3"):
        ide3al.MDP.load(tmp_path / "bad.npz")
