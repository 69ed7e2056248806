"""The interface: every public name is documented, examples run, and old names still work."""

import copy
import dataclasses
import doctest
import importlib
import inspect
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from numpydoc.validate import validate

import ide3al

LAKE = np.full((16, 4), 0.25)

#: Classes that functions return, or that are raised.
MADE_BY_OTHERS = {
    "Account", "Analysis", "CollectionError", "Comparison", "Data", "EpisodeAnalysis", "EpisodeSolution", "Error",
    "ExperimentError", "ExperimentResult", "Frontier", "MissingExtra", "Solution", "Studio",
    "Evaluation", "LearnedPlan", "Plan",
}  # fmt: skip

#: What numpydoc must not find: no docstring, parameters that are not described, described ones that
#: do not exist or stand in another order, no section on what is returned, and no example.
ERRORS = {"GL08", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "YD01"}
#: Modules whose public names are not at the top of the package.
MODULES = {"envs": ["ModelEnv", "ModelVectorEnv"]}
MODULES |= {"wrappers": ["Discretize", "Follow", "State", "Novelty"]}
MODULES |= {"callbacks": ["TensorBoard"]}


def public():
    """Every public function, class and method by its full name."""
    for name in ide3al.__all__:
        thing = getattr(ide3al, name)
        yield f"{thing.__module__}.{thing.__qualname__}", thing
    for module, names in MODULES.items():
        loaded = importlib.import_module(f"ide3al.{module}")
        for name in names:
            yield f"ide3al.{module}.{name}", getattr(loaded, name)


NAMES = dict(public())


def methods(kind):
    """Public methods that the package itself defines."""
    for name, member in inspect.getmembers(kind):
        if not name.startswith("_") and inspect.isroutine(member):
            if getattr(member, "__module__", "").startswith("ide3al."):
                yield name, member


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.rsplit(".", 1)[1])
def test_every_public_name_says_what_it_takes_and_gives(name):
    thing = NAMES[name]
    if inspect.isclass(thing) and thing.__module__ == "ide3al._ide3al":
        assert thing.__doc__
        return
    checked = [name]
    if inspect.isclass(thing) and not thing.__module__.startswith("ide3al._ide3al"):
        checked += [f"{name}.{method}" for method, _ in methods(thing)]
    problems = [
        f"{one}: {code} {text}"
        for one in checked
        for code, text in validate(one)["errors"]
        # nobody but the package makes those, and their fields have texts of their own
        if code in ERRORS
        and not (code == "PR01" and one.rsplit(".", 1)[1] in {*MADE_BY_OTHERS, "Utility"})
    ]
    assert not problems, "\n".join(problems)
    if inspect.isfunction(thing):
        assert "Raises\n" in thing.__doc__ or name.endswith(".domains"), "no section on errors"


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.rsplit(".", 1)[1])
def test_examples_run(name, tmp_path, monkeypatch):
    thing = NAMES[name]
    examples = doctest.DocTestFinder(recurse=False).find(thing, globs={})
    if name.rsplit(".", 1)[1] in MADE_BY_OTHERS:
        # what functions return has its example there
        return
    assert sum(len(one.examples) for one in examples) > 0, "no example"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for one in examples:
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(one)
        assert result.failed == 0


def test_dir_shows_public_names_only():
    shown = {name for name in dir(ide3al) if not name.startswith("_")}
    assert shown >= set(ide3al.__all__)
    public_modules = {"callbacks", "envs", "wrappers"}
    assert shown - set(ide3al.__all__) <= public_modules


def lake():
    return gymnasium.make("FrozenLake-v1")


def test_old_names_warn_and_work():
    new = ide3al.collect(lake(), LAKE, total_timesteps=50, seed=1)
    with pytest.warns(DeprecationWarning, match="steps is now called total_timesteps"):
        assert ide3al.collect(lake(), LAKE, steps=50, seed=1) == new
    with pytest.warns(DeprecationWarning, match="complete is now called initial_data"):
        with pytest.raises(ide3al.Error, match="initial_data"):
            ide3al.collect(lake(), ide3al.Random(), 5, learn=True, complete=new)
    with pytest.raises(ide3al.Error, match="give one of them"):
        ide3al.collect(lake(), LAKE, steps=50, total_timesteps=50)
    for old, match in (({"threads": 1}, "workers"), ({"engine": "threads"}, "'local'")):
        with pytest.warns(DeprecationWarning, match=match) as caught:
            ide3al.experiment("single-chain", "random", runs=1, iterations=2, **old)
        assert caught[0].filename == __file__, "the warning points at the caller"
    with pytest.warns(DeprecationWarning, match="open_browser"):
        ide3al.studio(open=False).close()
    with pytest.warns(DeprecationWarning, match="does nothing"):
        ide3al.Random(paper=True)
    with pytest.warns(DeprecationWarning, match="state_action_entropy"):
        assert new.entropy == new.state_action_entropy
    with pytest.warns(DeprecationWarning, match="actionable"):
        assert (new.wanting == new.actionable).all()
    chain = ide3al.analyze(ide3al.MDP.domain("single-chain"))
    with pytest.warns(DeprecationWarning, match="state_entropy"):
        assert chain.entropy == chain.state_entropy
    with pytest.warns(DeprecationWarning, match="state_keys"):
        mdp, keys = ide3al.MDP.from_simulator(gymnasium.make("FrozenLake-v1", is_slippery=False))
    assert keys == mdp.state_keys == pickle.loads(pickle.dumps(mdp)).state_keys
    with pytest.raises(TypeError):
        iter(ide3al.MDP.domain("single-chain"))


def test_new_names_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        data = ide3al.collect(lake(), LAKE, total_timesteps=20, seed=1, progress_bar=lambda _: None)
        assert data.state_entropy > 0 and data.state_action_entropy > 0


def test_records_compare_by_what_they_hold():
    first, second = (ide3al.collect(lake(), LAKE, 60, seed=1) for _ in range(2))
    assert first == second and not first != second
    assert first != ide3al.collect(lake(), LAKE, 60, seed=2) and first != 3
    assert first == dataclasses.replace(first, dataset="somewhere")
    assert first.episodes() == second.episodes() and first.episodes()[0] != first.episodes()[1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    env = gymnasium.make("MountainCar-v0")
    agent = ide3al.Random(seed=1, abstraction=ide3al.Abstraction(repeat=4)).fit(env, 600)
    account = agent.account(env, 50)
    assert account == copy.deepcopy(account)
    assert account != dataclasses.replace(account, steps=51)


def test_parameters_of_an_agent():
    agent = ide3al.IDE3AL(xi=0.05, batch_size=20, seed=3)
    given = agent.get_params()
    assert given["xi"] == 0.05 and given["seed"] == 3 and given["batch_size"] == 20
    assert set(given) == set(inspect.signature(ide3al.IDE3AL).parameters)
    agent.fit(lake(), 100)
    twin = agent.clone()
    assert twin.get_params() == given and twin.num_timesteps == 0
    assert np.array_equal(twin.fit(lake(), 100).policy, agent.policy)
    cells = ide3al.Abstraction(repeat=4)
    assert ide3al.MaxEnt(abstraction=cells).clone().abstraction is cells
    for kind in (ide3al.MaxEnt, ide3al.CountBased, ide3al.Random):
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            assert kind(seed=2).clone().seed == 2


def test_a_card_has_the_keys_that_its_type_names():
    from ide3al.datasets.card_types import (
        CardCurve,
        CardEpisodes,
        CardPairs,
        CardPromise,
        CardStates,
        DataCard,
    )

    until = ide3al.Coverage(each_pair=2)
    card = ide3al.collect(lake(), ide3al.IDE3AL(), until=until, seed=1).card
    assert set(card) <= set(DataCard.__annotations__)
    assert set(card) >= DataCard.__required_keys__
    for part, kind in (
        ("episodes", CardEpisodes), ("states", CardStates), ("pairs", CardPairs),
        ("curve", CardCurve),
    ):  # fmt: skip
        assert set(card[part]) == set(kind.__annotations__)
    assert set(card["promise"]) <= set(CardPromise.__annotations__)
