"""Plans for rewards and goals: in known models, from what was explored, and from data."""

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import ide3al
from ide3al import Error


def lake(**options):
    return gymnasium.make("FrozenLake-v1", **options)


def value_of(mdp, policy, reward, discount):
    """The discounted value of a policy (S, A), by solving the linear system."""
    dense = mdp.dense()
    chain = np.einsum("sa,sat->st", policy, dense)
    earned = (policy * reward).sum(axis=1)
    ended = np.isin(np.arange(mdp.n_states), mdp.terminal)
    chain[ended], earned[ended] = 0.0, 0.0
    return np.linalg.solve(np.eye(mdp.n_states) - discount * chain, earned)


def iterated(mdp, reward, discount):
    """Optimal values by plain value iteration."""
    dense, values = mdp.dense(), np.zeros(mdp.n_states)
    ended = np.isin(np.arange(mdp.n_states), mdp.terminal)
    for _ in range(5_000):
        values = (reward + discount * dense @ values).max(axis=1)
        values[ended] = 0.0
    return values


def test_values_of_frozen_lake_agree_with_value_iteration():
    env = lake()
    for on_terminal in ("reset", "absorb"):
        mdp = ide3al.MDP.from_gymnasium(env, on_terminal=on_terminal)
        reward = mdp.rewards.reshape(16, 4)
        assert mdp.terminal == [5, 7, 11, 12, 15] and reward[14].max() > 0.3
        best = ide3al.plan(mdp, discount=0.99)
        assert best.status == "optimal" and best.gap <= 1e-8
        assert np.allclose(best.values, iterated(mdp, reward, 0.99), atol=1e-8)
        own = value_of(mdp, best.policy, reward, 0.99)
        assert np.allclose(own, best.values, atol=1e-8)
        assert best.objective <= best.values[0] <= best.bound
    assert "worth" in repr(best) and "<img" in best._repr_html_()


def test_every_criterion_and_shape():
    mdp = ide3al.MDP.domain("river-swim")
    n, a = mdp.n_states, mdp.n_actions
    reward = np.zeros((n, a, n))
    reward[n - 1, :, n - 1] = 1.0
    assert ide3al.plan(mdp, reward, average=True).objective > 0.2
    timed = ide3al.plan(mdp, reward, within=12)
    assert np.shape(timed.policy) == (12, n, a) and timed.action(0, 0) == timed.action(0, 0)
    each = ide3al.plan(mdp, [np.eye(n)[k] for k in range(3)], several=True, discount=0.9)
    alone = ide3al.plan(mdp, np.eye(n)[1], discount=0.9)
    assert len(each) == 3 and np.array_equal(each[1].values, alone.values)
    goal = ide3al.plan(mdp, goal=n - 1)
    assert goal.objective == 1.0 and goal.steps[n - 1] == 0 and goal.steps[0] > n
    with_rewards = mdp.with_rewards(reward, terminal=[0])
    assert with_rewards.terminal == [0] and with_rewards != mdp
    assert pickle.loads(pickle.dumps(with_rewards)) == with_rewards


@pytest.mark.parametrize("suffix", [".json", ".npz", ".tra", ".umb"])
def test_rewards_are_written_back(tmp_path, suffix):
    mdp = ide3al.MDP.from_gymnasium(lake())
    path = tmp_path / f"model{suffix}"
    mdp.save(path)
    assert ide3al.MDP.load(path) == mdp


def test_simulators_keep_their_rewards():
    mdp = ide3al.MDP.from_simulator(lake(is_slippery=False))
    keys = mdp.state_keys
    reached = ide3al.plan(mdp, discount=0.9)
    # six steps, the reward with the last of them
    assert reached.values[keys.index(0)] == pytest.approx(0.9**5)


def test_an_explored_environment_is_planned_for(tmp_path):
    env = lake(is_slippery=False)
    agent = ide3al.IDE3AL(seed=1).fit(env, 3_000)
    plan = agent.plan(discount=0.95, reward_range=(0, 1))
    low, high = plan.interval
    assert plan.objective == pytest.approx(0.95**5) and low <= 0.95**5 <= high
    # nobody said what else the environment may pay
    unknown = agent.plan(discount=0.95)
    assert unknown.interval is None and "reward_range" in repr(unknown)
    followed = plan.evaluate(env, episodes=5)
    assert followed.mean == 1.0 and followed.finished.all() and (followed.lengths == 6).all()
    # a goal that was never spoken of
    goal = agent.plan(goal=9)
    assert goal.evaluate(env, episodes=3).mean == 1.0
    assert goal.interval[1] <= 1.0
    # a predicate, a function, arrays
    by_row = agent.plan(goal=lambda state: state // 4 == 3, avoid=[10])
    assert by_row.objective > 0.9
    by_function = agent.plan(reward=lambda state: float(state == 9), discount=0.95)
    assert by_function.objective > 1
    table = np.zeros((16, 4))
    table[9] = 1.0
    assert agent.plan(table, discount=0.95).evaluate(env, episodes=1, max_steps=50).lengths[0] > 0
    # kept, and used again
    plan.save(tmp_path / "plan.zip")
    kept = ide3al.LearnedPlan.load(tmp_path / "plan.zip", env)
    assert kept.interval == plan.interval and np.array_equal(kept.policy, plan.policy)
    assert kept.evaluate(env, episodes=2).mean == 1.0
    agent.save(tmp_path / "agent.zip")
    again = ide3al.IDE3AL.load(tmp_path / "agent.zip", env).plan(discount=0.95)
    assert np.array_equal(again.values, plan.values)


def test_evaluation_earns_what_was_planned_for(tmp_path):
    env = lake(is_slippery=False)
    agent = ide3al.IDE3AL(seed=1).fit(env, 3_000)
    table = np.zeros((16, 4, 16))
    table[4, :, 8] = 2.0
    plan = agent.plan(table, discount=0.9)
    # one step to state 4, the next earns two
    assert plan.objective >= 2 * 0.9
    followed = plan.evaluate(env, episodes=1, max_steps=2)
    assert followed.returns[0] == 2.0
    plan.save(tmp_path / "table.zip")
    kept = ide3al.LearnedPlan.load(tmp_path / "table.zip", env)
    assert kept.evaluate(env, episodes=1, max_steps=2).returns[0] == 2.0
    of_state = agent.plan(lambda state: float(state == 4), discount=0.9)
    assert of_state.details["reward_range"] == [0.0, 1.0]
    of_state.save(tmp_path / "function.zip")
    kept = ide3al.LearnedPlan.load(tmp_path / "function.zip", env)
    with pytest.raises(Error, match="give reward="):
        kept.evaluate(env, episodes=1)
    again = kept.evaluate(env, 1, max_steps=1, reward=lambda state: float(state == 4))
    assert again.returns[0] == 1.0

    def fails_later(state):
        if fails_later.armed:
            raise RuntimeError("no idea")
        return float(state == 9)

    fails_later.armed = False
    plan = agent.plan(fails_later)
    fails_later.armed = True
    with pytest.raises(Error, match="raised RuntimeError"):
        plan.evaluate(env, episodes=1)


def test_the_average_goes_on_with_the_next_episode():
    env = lake(is_slippery=False)
    truth = ide3al.plan(ide3al.MDP.from_gymnasium(env, on_terminal="reset"), average=True)
    # six steps to the goal, and one that begins anew
    assert truth.objective == pytest.approx(1 / 7)
    data = ide3al.collect(env, ide3al.Random(seed=3), 4_000, seed=3)
    assert ide3al.plan(data.model(), average=True).objective == pytest.approx(1 / 7)
    stays = data.model(on_terminal="absorb")
    assert ide3al.plan(stays, average=True).objective == 0.0
    assert ide3al.plan(stays, discount=0.95).objective == pytest.approx(0.95**5)
    with pytest.raises(Error, match="on_terminal"):
        data.model(on_terminal="stop")
    agent = ide3al.IDE3AL(seed=1).fit(env, 3_000)
    assert agent.plan(average=True).objective == pytest.approx(1 / 7)


def test_what_was_never_tried_is_worth_nothing_unless_asked():
    env = lake(is_slippery=False)
    agent = ide3al.IDE3AL(seed=1).fit(env, 40)
    careful, bold = agent.plan(), agent.plan(untried="optimistic", reward_range=(0, 1))
    assert careful.objective == 0.0 and bold.objective > 0.0
    untried = agent.visits == 0
    chosen = [careful.action(s) for s in range(16)]
    tried = (agent.visits > 0).any(axis=1)
    # an action in a terminal state leads to the start, whichever it is
    tried[careful.mdp.terminal] = False
    assert tried.any() and not any(untried[s, a] for s, a in enumerate(chosen) if tried[s])


def test_discovered_states_and_vectors(tmp_path):
    class Named(gymnasium.Wrapper):
        """The lake with places as text."""

        observation_space = gymnasium.spaces.Text(8)

        def reset(self, **options):
            state, info = self.env.reset(**options)
            return f"place {state}", info

        def step(self, action):
            state, *rest = self.env.step(action)
            return (f"place {state}", *rest)

    env = Named(lake(is_slippery=False))
    agent = ide3al.IDE3AL(seed=1).fit(env, 3_000)
    plan = agent.plan(goal="place 15")
    assert plan.evaluate(env, episodes=2).mean == 1.0
    plan.save(tmp_path / "plan.zip")
    assert ide3al.LearnedPlan.load(tmp_path / "plan.zip", env).evaluate(env, 2).mean == 1.0
    assert plan.predict("place 99") in range(4)
    with pytest.raises(Error, match="never met; 16 states were met, such as 'place 0'"):
        agent.plan(goal="place 99")
    many = gymnasium.make_vec(
        "FrozenLake-v1", num_envs=3, vectorization_mode="sync", is_slippery=False
    )
    together = ide3al.IDE3AL(seed=1).fit(many, 4_000)
    assert len(together.tally) > 3_000
    assert together.plan(discount=0.95).objective == pytest.approx(0.95**5)


def test_continuous_environments_are_planned_for_in_cells(tmp_path):
    env = gymnasium.make("MountainCar-v0")
    agent = ide3al.IDE3AL(seed=0).fit(env, 6_000)
    plan = agent.plan(goal=lambda middle: middle[0] > 0.2)
    assert 0 < plan.objective <= 1
    followed = plan.evaluate(env, episodes=2, max_steps=400)
    assert followed.lengths.max() <= 400
    plan.save(tmp_path / "plan.zip")
    kept = ide3al.LearnedPlan.load(tmp_path / "plan.zip", env)
    again = kept.evaluate(env, episodes=2, max_steps=400)
    assert np.array_equal(again.lengths, followed.lengths)
    with pytest.raises(Error, match="give env"):
        ide3al.LearnedPlan.load(tmp_path / "plan.zip").predict(env.reset()[0])
    with pytest.raises(Error, match=r"numbers|spaces|actions"):
        ide3al.LearnedPlan.load(tmp_path / "plan.zip", gymnasium.make("CartPole-v1"))


def test_data_become_models_and_fill_buffers(tmp_path):
    env = lake(is_slippery=False)
    data = ide3al.collect(env, ide3al.Random(seed=3), 4_000, seed=3)
    mdp = data.model()
    assert ide3al.plan(mdp, discount=0.95).objective == pytest.approx(0.95**5)
    data.save(tmp_path / "data.npz")
    assert ide3al.MDP.from_dataset(tmp_path / "data.npz") == mdp

    class Buffer:
        """The interface of Stable-Baselines3's ReplayBuffer."""

        n_envs, buffer_size = 1, 5_000
        observation_space, action_space = env.observation_space, env.action_space

        def __init__(self):
            self.rows = []

        def add(self, obs, next_obs, action, reward, done, infos):
            assert obs.shape == next_obs.shape == action.shape == reward.shape == done.shape == (1,)
            self.rows.append((obs[0], action[0], reward[0], next_obs[0], done[0], infos[0]))

    buffer = Buffer()
    assert data.fill(buffer) == len(buffer.rows) == 4_000
    assert sum(row[2] for row in buffer.rows) == data.rewards.sum()
    done = [row for row in buffer.rows if row[4]]
    cut = [row for row in done if row[5].get("TimeLimit.truncated")]
    assert len(done) - len(cut) == data.terminations.sum()
    small = copy.copy(buffer)
    small.buffer_size = 10
    with pytest.raises(Error, match="holds 10 steps"):
        data.fill(small)
    with pytest.raises(Error, match="method add"):
        data.fill(object())


def test_data_are_planned_from_at_the_command_line(tmp_path, capsys):
    from ide3al.__main__ import main

    env = lake(is_slippery=False)
    ide3al.collect(env, ide3al.Random(seed=3), 4_000, seed=3, out=tmp_path / "data")
    assert main(["plan", str(tmp_path / "data"), "--goal", "9", "--avoid", "10"]) == 0
    said = capsys.readouterr().out
    assert "reaching the goal" in said and "with probability 95 %" in said
    assert main(["plan", str(tmp_path / "data"), "--goal", "99"]) == 2
    assert "never met" in capsys.readouterr().err
    assert main(["plan", str(tmp_path / "data")]) == 0
    assert "reward_range" in capsys.readouterr().out
    assert main(["plan", str(tmp_path / "data"), "--reward-range", "0", "1"]) == 0
    assert "with probability 95 %" in capsys.readouterr().out
    barren = ide3al.collect(env, np.full((16, 4), 0.25), 4, seed=1)
    barren.save(tmp_path / "barren.npz")
    assert main(["plan", str(tmp_path / "barren.npz")]) == 2
    assert "no rewards" in capsys.readouterr().err
    with pytest.raises(Error, match="no rewards"):
        ide3al.plan(ide3al.MDP.from_dataset(tmp_path / "barren.npz"))


def test_accuracy_is_a_promise_for_every_reward():
    class Pair(gymnasium.Env):
        """Two states; one action is sure, the other a coin."""

        observation_space = gymnasium.spaces.Discrete(2)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.state = 0
            return 0, {}

        def step(self, action):
            stays = self.np_random.random() < (1.0 if action == 0 else 0.5)
            self.state = self.state if stays else 1 - self.state
            return self.state, 0.0, False, False, {}

    until = ide3al.Accuracy(0.4, confidence=0.9, discount=0.5)
    env = gymnasium.wrappers.TimeLimit(Pair(), 50)
    data = ide3al.collect(env, ide3al.Random(seed=0), 60_000, until=until, seed=0)
    promise = data.about["promise"]
    assert promise["holds"] and promise["error"] <= 0.4 and len(data) < 60_000
    estimate, truth = data.model(), np.zeros((2, 2, 2))
    truth[:, 0] = np.eye(2)
    truth[:, 1] = 0.5
    model = ide3al.MDP(truth, start=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        reward = rng.random((2, 2))
        planned = ide3al.plan(estimate, reward, discount=0.5)
        worth = value_of(model, planned.policy, reward, 0.5)[0]
        assert ide3al.plan(model, reward, discount=0.5).objective - worth <= 0.4 / 0.5
    for bad in ({"epsilon": 0}, {"epsilon": 0.1, "confidence": 1}, {"epsilon": 0.1, "discount": 1}):
        with pytest.raises(Error, match="Accuracy"):
            ide3al.Accuracy(**bad)


def test_novelty_rewards_what_is_seldom_visited():
    from ide3al.wrappers import Novelty

    env = Novelty(lake(is_slippery=False), scale=2.0)
    env.reset(seed=0)
    first = env.step(2)
    env.reset()
    second = env.step(2)
    assert first[1] == 2.0 and second[1] == pytest.approx(2.0 / np.sqrt(2))
    assert first[4]["novelty"] == 2.0 and first[4]["extrinsic"] == 0.0
    with pytest.raises(Error, match="give agent"):
        Novelty(gymnasium.make("MountainCar-v0"))
    with pytest.raises(Error, match="above 0"):
        Novelty(lake(), scale=0)


def test_bad_input_is_named():
    mdp = ide3al.MDP.domain("river-swim")
    n = mdp.n_states
    for reward, words in (
        (np.zeros(n + 1), "state \\(6\\)"),
        ([np.nan] * n, "number 0"),
        ([np.inf] * n, "finite"),
        (["a"] * n, "real numbers"),
        (None, "no rewards"),
    ):
        with pytest.raises(Error, match=words):
            ide3al.plan(mdp, reward)
    for options, words in (
        ({"discount": 1.0}, "average"),
        ({"discount": -0.5}, "at least 0"),
        ({"discount": 0.9, "average": True}, "give one"),
        ({"within": 0}, "at least one step"),
        ({"avoid": 0}, "goes with a goal"),
        ({"tolerance": np.nan}, "tolerance"),
    ):
        with pytest.raises(Error, match=words):
            ide3al.plan(mdp, np.zeros(n), **options)
    with pytest.raises(Error, match="goal state 99"):
        ide3al.plan(mdp, goal=99)
    with pytest.raises(Error, match="by its number"):
        ide3al.plan(mdp, goal=0.5)
    with pytest.raises(Error, match="an ide3al.MDP is needed"):
        ide3al.plan(5, np.zeros(n))
    with pytest.raises(Error, match="goal takes none"):
        ide3al.plan(mdp, np.zeros(n), goal=1)

    agent = ide3al.IDE3AL(seed=0)
    with pytest.raises(Error, match="fit first"):
        agent.plan()
    agent.fit(lake(), 500)

    def raises(state):
        raise RuntimeError("no idea")

    for options, words in (
        ({"reward": np.zeros(3)}, r"expected shape \(16,\)"),
        ({"reward": np.full(16, np.nan)}, r"reward\[0\]"),
        ({"reward": raises}, "raised RuntimeError"),
        ({"reward": lambda state: None}, "not a number"),
        ({"reward": lambda state: np.inf}, "finite"),
        ({"reward": lambda a, b: 0.0}, "2 arguments"),
        ({"goal": lambda state: False}, "no state that was met"),
        ({"goal": 99}, "99"),
        ({"reward": np.zeros((16, 5))}, "found"),
        ({"reward": np.full((16, 4), np.inf)}, r"reward\[0, 0\]"),
        ({"goal": 3, "reward": np.zeros(16)}, "give one"),
        ({"goal": 4, "avoid": 4}, "both"),
        ({"discount": 1.0}, "average"),
        ({"confidence": 1.0}, "confidence"),
        ({"untried": "good"}, "untried"),
        ({"reward_range": (0.5, 1.0)}, "reward_range"),
    ):
        with pytest.raises(Error, match=words):
            agent.plan(**options)
    with pytest.raises(Error, match="the environment has"):
        agent.plan().evaluate(gymnasium.make("Taxi-v4"))
    with pytest.raises(Error, match="episodes = 0"):
        agent.plan().evaluate(lake(), episodes=0)


def test_damaged_plans_are_refused(tmp_path):
    path = tmp_path / "plan.zip"
    path.write_bytes(b"nothing")
    with pytest.raises(Error, match="no plan saved by ide3al"):
        ide3al.LearnedPlan.load(path)
    with pytest.raises(Error, match="cannot read"):
        ide3al.LearnedPlan.load(tmp_path / "missing.zip")


@pytest.mark.parametrize(
    "options",
    [
        {"reward": np.zeros((2, 6))},
        {"reward": 5, "several": True},
        {"goal": 1, "several": True},
        {"goal": [[0], [1, 2]]},
        {"reward": np.zeros(6), "tolerance": "x"},
        {"reward": np.zeros(6), "max_iterations": -1},
        {"reward": np.zeros(6), "within": 2.5},
        {"reward": np.zeros(6), "discount": "x"},
        {"reward": np.full(6, 1e308), "within": 5},
    ],
)
def test_bad_arguments_raise_errors_of_this_package(options: dict[str, Any]) -> None:
    with pytest.raises(ide3al.Error):
        ide3al.plan(ide3al.MDP.domain("river-swim"), **options)


def test_the_error_of_the_values_counts_rounding() -> None:
    # from 0 to 0 or 1 in equal shares, from 1 to 0: V(0) = r(0) + g (V(0) + V(1)) / 2 and so on
    mdp = ide3al.MDP(np.array([[[0.5, 0.5]], [[1.0, 0.0]]]))
    discount = 1 - 2.0**-20
    plan = ide3al.plan(mdp, [1.0, 0.0], discount=discount)
    exact = 1 / (1 - discount / 2 - discount**2 / 2)
    assert abs(plan.values[0] - exact) <= plan.error
