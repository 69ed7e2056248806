"""Files from anywhere: archives that expand, cards that claim, maps without end, steps that lead
nowhere known."""

import io
import json
import zipfile

import gymnasium
import numpy as np
import pytest

import ide3al

LAKE = np.full((16, 4), 0.25)


def bomb(path, member):
    """An archive of a few hundred kilobytes that unpacks to 300 MB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        content = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            content, {"descr": "<f8", "fortran_order": False, "shape": (37_500_000,)}
        )
        with archive.open(member, "w") as file:
            file.write(content.getvalue())
            for _ in range(300):
                file.write(bytes(1_000_000))
    return path


def test_archives_that_expand_beyond_all_measure_are_refused(tmp_path):
    path = bomb(tmp_path / "bomb.npz", "observations.npy")
    assert path.stat().st_size < 1_000_000
    with pytest.raises(ide3al.Error, match="unpacks to 300"):
        ide3al.audit(path)
    with pytest.raises(ide3al.Error, match="unpacks to"):
        ide3al.MDP.load(bomb(tmp_path / "model.npz", "P.npy"))
    with pytest.raises(ide3al.Error, match="unpacks to 300"):
        ide3al.IDE3AL.load(bomb(tmp_path / "agent.zip", "ide3al.json"))


def test_what_a_card_claims_is_computed_anew(tmp_path):
    env = gymnasium.make("FrozenLake-v1")
    kept = ide3al.collect(env, ide3al.IDE3AL(), until=ide3al.Coverage(each_pair=2), seed=1)
    kept.save(tmp_path / "kept.npz")
    assert ide3al.audit(tmp_path / "kept.npz").card["promise"]["holds"]
    lie = kept.replace(
        about={**kept.about, "promise": {**kept.card["promise"], "wanted": {"each_pair": 1000}}}
    )
    lie.save(tmp_path / "lie.npz")
    assert lie.card["promise"]["holds"]
    assert not ide3al.audit(tmp_path / "lie.npz").card["promise"]["holds"]
    # of states by name a card has the texts only
    named = {"wanted": {"each_pair": 1, "states": ["0"]}, "holds": True, "text": "anything"}
    for claim in (named, {"wanted": {"no_such": 1}}, "holds", {"wanted": {"each_pair": "x"}}):
        kept.replace(about={**kept.about, "promise": claim}).replace().episodes()
        data = kept.replace(about={**kept.about, "promise": claim})
        assert "promise" not in ide3al.audit(data).card


@pytest.mark.parametrize("grid", [(10**9, 10**9), (-1, 5), ("4", 4), (4, None)])
def test_a_map_without_end_is_not_drawn(tmp_path, grid):
    env = gymnasium.make("FrozenLake-v1")
    data = ide3al.collect(env, LAKE, 100, seed=1)
    data.save(tmp_path / "data.npz")
    with np.load(tmp_path / "data.npz") as archive:
        arrays = dict(archive)
    card = json.loads(str(arrays["card"]))
    assert ide3al.audit(tmp_path / "data.npz").card["grid"]["rows"] == 4
    card["grid"]["rows"], card["grid"]["columns"] = grid
    arrays["card"] = np.array(json.dumps(card))
    np.savez(tmp_path / "other.npz", **arrays)
    assert ide3al.audit(tmp_path / "other.npz").card["grid"] is None


def test_steps_that_lead_nowhere_known_make_no_self_loops():
    arrays = {
        "observations": [0, 1, 2, 5, 6, 3],
        "actions": [0, 1, 0, 1, 0, 0],
        "terminations": [0, 0, 1, 0, 0, 0],
        "truncations": [0, 0, 0, 0, 1, 1],
    }
    data = ide3al.audit(arrays)
    # one ended in a terminal state that nobody saw; two were truncated nobody knows where
    assert not (data.observations == data.next_observations).any()
    assert data.about["steps_left_out"] == 2 and len(data) == 4
    assert data.terminal.sum() == 1 and data.terminations.sum() == 1
    assert [len(episode) for episode in data.episodes()] == [3, 1]
    with pytest.raises(ide3al.Error, match="no episode has a second step"):
        ide3al.audit({"observations": [0, 1], "actions": [0, 0], "terminations": [0, 0],
                      "truncations": [1, 1]})  # fmt: skip
    known = ide3al.audit({**arrays, "next_observations": [1, 2, 4, 6, 3, 3]})
    assert len(known) == 6 and (known.observations == known.next_observations).sum() == 1


def test_an_agent_of_a_continuous_environment_survives_being_passed_on(tmp_path):
    env = gymnasium.make("MountainCar-v0")
    agent = ide3al.IDE3AL(seed=1, abstraction=ide3al.Abstraction(repeat=4)).fit(env, 1500)
    agent.save(tmp_path / "first.zip")
    # loaded without its environment, and saved again
    unused = ide3al.IDE3AL.load(tmp_path / "first.zip")
    assert (unused.repeat, unused.num_timesteps) == (4, 1500)
    np.testing.assert_array_equal(unused.states, agent.states)
    unused.save(tmp_path / "second.zip")
    again = ide3al.IDE3AL.load(tmp_path / "second.zip", env)
    assert again.repeat == 4 and again.num_timesteps == 1500
    again.fit(env, 500)
    agent.fit(gymnasium.make("MountainCar-v0"), 500)
    assert again.num_timesteps == agent.num_timesteps == 2000


def test_environments_made_here_are_closed_here_and_ctrl_c_keeps_what_was_taken():
    closed = []

    def made():
        env = gymnasium.make_vec("FrozenLake-v1", num_envs=2, vectorization_mode="sync")
        close = env.close
        env.close = lambda **given: (closed.append(True), close(**given))
        return env

    ide3al.collect(made, LAKE, 50)
    assert closed == [True]

    def stop(now):
        if now["episodes"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        ide3al.collect(gymnasium.make("FrozenLake-v1"), LAKE, 500, progress_bar=stop)
    assert len(caught.value.data.episodes()) == 3
