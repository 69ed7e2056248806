"""Arguments: what is wrong is refused where it is given, what means a whole number is taken as one;
copies are equal, and nothing that exists is written over unasked."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ide3al


def lake():
    return gymnasium.make("FrozenLake-v1")


class StableBaselinesVecEnv:
    """What one of Stable-Baselines3's looks like from outside."""

    num_envs = 2
    observation_space, action_space = spaces.Discrete(4), spaces.Discrete(2)


class Hybrid(gymnasium.Env):
    observation_space = spaces.Discrete(4)
    action_space = spaces.Tuple([spaces.Discrete(2), spaces.Box(-1, 1, (1,))])


class Huge(gymnasium.Env):
    """As many states and actions as no table can hold."""

    def __init__(self, n_states, n_actions):
        self.observation_space = spaces.Discrete(n_states)
        self.action_space = spaces.Discrete(n_actions)

    def reset(self, *, seed=None, options=None):
        return 0, {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ide3al.IDE3AL(xi="a"), "xi = 'a': a finite number is needed"),
        (lambda: ide3al.IDE3AL(xi=np.nan), "xi = nan: a finite number is needed"),
        (lambda: ide3al.IDE3AL(xi=[0.1]), "xi = .0.1.: a finite number is needed"),
        (lambda: ide3al.MaxEnt(epsilon="much"), "epsilon = 'much': a finite number is needed"),
        (lambda: ide3al.IDE3AL(formulation="nonsense"), "nonsense"),
        (lambda: ide3al.IDE3AL(formulation=3), "formulation = 3: a name is needed"),
        (lambda: ide3al.IDE3AL(tie_break="coin"), "coin"),
        (lambda: ide3al.IDE3AL(batch_size=0), "batch_size = 0: at least 1"),
        (lambda: ide3al.IDE3AL(batch_size=2.5), "batch_size = 2.5: a whole number"),
        (lambda: ide3al.IDE3AL(abstraction=12), "abstraction = 12: an ide3al.Abstraction"),
        (lambda: ide3al.IDE3AL(seed=1.5), "seed = 1.5: a whole number is needed"),
        (lambda: ide3al.IDE3AL(seed="1"), "seed = '1': a whole number is needed"),
        (lambda: ide3al.IDE3AL(seed=-1), "seed = -1: must not be negative"),
        (lambda: ide3al.IDE3AL(seed=2**70), "less than 2..64"),
        (lambda: ide3al.MaxEnt(discount="x"), "discount = 'x'"),
        (lambda: ide3al.CountBased(epsilon=object()), "epsilon = .*a finite number"),
        (lambda: ide3al.Random(seed=True), "seed = True: a whole number"),
        (lambda: ide3al.IDE3AL().fit(lake(), 10, callback=3), "callback = 3: a function"),
        (lambda: ide3al.IDE3AL().fit(lake(), "ten"), "total_timesteps = 'ten'"),
        (lambda: ide3al.IDE3AL().fit(lake(), 10.5), "total_timesteps = 10.5"),
        (lambda: ide3al.IDE3AL().fit(lake(), -3), "total_timesteps = -3: at least 1"),
        (lambda: ide3al.IDE3AL().fit("FrozenLake-v1", 10), "no Gymnasium environment.*gymnasium.make"),
        (lambda: ide3al.IDE3AL().fit(StableBaselinesVecEnv(), 10), "Stable-Baselines3.*gymnasium.make_vec"),
        (lambda: ide3al.IDE3AL().fit(Hybrid(), 10), "combine real numbers with others.*TransformAction"),
        (lambda: ide3al.collect(lake(), ide3al.Random(), until=5), "until = 5: a promise is needed"),
        (lambda: ide3al.collect(lake(), ide3al.Random(), 1.5), "total_timesteps = 1.5"),
        (lambda: ide3al.collect(lake(), ide3al.Random(), 5, seed=1.5), "seed = 1.5"),
        (lambda: ide3al.collect(lake(), ide3al.Random(), 5, episode_steps="x"), "episode_steps = 'x'"),
        (lambda: ide3al.collect(lake(), ide3al.Random(), 5, step_time_limit="x"), "step_time_limit = 'x'"),
        (lambda: ide3al.collect(lake(), ide3al.Random(), 5, states=3), "states = 3: the agent"),
        (lambda: ide3al.collect(lake(), "best", 5), "policy = 'best': \"random\" is known"),
        (lambda: ide3al.collect(lake(), None, 5), "policy"),
        (lambda: ide3al.collect(lake(), object(), 5), "policy"),
        (lambda: ide3al.collect(Hybrid(), "random", 5), "combine real numbers"),
        (lambda: ide3al.collect(StableBaselinesVecEnv(), "random", 5), "Stable-Baselines3"),
        (lambda: ide3al.collect(lake(), lambda seen: 9, 5), "9 is no element"),
        (lambda: ide3al.collect(gymnasium.make("Pendulum-v1"), lambda seen: "up", 5), "policy: chose 'up'"),
        (lambda: ide3al.Coverage(each_pair="x"), "each_pair = 'x'"),
        (lambda: ide3al.IDE3AL(formulaton="dual"), "IDE3AL takes no formulaton; did you mean formulation"),
        (lambda: ide3al.Random(3), "Random: too many positional arguments; it takes .*seed"),
        (lambda: ide3al.collect(lake(), "random", 5, sed=1), "collect takes no sed; did you mean seed"),
        (lambda: ide3al.solve(ide3al.MDP.domain("river-swim"), qwerty=1), "solve takes no qwerty; it takes"),
        (lambda: ide3al.IDE3AL().fit(Huge(10**6, 5000), 10), "1000000 states times 5000 actions: more than"),
        (lambda: ide3al.collect(Huge(10**6, 5000), "random", 10), "1000000 states times 5000 actions"),
        (lambda: ide3al.IDE3AL().fit(Huge(5, 2**33), 10), "8589934592 elements"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(call, message):
    with pytest.raises(ide3al.Error, match=message):
        call()


def test_unknown_arguments_are_type_errors_as_well():
    with pytest.raises(TypeError, match="IDE3AL takes no nonsense; it takes formulation"):
        ide3al.IDE3AL(nonsense=1)


def test_a_policy_that_raises_is_named():
    def broken(observation):
        raise KeyError("left")

    with pytest.raises(
        ide3al.Error, match="policy: broken raised KeyError for 0: 'left'"
    ) as caught:
        ide3al.collect(lake(), broken, 10)
    assert isinstance(caught.value.__cause__, KeyError)


def test_whole_numbers_are_whole_numbers():
    agent = ide3al.IDE3AL(seed=np.int64(3), batch_size=1e2).fit(lake(), 1e3)
    assert agent.num_timesteps == 1000 and agent.seed == 3
    assert len(ide3al.collect(lake(), agent, np.float64(20))) == 20
    drawn = ide3al.IDE3AL(seed=None)
    assert drawn.seed != ide3al.IDE3AL(seed=None).seed
    again = ide3al.IDE3AL(seed=drawn.seed).fit(lake(), 200)
    np.testing.assert_array_equal(again.visits, drawn.fit(lake(), 200).visits)
    data = ide3al.collect(lake(), again, 20, seed=None)
    same = ide3al.collect(lake(), again, 20, seed=data.card["seed"])
    np.testing.assert_array_equal(same.observations, data.observations)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies(duplicate):
    mdp = ide3al.MDP.domain("river-swim")
    assert duplicate(mdp) == mdp
    solution = duplicate(ide3al.solve(mdp))
    assert solution.gap == ide3al.solve(mdp).gap and solution.policy.shape == (6, 2)
    assert solution.chain.entropy == ide3al.solve(mdp).chain.entropy
    analysis = duplicate(ide3al.analyze(mdp, "uniform"))
    assert analysis.entropy == ide3al.analyze(mdp, "uniform").entropy
    fresh = duplicate(ide3al.IDE3AL(xi=0.01, seed=4))
    assert fresh.seed == 4 and repr(fresh) == repr(ide3al.IDE3AL(xi=0.01, seed=4))
    agent = ide3al.MaxEnt().fit(lake(), 300)
    other = duplicate(agent)
    # what is learned later does not reach back
    other.fit(lake(), 100)
    assert (agent.num_timesteps, other.num_timesteps) == (300, 400)
    pole = gymnasium.make("CartPole-v1")
    abstraction = ide3al.Abstraction(features=first_two)
    agent = duplicate(ide3al.IDE3AL(abstraction=abstraction).fit(pole, 400))
    agent.predict(pole.reset(seed=0)[0])
    data = ide3al.collect(pole, agent, 50)
    same = duplicate(data)
    np.testing.assert_array_equal(same.observations, data.observations)
    np.testing.assert_array_equal(same.raw.observations, data.raw.observations)
    assert same.card == data.card


def first_two(observation):
    return observation[:2]


def test_nothing_is_written_over_unasked(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    places = {"out": tmp_path / "lake", "dataset_id": "lake/walk-v0"}
    first = ide3al.collect(lake(), "random", 20, **places)
    for name, place in places.items():
        with pytest.raises(ide3al.Error, match="overwrite=True"):
            ide3al.collect(lake(), "random", 20, **{name: place})
    with pytest.raises(ide3al.Error, match="overwrite=True"):
        first.to_minari("lake/walk-v0")
    with pytest.raises(ide3al.Error, match="resume, overwrite"):
        ide3al.collect(lake(), "random", 20, out=tmp_path / "x", resume=True, overwrite=True)
    second = ide3al.collect(lake(), "random", 30, overwrite=True, **places)
    assert len(ide3al.audit(tmp_path / "lake")) == len(ide3al.audit("lake/walk-v0")) == 30
    second.to_minari("lake/walk-v0", overwrite=True)
    assert not list((tmp_path / "minari").rglob("*replaced*"))


def test_what_minari_cannot_hold_is_known_before_the_first_step():
    import minigrid  # noqa: F401

    class Unstepped(gymnasium.Wrapper):
        def step(self, action):
            raise AssertionError("a step was taken")

    env = Unstepped(gymnasium.make("MiniGrid-Empty-5x5-v0"))
    with pytest.raises(ide3al.Error, match=r"MissionSpace \(in mission\); leave that part out"):
        ide3al.collect(env, "random", 10, dataset_id="grid/walk-v0")
