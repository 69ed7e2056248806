"""Data sets: many environments at once, saved as they are collected, audited and read back."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from lakes import LAKE, Screens, lake, lakes, minari_here, same  # noqa: F401

import ide3al
from ide3al.envs import ModelEnv
from ide3al.runners.sampler import seeds


def test_many_environments_learn_and_collect_the_same_however_they_are_stepped():
    agents = []
    for mode in ("sync", "sync", "async"):
        env = lakes(mode)
        agents.append(ide3al.IDE3AL(seed=3).fit(env, total_timesteps=1500))
        env.close()
    assert agents[0].num_timesteps == 1500 == agents[0].visits.sum()
    for other in agents[1:]:
        np.testing.assert_array_equal(other.visits, agents[0].visits)
    assert (ide3al.IDE3AL(seed=4).fit(lakes(), 1500).visits != agents[0].visits).any()
    assert (ide3al.IDE3AL(seed=3).fit(lakes(n=3), 1500).visits != agents[0].visits).any()
    # one batched prediction, or a single one
    actions = agents[0].predict(np.array([0, 1, 14]))
    assert actions.shape == (3,) and lakes(n=3).action_space.contains(actions)
    likeliest = agents[0].predict(np.arange(16), deterministic=True)
    np.testing.assert_array_equal(likeliest, agents[0].policy.argmax(axis=1))
    assert agents[0].predict(0) in range(4)
    first, second = (ide3al.collect(lakes(), LAKE, total_timesteps=300, seed=5) for _ in range(2))
    same(first, second)
    learned = ide3al.collect(lakes(), ide3al.Random(seed=1), total_timesteps=200, learn=True)
    assert len(learned) == 200 and learned.bounds[-1] == 200
    assert all(len(data.episodes()) > 10 for data in (first, learned))


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_every_way_of_starting_over_gives_whole_episodes(mode):
    env = lakes(vector_kwargs={"autoreset_mode": mode}, max_episode_steps=7)
    data = ide3al.collect(env, LAKE, total_timesteps=400, seed=2)
    assert len(data) == 400 and data.terminations.any() and data.truncations.any()
    holes = {5, 7, 11, 12, 15}
    assert set(data.next_observations[data.terminations].tolist()) <= holes
    assert not set(data.observations.tolist()) & holes, "no action is taken where an episode ended"
    assert all(episode.states[0] == 0 and len(episode) <= 7 for episode in data.episodes())
    agent = ide3al.Random(seed=0).fit(env, total_timesteps=2000)
    estimate, visits = agent.model.dense(), agent.visits
    truth = ide3al.MDP.from_gymnasium(lake(), on_terminal="reset").dense()
    assert visits.sum() == 2000
    # where it leads is where it can lead, ends and all
    assert (truth[visits > 0][estimate[visits > 0] > 0] > 0).all()


def test_data_sets_are_read_back_as_they_were(tmp_path):
    data = ide3al.collect(
        lake(), LAKE, steps=300, seed=1, out=tmp_path / "lake", dataset_id="lake/uniform-v0"
    )
    assert sorted(p.name for p in (tmp_path / "lake").iterdir()) == [
        "card.html",
        "card.json",
        "data.npz",
    ]
    data.save(tmp_path / "lake.parquet")
    for place in (
        tmp_path / "lake",
        tmp_path / "lake" / "data.npz",
        tmp_path / "lake.parquet",
        "lake/uniform-v0",
    ):
        same(ide3al.audit(place), data)
    card = json.loads((tmp_path / "lake" / "card.json").read_text())
    counts = data.counts
    assert card["steps"] == 300 and card["curve"]["steps"][-1] == 300
    assert card["curve"]["pairs_tried"][-1] == (counts > 0).sum() == card["pairs"]["tried"]
    assert card["pairs"]["untried"] == len(card["pairs"]["untried_named"])
    assert all(counts[s, a] == 0 for s, a in card["pairs"]["untried_named"])
    assert sum(v or 0 for v in card["grid"]["visits"]) == 300 and card["grid"]["rows"] == 4
    shares = counts.sum(axis=1)[counts.sum(axis=1) > 0] / 300
    assert card["effective_states"] == pytest.approx(np.exp(-(shares * np.log(shares)).sum()))
    table = data.to_polars()
    assert table["episode"].max() + 1 == card["episodes"]["number"]
    assert not list((tmp_path / "minari").rglob(".ide3al*"))


def test_found_states_are_kept_as_they_were_observed(tmp_path):
    import minari

    data = ide3al.collect(
        Screens(), ide3al.Random(), steps=200, out=tmp_path / "s", dataset_id="screens-v0"
    )
    dataset = minari.load_dataset("screens-v0")
    episode = next(dataset.iterate_episodes())
    places = episode.observations["screen"][:, 0, 0]
    assert places[0] == 0 and (np.abs(np.diff(places.astype(int))) <= 1).all()
    same(ide3al.audit("screens-v0"), ide3al.audit(tmp_path / "s"))
    data.save(tmp_path / "s.parquet")
    same(ide3al.audit(tmp_path / "s.parquet"), data)
    assert len(data.states) == 6 and data.terminal.sum() == 1
    grid = ide3al.collect(
        Screens(),
        ide3al.Random(),
        total_timesteps=50,
        cell=lambda seen: (0, int(seen["screen"][0, 0])),
    ).card["grid"]
    assert (grid["rows"], grid["columns"]) == (1, 6)
    # what comes from others is numbered as it is met
    theirs = {
        "obs": episode.observations["screen"][:-1].reshape(-1, 4),
        "acts": episode.actions,
        "dones": episode.terminations,
    }
    # and one more: where the episode ended, which nobody observed
    assert ide3al.audit(theirs).n_states == len(np.unique(places[:-1])) + 1


def test_the_card_is_one_page_and_names_are_text(tmp_path):
    class Strange(Screens):
        observation_space = gymnasium.Space()

        def _seen(self):
            return "<script>alert(1)</script>" + str(self.place)

    data = ide3al.collect(Strange(), ide3al.Random(), total_timesteps=4)
    data.save(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "http" not in page.replace("http-equiv", "") and page.count("<svg") == 1
    with pytest.raises(ide3al.Error, match="the ending says the format"):
        data.save(tmp_path / "card.doc")


def test_what_is_there_already_or_damaged_is_left_alone(tmp_path):
    def stop(now):
        if now["episodes"] == 5:
            raise KeyboardInterrupt

    given = {"total_timesteps": 100, "seed": 1, "out": tmp_path / "a"}
    with pytest.raises(KeyboardInterrupt):
        ide3al.collect(lake(), LAKE, **given, progress_bar=stop)
    log = tmp_path / "a" / "episodes.log"
    with pytest.raises(ide3al.Error, match="begun here and not finished; go on with resume=True"):
        ide3al.collect(lake(), LAKE, **given)
    with pytest.raises(ide3al.Error, match="other settings .*seed: 1 then, 2 now"):
        ide3al.collect(lake(), LAKE, **{**given, "seed": 2}, resume=True)
    with pytest.raises(ide3al.Error, match="not finished; go on with resume=True"):
        ide3al.audit(tmp_path / "a")
    whole = log.read_bytes()
    log.write_bytes(whole[:200] + b"\0" + whole[201:])
    with pytest.raises(ide3al.Error, match="damaged at byte"):
        ide3al.collect(lake(), LAKE, **given, resume=True)
    log.write_bytes(whole[:-3])
    data = ide3al.collect(lake(), LAKE, **given, resume=True)
    same(data, ide3al.collect(lake(), LAKE, total_timesteps=100, seed=1))
    with pytest.raises(ide3al.Error, match="a data set is there already"):
        ide3al.collect(lake(), LAKE, **given)
    ide3al.collect(lake(), LAKE, total_timesteps=10, dataset_id="lake-v0")
    with pytest.raises(ide3al.Error, match="exists already"):
        ide3al.collect(lake(), LAKE, total_timesteps=10, dataset_id="lake-v0")
    archive = (tmp_path / "a" / "data.npz").read_bytes()
    for name, content in (
        ("cut.npz", archive[:-100]),
        ("empty.npz", b""),
        ("text.npz", b"hello"),
        ("cut.parquet", b"PAR1"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ide3al.Error, match=f"{name}: .*(cut or damaged|cannot read)"):
            ide3al.audit(tmp_path / name)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("no/such-v0", "no such Minari data set"),
        ("data.csv", r"cannot read \.csv"),
        (7, "int: give Data"),
        ({}, "no array of observations"),
        (
            {"obs": np.zeros(3, int), "acts": np.zeros(2, int), "dones": np.zeros(3)},
            "actions has 2 entries, observations 3",
        ),
        ({"obs": np.zeros(0, int), "acts": np.zeros(0, int), "dones": np.zeros(0)}, "empty"),
        (
            {"obs": np.zeros(3, int), "acts": np.zeros(3, int), "dones": np.full(3, 2)},
            "one truth value per step",
        ),
        (
            {"obs": np.full(3, 0.5), "acts": np.zeros(3, int), "dones": np.zeros(3)},
            "real numbers.*Discretize",
        ),
        ({"obs": np.zeros(3, int), "acts": np.full(3, -1), "dones": np.zeros(3)}, "numbers from 0"),
    ],
)
def test_what_cannot_be_audited(dataset, message):
    with pytest.raises(ide3al.Error, match=message):
        ide3al.audit(dataset)


def test_continuous_data_are_audited_through_an_abstraction():
    rng = np.random.default_rng(0)
    theirs = {
        "observations": rng.random((50, 2)),
        "actions": rng.integers(2, size=50),
        "terminals": np.zeros(50),
    }
    data = ide3al.audit(theirs, states=lambda seen: tuple((seen * 2).astype(int).tolist()))
    assert data.n_states == 4 and len(data.states) == 4


def test_continuous_environments_are_collected_in_the_cells_of_an_agent(tmp_path):
    env = gymnasium.make("MountainCarContinuous-v0")
    settings = ide3al.Abstraction(cells=4, repeat=8)
    agent = ide3al.IDE3AL(seed=1, abstraction=settings).fit(env, 2000)
    data = ide3al.collect(env, agent, total_timesteps=150, seed=1, out=tmp_path / "car")
    assert data.n_actions == 3 and data.states[: len(agent.states)][0] == agent.states[0]
    assert data.card["abstraction"] == {
        "numbers": agent.partition.names,
        "actions": [[-1.0], [0.0], [1.0]],
        "repeat": 8,
    }
    assert (data.card["grid"]["rows"], data.card["grid"]["columns"]) == (4, 4)
    # the environment itself, step by step, is where the data say
    episode = data.episodes()[0]
    env.reset(seed=seeds(1, 0)[0])
    for action, number in zip(episode.actions[:5], episode.states[1:6], strict=True):
        for _ in range(8):
            position, speed = env.step(np.array([float(action) - 1]))[0]
        middle, width = np.array(data.states[number]), agent.partition.cells.width
        assert (np.abs(np.array([position, speed]) - middle) <= width / 2 + 1e-6).all()
    same(ide3al.audit(tmp_path / "car"), data)
    agent.save(tmp_path / "agent.zip")
    again = ide3al.collect(
        env, ide3al.IDE3AL.load(tmp_path / "agent.zip"), total_timesteps=150, seed=1
    )
    np.testing.assert_array_equal(again.observations, data.observations)
    until = ide3al.Coverage(each_pair=1)
    whole = ide3al.collect(
        env, agent, until=until, initial_data=tmp_path / "car", total_timesteps=3000, seed=4
    )
    assert whole.card["promise"]["holds"] and whole.counts[whole.actionable].min() >= 1
    # what others did step by step, audited in the same cells with the nearest actions
    rng = np.random.default_rng(0)
    theirs = {
        "observations": rng.uniform([-1.2, -0.07], [0.6, 0.07], (50, 2)),
        "actions": rng.uniform(-1, 1, (50, 1)),
    }
    audited = ide3al.audit({**theirs, "terminals": np.arange(50) == 30}, states=agent, until=until)
    assert (
        audited.n_actions == 3
        and audited.terminal.sum() == 1
        and audited.card["promise"]["short"] > 0
    )
    # where the last step led is not known
    np.testing.assert_array_equal(audited.actions, np.round(theirs["actions"][:-1, 0]) + 1)
    for given, message in (
        ({"policy": ide3al.IDE3AL(), "until": until}, "only an agent that was fitted here"),
        ({"policy": np.full((4, 3), 1 / 3)}, "give states=agent"),
        ({"dataset_id": "a car-v0"}, "Malformed dataset ID"),
        ({"initial_data": tmp_path / "car"}, "only with ide3al.IDE3AL and a promise"),
        ({"env": gymnasium.make("MountainCar-v0")}, "fitted with actions Box.*has Discrete"),
        (
            {"until": until, "initial_data": audited},
            "hold each action for 1 steps, the agent for 8",
        ),
    ):
        with pytest.raises(ide3al.Error, match=message):
            ide3al.collect(**{"env": env, "policy": agent, "total_timesteps": 5, **given})
    with pytest.raises(ide3al.Error, match="has no cells"):
        ide3al.audit(theirs, states=ide3al.IDE3AL())


def test_a_minari_data_set_that_is_cut_or_empty(tmp_path):
    ide3al.collect(lake(), LAKE, total_timesteps=50, dataset_id="lake-v0")
    files = sorted(p for p in (tmp_path / "minari").rglob("*") if p.suffix in (".hdf5", ".json"))
    assert len(files) >= 2
    for file in files:
        whole = file.read_bytes()
        for content in (whole[: len(whole) // 2], b""):
            file.write_bytes(content)
            with pytest.raises(ide3al.Error, match="lake-v0"):
                ide3al.audit("lake-v0")
        file.write_bytes(whole)
    assert len(ide3al.audit("lake-v0")) == 50


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "say how many, or give a promise"),
        ({"total_timesteps": 0}, "total_timesteps = 0"),
        ({"total_timesteps": 5, "step_time_limit": 0}, "step_time_limit = 0"),
        ({"total_timesteps": 5, "seed": -1}, "seed = -1"),
        ({"total_timesteps": 5, "engine": "spark"}, "'local' and 'ray' are known"),
        ({"total_timesteps": 5, "workers": 2}, 'only with engine="ray"'),
        ({"total_timesteps": 5, "resume": True}, "give the out or dataset_id"),
    ],
)
def test_what_cannot_be_collected(given, message):
    with pytest.raises(ide3al.Error, match=message):
        ide3al.collect(lake(), LAKE, **given)


def test_data_of_other_spaces_complete_nothing():
    chain = ide3al.collect(ModelEnv("double-chain"), np.full((20, 2), 0.5), total_timesteps=30)
    with pytest.raises(ide3al.Error, match="20 states and 2 actions.*another environment"):
        ide3al.collect(
            lake(), ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=1), initial_data=chain
        )
    chain.to_minari("chain-v0")
    with pytest.raises(ide3al.Error, match="these data are of another environment"):
        ide3al.audit("chain-v0", env=lake())


def test_the_program_audits(tmp_path, capsys):
    from ide3al.__main__ import main

    ide3al.collect(lake(), LAKE, total_timesteps=200, out=tmp_path / "x")
    assert (
        main(
            ["audit", str(tmp_path / "x"), "--each-pair", "5", "--out", str(tmp_path / "card.html")]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "pairs seen" in out and "at least 5 samples of every pair: does not hold" in out
    assert (tmp_path / "card.html").exists()
    assert main(["audit", str(tmp_path / "nothing.npz")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert main(["audit", str(tmp_path / "x"), "--out", "card.pdf"]) == 2
