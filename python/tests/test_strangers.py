"""Files from strangers: no code is run, memory is bounded, nothing is written elsewhere."""

import io
import json
import pickle
import struct
import zipfile

import gymnasium
import numpy as np
import pytest

import ide3al


class Exploit:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code from a file was run')",)


def lake():
    return gymnasium.make("FrozenLake-v1")


@pytest.fixture
def agent_file(tmp_path):
    path = tmp_path / "agent.zip"
    ide3al.IDE3AL().fit(lake(), 200).save(path)
    return path


def rewritten(path, **members):
    """The archive with other members."""
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**kept, **members}.items():
            archive.writestr(name, content)
    return path


def bomb(size=300 << 20):
    """So many zeros in a few kilobytes."""
    return memoryview(bytearray(size))


def header(shape, dtype="<f8"):
    """An array's header that claims a shape, with hardly anything behind it."""
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(16)


def npz(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def test_agents(agent_file, tmp_path):
    with zipfile.ZipFile(agent_file) as archive:
        text = json.loads(archive.read("agent.json"))
    for change in ({"n_states": 2**31}, {"n_actions": 2**40}, {"n_states": 10**9, "starts": []}):
        with pytest.raises(ide3al.Error):
            content = {"agent.json": json.dumps({**text, **change})}
            ide3al.IDE3AL.load(rewritten(agent_file, **content))
    ide3al.IDE3AL().fit(lake(), 200).save(agent_file)
    # names that lead elsewhere are names, and no places
    rewritten(agent_file, **{"../outside.txt": b"x", "/tmp/outside-ide3al.txt": b"x"})
    ide3al.IDE3AL.load(agent_file)
    assert not (tmp_path.parent / "outside.txt").exists()
    for member in ("observations.txt", "ide3al.json", "cells.json", "masks.json", "beyond.txt"):
        ide3al.IDE3AL().fit(lake(), 200).save(agent_file)
        # masks are those of observations that were met
        content = {"observations.txt": "[0]"} if member == "masks.json" else {}
        content[member] = "__import__('os').system('exit 1')"
        content["steps.npz"] = pickle.dumps(Exploit())
        with pytest.raises(ide3al.Error):
            ide3al.IDE3AL.load(rewritten(agent_file, **content), env=lake())


def test_bombs_are_not_unpacked(agent_file, tmp_path):
    with pytest.raises(ide3al.Error, match="unpacks to .* bytes"):
        ide3al.IDE3AL.load(rewritten(agent_file, bomb=bomb()))
    path = tmp_path / "bomb.npz"
    path.write_bytes(npz(observations=bomb(), actions=b"", terminations=b""))
    with pytest.raises(ide3al.Error, match="unpacks to .* bytes"):
        ide3al.audit(path)
    with pytest.raises(ide3al.Error):
        ide3al.MDP.load(path)


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (2**62, 4)])
def test_absurd_shapes_take_no_memory(tmp_path, shape):
    path = tmp_path / "data.npz"
    path.write_bytes(
        npz(observations=header(shape), actions=header(shape), terminations=header(shape))
    )
    with pytest.raises(ide3al.Error, match="shape .* does not fit"):
        ide3al.audit(path)
    path.write_bytes(npz(P=header(shape)))
    with pytest.raises(ide3al.Error):
        ide3al.MDP.load(path)


def test_data_sets_hold_no_code(tmp_path):
    path = tmp_path / "data.npz"
    array = np.array([Exploit()], dtype=object)
    np.savez(path, observations=array, actions=array, terminations=array)
    with pytest.raises(ide3al.Error, match="Python's objects"):
        ide3al.audit(path)
    data = ide3al.collect(lake(), "random", 50)
    data.save(path)
    for member in ("states", "card", "raw_steps"):
        content = {f"{member}.npy": _text("__import__('os').system('exit 1')")}
        with pytest.raises(ide3al.Error, match="damaged"):
            ide3al.audit(rewritten(path, **content))
        data.save(path)


def _text(text):
    buffer = io.BytesIO()
    np.save(buffer, np.array(text))
    return buffer.getvalue()


def test_parquet(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "data.parquet"
    rows = 100_000_000
    # one value over and over: a few kilobytes for a gigabyte
    polars.LazyFrame({"observation": [0]}).select(
        polars.repeat(0, rows, dtype=polars.Int64).alias("observation")
    ).sink_parquet(path, row_group_size=rows)
    assert path.stat().st_size < 8_000_000
    with pytest.raises(ide3al.Error, match="rows of 1 columns"):
        ide3al.audit(path)
    ide3al.collect(lake(), "random", 50).save(path)
    whole = path.read_bytes()
    for place in range(4, len(whole), 97):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        try:
            ide3al.audit(path)
        except ide3al.Error:
            continue


def test_raw_steps_that_do_not_fit(tmp_path):
    pole = gymnasium.make("CartPole-v1")
    path = tmp_path / "data.npz"
    data = ide3al.collect(pole, "random", 60)
    data.save(path)
    good = dict(np.load(path))
    for name, value in (
        ("raw/lengths", good["raw/lengths"] * 0),
        ("raw/durations", good["raw/durations"] * 10**9),
        ("raw/observations", good["raw/observations"][:-1]),
        ("raw_steps", np.array('{"observations": {"array": "x"}, "actions": 3}')),
    ):
        np.savez(path, **{**good, name: value})
        with pytest.raises(ide3al.Error, match="raw steps"):
            ide3al.audit(path)


def test_journals(tmp_path):
    def stop(now):
        if now["episodes"] == 3:
            raise KeyboardInterrupt

    pole = gymnasium.make("CartPole-v1")
    with pytest.raises(KeyboardInterrupt):
        ide3al.collect(pole, "random", 200, out=tmp_path / "pole", progress_bar=stop)
    log = tmp_path / "pole" / "episodes.log"
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 2] + b"\x00" * 8 + whole[len(whole) // 2 + 8 :])
    with pytest.raises(ide3al.Error, match="damaged"):
        ide3al.collect(pole, "random", 200, out=tmp_path / "pole", resume=True)
    log.write_bytes(whole)
    resumed = ide3al.collect(pole, "random", 200, out=tmp_path / "pole", resume=True)
    straight = ide3al.collect(pole, "random", 200)
    np.testing.assert_array_equal(resumed.raw.observations, straight.raw.observations)
    assert resumed.keys == straight.keys
