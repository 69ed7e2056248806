"""An environment from the command line, agents side by side, complete states, pictures of maps."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import ide3al
import ide3al.wrappers
from ide3al.__main__ import main


def test_explore_writes_everything(tmp_path, capsys):
    arguments = ["explore", "FrozenLake-v1", "--steps", "2000", "--set", "map_name=8x8"]
    assert main([*arguments, "--out", str(tmp_path / "lake")]) == 0
    said = capsys.readouterr()
    assert "effective states" in said.out and "2000/2000 steps" in said.err
    names = {path.name for path in (tmp_path / "lake").iterdir()}
    assert names == {"agent.zip", "data.npz", "card.json", "card.html", "report.html"}
    env = gymnasium.make("FrozenLake-v1", map_name="8x8")
    agent = ide3al.IDE3AL.load(tmp_path / "lake" / "agent.zip", env=env)
    data = ide3al.audit(tmp_path / "lake", env=env)
    assert len(data) == 2000 and agent.num_timesteps >= 2000
    page = (tmp_path / "lake" / "report.html").read_text()
    assert page.count("data:image/png") == 2 and "How to go on" in page
    assert main([*arguments, "--out", str(tmp_path / "lake")]) == 2
    assert "a report is there already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["CartPole-v1", "Taxi-v4"])
def test_an_interrupted_exploration_goes_on(name, tmp_path, monkeypatch):
    from ide3al._explore import explore

    whole = explore(name, 2000, tmp_path / "whole", seed=3)

    def stop(done, total, agent):
        if done > 1100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(name, 2000, tmp_path / "parts", seed=3, show=stop)
    with pytest.raises(ide3al.Error, match="begun with other settings"):
        explore(name, 3000, tmp_path / "parts", seed=3)
    parts = explore(name, 2000, tmp_path / "parts", seed=3)
    np.testing.assert_array_equal(parts.observations, whole.observations)
    assert parts.keys == whole.keys and len(parts) == 2000
    for file in ("data.npz", "card.json"):
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Nonsense-v0", "--steps", "10"], "Nonsense.*module:Id-v0"),
        (["FrozenLake-v1", "--steps", "0"], "steps = 0: at least 1"),
        (["FrozenLake-v1", "--steps", "10", "--set", "x"], "--set x: NAME=VALUE"),
        (["FrozenLake-v1", "--steps", "10", "--set", "maps=1"], "unexpected keyword"),
    ],
)
def test_what_explore_refuses(arguments, message, tmp_path, capsys):
    assert main(["explore", *arguments, "--out", str(tmp_path / "x")]) == 2
    assert __import__("re").search(message, capsys.readouterr().err)


def test_explore_from_a_shell(tmp_path):
    command = [sys.executable, "-m", "ide3al", "explore", "--help"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "ENV_ID" in out and "the same command goes on" in " ".join(out.split())


def test_agents_side_by_side():
    agents = {"plan": ide3al.IDE3AL(), "any": ide3al.Random()}
    result = ide3al.compare("FrozenLake-v1", agents, 600, runs=2, workers=1)
    elsewhere = ide3al.compare("FrozenLake-v1", agents, 600, runs=2, workers=2)
    for metric, values in result.values.items():
        assert values.shape == (2, 2, len(result.steps))
        np.testing.assert_array_equal(values, elsewhere.values[metric])
    assert (np.diff(result.values["distinct_states"]) >= 0).all()
    assert (result.values["effective_states"] <= result.values["distinct_states"] + 1e-9).all()
    assert "plan" in repr(result) and "±" in result._repr_html_()
    assert len(result.to_pandas()) == 4 * len(result.steps)
    axes = result.plot("distinct_states")
    assert len(axes.lines) == 2 and axes.get_ylabel() == "distinct states"
    pole = ide3al.compare(lambda: gymnasium.make("CartPole-v1"), [ide3al.Random()], 300, runs=1)
    assert pole.environment == "CartPole-v1" and pole.interval()[0][0] > 1
    with pytest.raises(ide3al.Error, match="has learned already"):
        fitted = ide3al.Random().fit(gymnasium.make("FrozenLake-v1"), 50)
        ide3al.compare("FrozenLake-v1", [fitted], 100)
    with pytest.raises(ide3al.Error, match="metric = 'best'"):
        result.interval("best")


def test_agents_side_by_side_on_a_cluster(cluster):
    agents = [ide3al.IDE3AL(), ide3al.Random()]
    here = ide3al.compare("FrozenLake-v1", agents, 300, runs=1, workers=1)
    there = ide3al.compare("FrozenLake-v1", agents, 300, runs=1, engine="ray")
    for metric, values in here.values.items():
        np.testing.assert_array_equal(values, there.values[metric])


def test_agents_show_themselves():
    assert "0" in ide3al.IDE3AL()._repr_html_()
    shown = ide3al.IDE3AL().fit(gymnasium.make("FrozenLake-v1"), 300)._repr_html_()
    assert "pairs tried" in shown and "300" in shown


def test_complete_states():
    import minigrid  # noqa: F401

    env = gymnasium.make("MiniGrid-DoorKey-5x5-v0")
    seen = ide3al.wrappers.State(env, seed=3)
    agent = ide3al.Random().fit(seen, 1_500)
    # the same layout in every episode: nothing changes, and what is seen decides what follows
    assert agent.notes == [] or not any("changes" in note for note in agent.notes)
    rows = agent.model.dense().reshape(-1, len(agent.states))
    tried = agent.visits.ravel() > 0
    goes_on = tried & (rows.max(axis=1) == 1.0)
    assert goes_on.sum() > 0.9 * tried.sum()
    assert seen.reset()[0].dtype == np.int16
    keyed = ide3al.wrappers.State(env, key=lambda env, seen: tuple(map(int, env.agent_pos)))
    assert len(ide3al.Random().fit(keyed, 500).states) <= 9
    with pytest.raises(ide3al.Error, match="key=lambda"):
        ide3al.wrappers.State(gymnasium.make("CartPole-v1"))


def test_an_agent_is_told_of_episodes():
    env = gymnasium.make("MountainCar-v0")
    agent = ide3al.Random(abstraction=ide3al.Abstraction(repeat=8)).fit(env, 600)
    follow = ide3al.wrappers.Follow(env, agent)
    firsts = []
    for episode in range(40):
        observation, _ = follow.reset(seed=episode)
        actions = [int(agent.predict(observation)) for _ in range(4)]
        assert len(set(actions)) == 1, "an action is held"
        firsts.append(actions[0])
    assert len(set(firsts)) == 3, "and let go when an episode begins"


class Grid(gymnasium.Env):
    """Five by five; the observation is where one is."""

    observation_space = spaces.Dict(
        agent=spaces.Box(0, 4, (2,), np.int64), target=spaces.Box(0, 4, (2,), np.int64)
    )
    action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.taken = np.array([0, 0]), 0
        return self._seen(), {}

    def step(self, action):
        self.at = np.clip(self.at + [(1, 0), (0, 1), (-1, 0), (0, -1)][action], 0, 4)
        self.taken += 1
        return self._seen(), 0.0, False, self.taken >= 30, {}

    def _seen(self):
        return {"agent": self.at.copy(), "target": np.array([4, 4])}


def test_maps_and_arrows():
    from ide3al.plotting.maps import displacements, map_of_observations

    agent = ide3al.IDE3AL().fit(Grid(), 1_500)
    grid = map_of_observations(agent.states)
    assert (grid.rows, grid.columns) == (5, 5) and len(set(grid.at.tolist())) == 25
    mdp = ide3al.MDP.domain("four-rooms")
    solution = ide3al.solve(mdp)
    for drawn, options in (
        (agent, {}),
        (solution, {}),
        (ide3al.IDE3AL().fit(gymnasium.make("FrozenLake-v1"), 300), {}),
        (ide3al.MDP.from_gymnasium(gymnasium.make("FrozenLake-v1")), {"shape": (4, 4)}),
    ):
        policy = np.full((16, 4), 0.25) if options else None
        axes = ide3al.plot_policy(drawn, policy, **options)
        arrows = [c for c in axes.collections if type(c).__name__ == "Quiver"]
        assert len(arrows) == 1 and len(arrows[0].U) > 10
    # right leads right, down leads down
    start = agent.state_of({"agent": np.array([2, 2]), "target": np.array([4, 4])})
    moved = displacements(agent.model, grid)[4 * start : 4 * start + 4]
    np.testing.assert_allclose(moved, [(0, 1), (1, 0), (0, -1), (-1, 0)], atol=1e-9)
    data = ide3al.collect(Grid(), agent, 200)
    picture = ide3al.plot_visitation(data).images[0].get_array()
    assert picture.shape == (5, 5) and np.nansum(picture) == pytest.approx(1)
    bars = ide3al.plot_visitation(ide3al.collect(gymnasium.make("Blackjack-v1"), "random", 50))
    assert not bars.images
    with pytest.raises(ide3al.Error, match="policy: probabilities are needed"):
        ide3al.plot_policy(mdp)
