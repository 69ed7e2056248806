"""Whatever is wrong is named, with the remedy, as ide3al.Error, which is a ValueError."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import scipy.sparse

import ide3al
import ide3al.callbacks
from ide3al._extras import need
from ide3al.envs import register

register()

GOOD = np.full((2, 2, 2), 0.5)


def entry(value):
    P = GOOD.copy()
    P[1, 0, 1] = value
    return P


@pytest.mark.parametrize(
    ("P", "message"),
    [
        (np.ones((2, 2)), r"expected shape \(S, A, S\), found \(2, 2\)"),
        (np.ones((3, 2, 2)), "looks like .A, S, S.: pass P.swapaxes"),
        (np.zeros((0, 0, 0)), "empty"),
        (entry(np.nan), "state 1, action 0, next state 1: probability NaN"),
        (entry(-0.5), "probability -0.5"),
        (entry(np.inf), "probability inf"),
        (entry(0.4), "state 1, action 0: probabilities sum to 0.9"),
        (entry(0.5) * 1j, "complex"),
        (np.full((2, 2, 2), "x"), "cannot be read as an array of real numbers"),
        (None, "P"),
        ([], "P"),
        (scipy.sparse.eye_array(3, 2), r"expected a sparse matrix of shape \(S \* A, S\)"),
        (scipy.sparse.eye_array(2) * 0.5, "sum to 0.5"),
        ([scipy.sparse.eye_array(2), scipy.sparse.eye_array(3)], "of one shape"),
        ([scipy.sparse.eye_array(2), np.eye(2)], "all must be sparse, or none"),
        (scipy.sparse.csr_array((2, 2)), "state 0 has no action"),
        (scipy.sparse.eye_array(2, dtype=complex), "complex128"),
    ],
)
def test_models(P, message):
    with pytest.raises(ide3al.Error, match=message):
        ide3al.MDP(P)
    assert issubclass(ide3al.Error, ValueError)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (2, "give a state from 0 to 1"),
        (-1, "give a state from 0 to 1"),
        (0.5, "give a state"),
        ([1.0], "expected shape"),
        ([0.5, 0.4], "sums to 0.9"),
        ([1.5, -0.5], "least entry -0.5"),
        ([np.nan, 1], "start distribution"),
    ],
)
def test_starts(start, message):
    with pytest.raises(ide3al.Error, match=message):
        ide3al.MDP(GOOD, start=start)


def test_pairs():
    Q = np.full((3, 2), 0.5)
    with pytest.raises(ide3al.Error, match="both s_indices and a_indices"):
        ide3al.MDP(Q, s_indices=[0, 0, 1])
    with pytest.raises(ide3al.Error, match="3 rows, but 2 state and 3 action"):
        ide3al.MDP(Q, s_indices=[0, 0], a_indices=[0, 1, 0])
    with pytest.raises(ide3al.Error, match="this pair has two rows, 0 and 1"):
        ide3al.MDP(Q, s_indices=[0, 0, 1], a_indices=[0, 0, 0])
    with pytest.raises(ide3al.Error, match="state 7 is out of range"):
        ide3al.MDP(Q, s_indices=[0, 7, 1], a_indices=[0, 1, 0])
    with pytest.raises(ide3al.Error, match="whole numbers"):
        ide3al.MDP(Q, s_indices=[0.0, 0.0, 1.0], a_indices=[0, 1, 0])


def test_files(tmp_path):
    with pytest.raises(ide3al.Error, match="no-such.json: cannot read"):
        ide3al.MDP.load(tmp_path / "no-such.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ide3al.Error, match="bad.json"):
        ide3al.MDP.load(tmp_path / "bad.json")
    with pytest.raises(ide3al.Error, match="unknown format '.doc'"):
        ide3al.MDP(GOOD).save(tmp_path / "model.doc")
    with pytest.raises(ide3al.Error, match="did you mean 'double-chain'"):
        ide3al.MDP.domain("duble-chain")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"formulation": "frobenious"}, "did you mean 'frobenius'"),
        ({"xi": 0.6}, "xi can be at most 0.5"),
        ({"xi": float("nan")}, "xi = NaN"),
        ({"zeta": 0.1}, "must lie between"),
        ({"formulation": "dual", "zeta": 0.9}, "dual takes no zeta"),
        ({"zeta": 0.9, "horizon": 10}, "horizon chooses zeta"),
        ({"horizon": 0}, "horizon"),
        ({"solver": "magic"}, "unknown solver 'magic'"),
        ({"tie_break": "maybe"}, "unknown tie-break"),
        ({"tolerance": -1.0}, "tolerance = -1"),
        ({"time_limit": 0.0}, "time_limit = 0"),
    ],
)
def test_solve(arguments, message):
    with pytest.raises(ide3al.Error, match=message):
        ide3al.solve(ide3al.MDP(GOOD), **arguments)


def test_frontier():
    mdp = ide3al.MDP(GOOD)
    with pytest.raises(ide3al.Error, match="parameter 'vary' = xi"):
        ide3al.frontier(mdp, "dual", vary="zeta")
    with pytest.raises(ide3al.Error, match="zeta is what varies"):
        ide3al.frontier(mdp, zeta=0.7)
    with pytest.raises(ide3al.Error, match="points = 1"):
        ide3al.frontier(mdp, points=1)
    with pytest.raises(KeyError, match="known: entropy"):
        ide3al.frontier(mdp, points=2)["colour"]


def test_policies():
    mdp = ide3al.MDP(GOOD)
    with pytest.raises(ide3al.Error, match=r"expected shape \(2, 2\), found \(3, 2\)"):
        ide3al.analyze(mdp, np.full((3, 2), 0.5))
    with pytest.raises(ide3al.Error, match="state 1: probabilities sum to 0.5"):
        ide3al.analyze(mdp, [[0.5, 0.5], [0.5, 0.0]])
    with pytest.raises(ide3al.Error, match="'best'"):
        ide3al.analyze(mdp, "best")
    P = GOOD.copy()
    P[0, 1] = 0
    with pytest.raises(ide3al.Error, match="state 0: gives weight to an action that the state"):
        ide3al.analyze(ide3al.MDP(P), np.full((2, 2), 0.5))


class Wild(gymnasium.Env):
    """Leaves its space after three steps."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(1)
    steps = 0

    def __init__(self, beyond=9):
        self.beyond = beyond

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        self.steps += 1
        return (0 if self.steps < 3 else self.beyond), 0.0, False, False, {}


def test_environments():
    with pytest.raises(ide3al.Error, match="'nine' is no element of Discrete"):
        ide3al.Random(batch_size=10).fit(Wild("nine"), total_timesteps=10)
    with pytest.raises(ide3al.Error, match="has no observation_space"):
        ide3al.Random().fit(object(), total_timesteps=10)
    pole = gymnasium.make("CartPole-v1")
    with pytest.raises(ide3al.Error, match="CartPole-v1 has no transition table P"):
        ide3al.MDP.from_gymnasium(pole)
    lake = gymnasium.make("FrozenLake-v1")
    with pytest.raises(ide3al.Error, match="on_terminal = 'explode'"):
        ide3al.MDP.from_gymnasium(lake, on_terminal="explode")
    with pytest.raises(ide3al.Error, match="xi can be at most 0.25"):
        ide3al.IDE3AL(xi=0.3).fit(lake, total_timesteps=10)
    fitted = ide3al.Random().fit(lake, total_timesteps=10)
    with pytest.raises(ide3al.Error, match="has learned 16 states and 4 actions"):
        fitted.fit(gymnasium.make("CliffWalking-v1"), total_timesteps=10)
    with pytest.raises(ide3al.Error, match="total_timesteps = 0"):
        fitted.fit(lake, total_timesteps=0)
    with pytest.raises(ide3al.Error, match="call fit first"):
        ide3al.IDE3AL().predict(0)
    with pytest.raises(ide3al.Error, match="is no element of"):
        fitted.predict("99")


def test_closed_environments():
    """Gymnasium's own toys forget that they are closed; those that do not say so."""

    class Closing(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(2)
        action_space = gymnasium.spaces.Discrete(1)
        closed = False

        def reset(self, *, seed=None, options=None):
            if self.closed:
                raise gymnasium.error.ClosedEnvironmentError("this environment is closed")
            return 0, {}

        def step(self, action):
            if self.closed:
                raise gymnasium.error.ClosedEnvironmentError("this environment is closed")
            return 1, 0.0, False, False, {}

        def close(self):
            self.closed = True

    env = Closing()
    agent = ide3al.Random(batch_size=5)
    # in the middle of a fit, and before one: the environment's own exception
    with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="is closed"):
        agent.fit(env, total_timesteps=20, callback=lambda _: env.close())
    assert agent.num_timesteps == 5
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        agent.fit(env, total_timesteps=5)
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        ide3al.collect(env, np.ones((2, 1)), total_timesteps=3)
    agent.fit(Closing(), total_timesteps=5)
    assert agent.num_timesteps == 10
    # ours
    vector = gymnasium.make_vec(
        "ide3al/DoubleChain-v0", num_envs=2, vectorization_mode="vector_entry_point"
    )
    vector.reset(seed=0)
    vector.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        vector.step(np.zeros(2, dtype=np.int64))
    single = gymnasium.make("ide3al/DoubleChain-v0")
    single.reset(seed=0)
    single.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        single.step(0)
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        ide3al.IDE3AL().fit(single, total_timesteps=5)


def test_tables():
    class Toy:
        observation_space = gymnasium.spaces.Discrete(2)
        action_space = gymnasium.spaces.Discrete(1)
        initial_state_distrib = np.array([1.0, 0.0])

    env = Toy()
    for table, message in [
        ({0: {0: [(1.0, 1, 0, False)]}}, "P has no state 1"),
        ({0: {}, 1: {}}, "P has no action 0 in state 0"),
        ({0: {0: [(1.0, 5, 0, False)]}, 1: {}}, "next state 5 is out of range"),
        ({0: {0: [(1.0, 1)]}, 1: {}}, "is not .probability, next state, reward, terminated"),
        (
            {0: {0: [(0.5, 1, 0, False)]}, 1: {0: [(1.0, 1, 0, False)]}},
            "state 0, action 0: probabilities sum to 0.5",
        ),
    ]:
        env.P = table
        with pytest.raises(ide3al.Error, match=message):
            ide3al.MDP.from_gymnasium(env)
    # NumPy numbers and duplicate successors are fine
    half = np.float32(0.5)
    env.P = {
        np.int64(0): {0: [(half, np.int64(1), 0, False), (half, 1, 0, np.bool_(False))]},
        1: {0: [(1.0, 0, 0, False)]},
    }
    assert ide3al.MDP.from_gymnasium(env).nnz == 2


def test_agent_files(tmp_path):
    agent = ide3al.Random().fit(gymnasium.make("FrozenLake-v1"), total_timesteps=10)
    path = tmp_path / "agent.zip"
    agent.save(path)
    with pytest.raises(
        ide3al.Error, match="holds an agent of class Random; load it with ide3al.Random.load"
    ):
        ide3al.IDE3AL.load(path)
    with pytest.raises(ide3al.Error, match="cannot read"):
        ide3al.Random.load(tmp_path / "none.zip")
    bytes_ = bytearray(path.read_bytes())
    for place in range(0, len(bytes_), 37):
        damaged = bytes_.copy()
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            again = ide3al.Random.load(path)
        except ide3al.Error:
            continue
        # a flipped date or flag in the archive's directory changes nothing that matters
        assert (again.visits == agent.visits).all()


def test_a_missing_extra_names_its_installation(monkeypatch):
    lake = gymnasium.make("FrozenLake-v1")
    mdp = ide3al.MDP.from_gymnasium(lake)
    missing = [
        ("minari", "minari", lambda: ide3al.collect(lake, "?", 5, dataset_id="a/b-v0")),
        ("matplotlib.pyplot", "plot", lambda: ide3al.plot_policy(mdp, "uniform")),
        ("scipy.sparse", "all", mdp.sparse),
        ("tensorboardX", "tensorboard", lambda: ide3al.callbacks.TensorBoard("nowhere")),
    ]
    for module, extra, call in missing:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            message = rf'{module} is not installed.*pip install "ide3al\[{extra}\]"'
            with pytest.raises(ide3al.MissingExtra, match=message):
                call()
    assert issubclass(ide3al.MissingExtra, (ide3al.Error, ImportError))
    # what is there but lacks something itself speaks for itself
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ray.util", None)
        patch.delitem(sys.modules, "ray.util.queue", raising=False)
        with pytest.raises(ImportError) as caught:
            need("ray.util.queue", "ray")
        assert "ray" in str(caught.value)


def test_without_gymnasium_its_installation_is_named():
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import ide3al\n"
        "for module in ('envs', 'wrappers'):\n"
        "    try: __import__('ide3al.' + module)\n"
        "    except ide3al.MissingExtra as problem: print(problem)\n"
        "print(ide3al.solve(ide3al.MDP.domain('river-swim')).status)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = out.stdout.splitlines()
    assert len(lines) == 3 and lines[2] == "optimal"
    assert all('pip install "ide3al[gymnasium]"' in line for line in lines[:2])


def test_what_is_no_file_name_flag_or_count(tmp_path):
    env = gymnasium.make("FrozenLake-v1")
    agent = ide3al.Random().fit(env, 100)
    data = ide3al.collect(env, agent, 20)
    model = ide3al.MDP.domain("double-chain")
    for use in (
        agent.save,
        ide3al.Random.load,
        data.save,
        model.save,
        ide3al.MDP.load,
        ide3al.LearnedPlan.load,
        lambda path: ide3al.collect(env, agent, 20, out=path),
        data.save_card,
        ide3al.solve(model).save_policy,
        ide3al.plan(model, goal=3).save_policy,
        lambda path: ide3al.load_policy(model, path),
        ide3al.callbacks.TensorBoard,
        ide3al.experiment(model, "random", runs=1, iterations=1).to_tensorboard,
        ide3al.experiment(model, "random", runs=1, iterations=1).save,
    ):
        with pytest.raises(ide3al.Error, match="= 3: the name of a file or folder is needed"):
            use(3)
    with pytest.raises(ide3al.Error, match="at most"):
        ide3al.Random().fit(env, 1e30)
    with pytest.raises(ide3al.Error, match="learn = 'a'"):
        ide3al.collect(env, agent, 20, learn="a")
    with pytest.raises(ide3al.Error, match="cell = 3"):
        ide3al.collect(env, agent, 20, cell=3)
    with pytest.raises(ide3al.Error, match="agents = 3"):
        ide3al.compare(env, 3, 20)
    with pytest.raises(ide3al.Error, match="1 is no name"):
        ide3al.compare(env, {1: agent}, 20)
    with pytest.raises(ide3al.Error, match="no Gymnasium environment"):
        ide3al.wrappers.State(None)
    with pytest.raises(ide3al.Error, match="one environment is needed"):
        ide3al.wrappers.State(gymnasium.make_vec("CartPole-v1", num_envs=2))


def test_commands_name_what_is_wrong(tmp_path, capsys):
    from ide3al.__main__ import main

    env = gymnasium.make("FrozenLake-v1")
    lake, file = str(tmp_path / "lake.npz"), tmp_path / "file"
    ide3al.collect(env, "random", 200).save(lake)
    file.write_text("no folder")
    for given, message in (
        (["plan", lake, "--goal", "elsewhere"], "'elsewhere' is no state of these data"),
        (["explore", "nowhere:Id-v0", "--steps", "9", "--out", str(tmp_path / "a")], "nowhere"),
        (["explore", "FrozenLake-v1", "--steps", "9", "--out", f"{file}/b"], "file"),
    ):
        assert main(given) == 2
        assert message in capsys.readouterr().err


class Corridor(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Discrete(6), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place = (self.place + 1) % 6
        return self.place, 0.0, False, self.place == 5, {}


class Unseeded(Corridor):
    def reset(self):
        return super().reset()


class OldReset(Corridor):
    def reset(self, *, seed=None, options=None):
        return super().reset()[0]


class OldStep(Corridor):
    def step(self, action):
        return super().step(action)[1:]


class SeveralAgents:
    def observation_space(self, agent):
        return gymnasium.spaces.Discrete(2)

    def action_space(self, agent):
        return gymnasium.spaces.Discrete(2)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Unseeded, "Unseeded.reset takes no seed: it follows an older interface"),
        (OldReset, "OldReset.reset returned a single value of type int; Gymnasium's returns"),
        (OldStep, "OldStep.step returned 4 values; Gymnasium's returns five"),
        (SeveralAgents, "SeveralAgents.observation_space is a function, as in environments of sev"),
    ],
)
def test_environments_of_other_interfaces_are_named(kind, message):
    for use in (
        lambda env: ide3al.IDE3AL().fit(env, 20),
        lambda env: ide3al.collect(env, "random", 20),
        lambda env: ide3al.collect(env, ide3al.Random(), 20, learn=True),
    ):
        with pytest.raises(ide3al.Error, match=message):
            use(kind())
