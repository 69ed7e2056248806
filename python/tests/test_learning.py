"""Learning in Gymnasium environments."""

import _thread
import threading

import gymnasium
import numpy as np
import pytest

import ide3al
from ide3al.encoding.discrete import SpaceIndex
from ide3al.envs import ModelEnv
from ide3al.wrappers import Discretize

ALGORITHMS = [ide3al.IDE3AL, ide3al.MaxEnt, ide3al.CountBased, ide3al.Random]


def make(**parameters):
    return ModelEnv("double-chain", **parameters)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_and_repeats(algorithm):
    agent = algorithm(seed=3).fit(make(), total_timesteps=505)
    assert agent.num_timesteps == 505 == agent.visits.sum()
    assert agent.policy.shape == (20, 2)
    np.testing.assert_allclose(agent.policy.sum(axis=1), 1, atol=1e-9)
    assert agent.predict(0) in (0, 1)
    assert agent.metrics["entropy"] > 0
    again = algorithm(seed=3).fit(make(), total_timesteps=505)
    np.testing.assert_array_equal(again.visits, agent.visits)
    np.testing.assert_array_equal(again.policy, agent.policy)
    other = algorithm(seed=4).fit(make(), total_timesteps=505)
    assert (other.visits != agent.visits).any()


def test_what_is_learned_approaches_the_optimum():
    mdp = ide3al.MDP.domain("double-chain")
    best = ide3al.solve(mdp, xi=0.1, zeta=0.7).chain.state_entropy
    agent = ide3al.IDE3AL(xi=0.1, zeta=0.7).fit(make(), total_timesteps=5_000)
    learned = ide3al.analyze(mdp, agent.policy).state_entropy
    random = ide3al.analyze(mdp).state_entropy
    assert learned > best - 0.05
    assert learned > random + 0.1
    # the estimate is the model, up to noise, where enough was seen
    seen = agent.visits > 200
    assert seen.any()
    assert np.abs(agent.model.dense() - mdp.dense())[seen].max() < 0.15


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_saved_agents_go_on_as_if_never_stopped(algorithm, tmp_path):
    """Up to the environment, whose own state is not the agent's to keep."""
    agent = algorithm(seed=1, batch_size=50).fit(make(), total_timesteps=200)
    agent.save(tmp_path / "agent.zip")
    loaded = algorithm.load(tmp_path / "agent.zip", env=make())
    np.testing.assert_array_equal(loaded.visits, agent.visits)
    np.testing.assert_array_equal(loaded.policy, agent.policy)
    actions = [[a.predict(s) for s in range(20)] for a in (agent, loaded)]
    assert actions[0] == actions[1]
    first, second = make(), make()
    first.reset(seed=9), second.reset(seed=9)
    agent.fit(first, total_timesteps=100)
    loaded.fit(second, total_timesteps=100)
    np.testing.assert_array_equal(loaded.visits, agent.visits)
    np.testing.assert_array_equal(loaded.policy, agent.policy)


@pytest.mark.parametrize("formulation", ["model-error", "coverage"])
def test_what_the_estimate_is_unsure_of_is_sampled_next(formulation, tmp_path):
    agent = ide3al.IDE3AL(formulation=formulation, seed=1).fit(make(), total_timesteps=1_500)
    even = ide3al.IDE3AL(seed=1).fit(make(), total_timesteps=1_500)
    random = ide3al.Random(seed=1).fit(make(), total_timesteps=1_500)
    # pairs, not states, are what is wanted
    assert agent.visits.min() > max(even.visits.min(), random.visits.min())
    np.testing.assert_allclose(agent.policy.sum(axis=1), 1, atol=1e-9)
    agent.save(tmp_path / "agent.zip")
    loaded = ide3al.IDE3AL.load(tmp_path / "agent.zip", env=make())
    np.testing.assert_array_equal(loaded.policy, agent.policy)
    first, second = make(), make()
    first.reset(seed=9), second.reset(seed=9)
    agent.fit(first, total_timesteps=100)
    loaded.fit(second, total_timesteps=100)
    np.testing.assert_array_equal(loaded.visits, agent.visits)
    np.testing.assert_array_equal(loaded.policy, agent.policy)


def test_reach_hands_over_what_sees_most_soon():
    mdp = ide3al.MDP.domain("double-chain")

    def seen(agent):
        return ide3al.analyze(mdp, agent.policy).figures["seen"][0]["share"]

    agent = ide3al.IDE3AL(formulation="reach", xi=0.02, seed=1).fit(make(), total_timesteps=2_000)
    even = ide3al.IDE3AL(formulation="state-entropy", xi=0.02, seed=1)
    assert seen(agent) > seen(even.fit(make(), total_timesteps=2_000))
    best = ide3al.solve(mdp, "reach", xi=0.02).chain.figures["seen"][0]["share"]
    assert seen(agent) == pytest.approx(best, rel=0.03)


def test_model_error_and_coverage_in_episodes_that_end():
    for formulation in ("model-error", "coverage"):
        agent = ide3al.IDE3AL(formulation=formulation, seed=0)
        agent.fit(gymnasium.make("FrozenLake-v1"), total_timesteps=1_000)
        assert agent.visits.sum() == 1_000
        np.testing.assert_allclose(agent.policy.sum(axis=1), 1, atol=1e-9)


def test_formulations_that_learning_does_not_know():
    with pytest.raises(ide3al.Error, match="needs one probability per state"):
        ide3al.IDE3AL(formulation="target").fit(make(), total_timesteps=10)
    with pytest.raises(ide3al.Error, match="recommended IDE3AL alone"):
        ide3al.IDE3AL(formulation="coverage", paper=True).fit(make(), total_timesteps=10)


def test_terminal_states_restart_and_truncation_is_no_transition():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=7)
    agent = ide3al.Random(seed=0).fit(env, total_timesteps=3000)
    estimate, visits = agent.model.dense(), agent.visits
    truth = ide3al.MDP.from_gymnasium(env, on_terminal="reset").dense()
    assert visits[5].sum() > 0  # a hole
    np.testing.assert_allclose(estimate[visits > 0], truth[visits > 0], atol=1e-12)


def test_callback_ends_the_fit_and_progress_is_shown(capsys):
    seen = []

    def enough(agent):
        seen.append(agent.num_timesteps)
        return len(seen) < 3

    ide3al.Random(batch_size=10).fit(
        make(), total_timesteps=1000, progress_bar=True, callback=enough
    )
    assert seen == [10, 20, 30]
    assert "30/1000 steps" in capsys.readouterr().err


def test_exceptions_of_the_environment_come_through_and_leave_the_agent_whole():
    class Broken(ModelEnv):
        steps = 0

        def step(self, action):
            self.steps += 1
            if self.steps == 25:
                raise RuntimeError("the motor stalled")
            return super().step(action)

    agent = ide3al.Random(batch_size=10)
    env = Broken("double-chain")
    with pytest.raises(RuntimeError, match="the motor stalled"):
        agent.fit(env, total_timesteps=100)
    assert agent.num_timesteps == 24
    agent.fit(env, total_timesteps=10)
    assert agent.num_timesteps == 34


def test_asking_an_agent_that_is_learning_is_an_error_not_a_deadlock():
    agent = ide3al.Random(batch_size=10)

    class Curious(ModelEnv):
        def step(self, action):
            assert agent.num_timesteps >= 0
            return super().step(action)

    with pytest.raises(ide3al.Error, match="is learning at the moment"):
        agent.fit(Curious("double-chain"), total_timesteps=10)


def test_ctrl_c_ends_a_fit():
    agent = ide3al.IDE3AL(batch_size=10)
    # raised by the handler of SIGINT while the library waits for the environment or solves
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        agent.fit(make(), total_timesteps=10**9)
    before = agent.num_timesteps
    assert before > 0
    agent.fit(make(), total_timesteps=10)
    assert agent.num_timesteps == before + 10


def test_finite_spaces_are_numbered_both_ways():
    spaces = gymnasium.spaces
    space = spaces.Dict(
        {
            "position": spaces.MultiDiscrete([2, 3], start=[1, -1]),
            "rest": spaces.Tuple((spaces.Discrete(2, start=5), spaces.MultiBinary(2))),
        }
    )
    index = SpaceIndex(space)
    assert index.size == 6 * 2 * 4
    numbers = set()
    for k in range(index.size):
        element = index.element(k)
        assert space.contains(element), element
        assert index.number(element) == k
        numbers.add(k)
    space.seed(0)
    assert all(index.number(space.sample()) in numbers for _ in range(50))


def test_composite_observations_are_learned():
    class Pair(gymnasium.Env):
        observation_space = gymnasium.spaces.Tuple(
            (gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(2))
        )
        action_space = gymnasium.spaces.MultiBinary(1)
        state = 0

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.state = 0
            return self._observe(), {}

        def step(self, action):
            self.state = (self.state + 1 + int(action[0])) % 6
            return self._observe(), 0.0, False, False, {}

        def _observe(self):
            return divmod(self.state, 2)

    agent = ide3al.IDE3AL(xi=0.1).fit(Pair(), total_timesteps=300)
    assert agent.coverage == 1.0
    assert agent.predict((2, 1)).shape == (1,)
    np.testing.assert_allclose(agent.metrics["entropy"], np.log(6), atol=1e-3)


def test_collected_data_reports_its_coverage():
    env = gymnasium.make("FrozenLake-v1")
    data = ide3al.collect(env, np.full((16, 4), 0.25), total_timesteps=500, seed=2)
    assert len(data) == 500 == data.counts.sum()
    assert data.terminations.any() and 0 < data.coverage < 1
    assert "pairs seen" in repr(data) and data._repr_html_().startswith("<table>")
    # within an episode the steps follow one another
    going = ~(data.terminations | data.truncations)[:-1]
    np.testing.assert_array_equal(data.next_observations[:-1][going], data.observations[1:][going])
    agent = ide3al.IDE3AL(xi=0.05).fit(env, total_timesteps=300)
    assert len(ide3al.collect(env, agent, total_timesteps=50)) == 50
    with pytest.raises(ide3al.Error, match="expected shape .16, 4."):
        ide3al.collect(env, np.full((15, 4), 0.25), total_timesteps=5)
    with pytest.raises(ide3al.Error, match="must be a distribution"):
        ide3al.collect(env, np.full((16, 4), 0.5), total_timesteps=5)


def test_data_of_learning_are_what_was_learned_from():
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=20)
    agent = ide3al.IDE3AL(xi=0.05, batch_size=50, seed=3)
    data = ide3al.collect(env, agent, total_timesteps=600, learn=True)
    assert len(data) == 600 and data.terminations.any() and data.truncations.any()
    # beyond the data the agent counts the step that leaves a terminal state
    extra = agent.visits - data.counts
    assert (extra >= 0).all() and 0 < extra.sum() <= data.terminations.sum()
    ends = np.flatnonzero(data.terminations | data.truncations)
    assert (data.observations[ends[ends < 599] + 1] == 0).all(), "episodes begin in the corner"
    going = ~(data.terminations | data.truncations)[:-1]
    following = data.next_observations[:-1][going]
    np.testing.assert_array_equal(following, data.observations[1:][going])
    with pytest.raises(ide3al.Error, match="only an agent can"):
        ide3al.collect(env, np.full((16, 4), 0.25), total_timesteps=5, learn=True)


def test_continuous_observations_in_named_bins():
    bins = {"position": [0.0], "velocity": [], "angle": [-0.05, 0.05], "turning": [0.0]}
    env = Discretize(gymnasium.make("CartPole-v1"), bins)
    assert env.observation([-1.0, 7.0, 0.05, 0.0]).tolist() == [0, 0, 2, 1]
    assert env.describe([0, 0, 1, 1]) == {
        "position": (-np.inf, 0.0),
        "velocity": (-np.inf, np.inf),
        "angle": (-0.05, 0.05),
        "turning": (0.0, np.inf),
    }
    agent = ide3al.IDE3AL(xi=0.1).fit(env, total_timesteps=2000)
    assert agent.visits.shape == (12, 2) and agent.coverage > 0.5
    with pytest.raises(ide3al.Error, match="2 names for 4 numbers"):
        Discretize(gymnasium.make("CartPole-v1"), {"a": [], "b": []})
    with pytest.raises(ide3al.Error, match="position: edges must be finite numbers in ascending"):
        Discretize(gymnasium.make("CartPole-v1"), {**bins, "position": [1, 0]})
    with pytest.raises(ide3al.Error, match="sorts Box observations"):
        Discretize(gymnasium.make("FrozenLake-v1"), {})
    with pytest.raises(ide3al.Error, match="no bin holds it"):
        env.observation([np.nan, 0, 0, 0])


def test_minari_data_sets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    import minari

    env = gymnasium.make("FrozenLake-v1")
    uniform = np.full((16, 4), 0.25)
    data = ide3al.collect(env, uniform, total_timesteps=200, seed=4, dataset_id="lake/uniform-v0")
    plain = ide3al.collect(env, uniform, total_timesteps=200, seed=4)
    np.testing.assert_array_equal(data.observations, plain.observations)
    dataset = minari.load_dataset("lake/uniform-v0")
    assert dataset.total_steps == 200
    recorded = np.concatenate([episode.actions for episode in dataset])
    np.testing.assert_array_equal(recorded, data.actions)
    visited = np.concatenate([episode.observations[:-1] for episode in dataset])
    np.testing.assert_array_equal(visited, data.observations)
    with pytest.raises(ide3al.Error, match="exists already"):
        ide3al.collect(env, uniform, total_timesteps=5, dataset_id="lake/uniform-v0")


def events(folder):
    """(name, step, value) of every scalar in TensorBoard's files."""
    import struct

    from tensorboardX.proto.event_pb2 import Event

    found = []
    for path in sorted(folder.rglob("events*")):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]
            found += [(v.tag, event.step, v.simple_value) for v in event.summary.value]
    return found


def test_tensorboard_logs(tmp_path):
    pytest.importorskip("tensorboardX")
    from ide3al.callbacks import TensorBoard

    seen = []
    log = TensorBoard(
        tmp_path / "run", every=2, then=lambda agent: seen.append(agent.num_timesteps)
    )
    agent = ide3al.IDE3AL(batch_size=50).fit(make(), total_timesteps=250, callback=log)
    log.close()
    assert seen == [50, 100, 150, 200, 250]
    found = events(tmp_path / "run")
    assert {step for _, step, _ in found} == {50, 150, 250}
    last = {name: value for name, step, value in found if step == 250}
    assert last["entropy"] == pytest.approx(agent.metrics["entropy"], rel=1e-6)
    assert last["coverage"] == pytest.approx(agent.coverage, rel=1e-6)
    with pytest.raises(ide3al.Error, match="every = 0"):
        TensorBoard(tmp_path, every=0)
    result = ide3al.experiment("double-chain", ["ideal", "random"], runs=2, iterations=3)
    result.to_tensorboard(tmp_path / "all")
    found = events(tmp_path / "all" / "ideal" / "1")
    curve = result.scores("entropy", curve=True)["ideal"][1, 0]
    values = [value for name, _, value in found if name == "entropy"]
    np.testing.assert_allclose(values, curve, rtol=1e-6)
