"""What IDE3AL is asked for besides the formulation: budgets, proportions, restarts."""

import copy

import gymnasium
import numpy as np
import pytest

import ide3al

HOLES = [5, 7, 11, 12]


class Named(gymnasium.ObservationWrapper):
    """States with names, which are numbered as they are met."""

    def __init__(self):
        super().__init__(gymnasium.make("FrozenLake-v1"))
        self.observation_space = gymnasium.spaces.Text(8)

    def observation(self, observation):
        return f"cell {observation}"


def lake():
    return gymnasium.make("FrozenLake-v1")


def share(agent):
    """Share of steps in the holes."""
    return agent.visits[HOLES].sum() / agent.visits.sum()


def test_a_budget_of_risk_holds_while_exploring_and_under_the_policy():
    # what is limited below would otherwise happen often
    assert share(ide3al.Random(seed=1).fit(lake(), 6000)) > 0.1
    assert share(ide3al.IDE3AL(seed=1).fit(lake(), 6000)) > 2 * 0.035
    limits = [(lambda state: state in HOLES, 0.03)]
    agent = ide3al.IDE3AL(seed=1, limits=limits, xi=0.0).fit(lake(), 6000)
    assert share(agent) < 0.035
    # the policy in the true model, which episodes leave from the holes
    assert agent.metrics["stationary"][HOLES].sum() < 0.035
    assert "limit 1: an average cost of 0.03" in " ".join(agent.notes)
    # it goes on from a copy and from a clone as the same
    assert copy.deepcopy(ide3al.IDE3AL(limits=[(HOLES, 0.03)])).limits == ((HOLES, 0.03),)
    assert agent.clone().fit(lake(), 500).visits.sum() == 500


def test_costs_are_named_by_a_function_observations_or_numbers():
    costs = np.isin(np.arange(16), HOLES).astype(float)
    given = [HOLES, lambda state: state in HOLES, costs, np.repeat(costs[:, None], 4, axis=1)]
    agents = [ide3al.IDE3AL(seed=2, limits=[(cost, 0.03)]).fit(lake(), 1500) for cost in given]
    for agent in agents[1:]:
        assert np.array_equal(agent.visits, agents[0].visits)
        assert np.array_equal(agent.policy, agents[0].policy)


def test_states_that_are_found_one_by_one_have_costs_as_they_are_met(tmp_path):
    names = [f"cell {hole}" for hole in HOLES]
    agent = ide3al.IDE3AL(seed=3, limits=[(lambda name: name in names, 0.03)], xi=0.0)
    agent.fit(Named(), 6000)
    met = [state in names for state in agent.states]
    assert agent.visits[met].sum() < 0.035 * 6000
    agent.save(tmp_path / "agent.ide3al")
    again = ide3al.IDE3AL.load(tmp_path / "agent.ide3al")
    assert np.array_equal(again.policy, agent.policy)
    again.limits = agent.limits
    assert again.fit(Named(), 500).visits.sum() == 6500


def test_proportions_are_aimed_at_and_restarts_planned_for():
    class Line(gymnasium.Env):
        observation_space, action_space = gymnasium.spaces.Discrete(4), gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at = 0
            return 0, {}

        def step(self, action):
            self.at = min(max(self.at + 2 * int(action) - 1, 0), 3)
            return self.at, 0.0, False, False, {}

    agent = ide3al.IDE3AL(formulation="target", target=lambda s: 4.0 - s, seed=1).fit(Line(), 2000)
    assert agent.metrics["stationary"] == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.02)
    near = ide3al.IDE3AL(discount=0.5, seed=1).fit(Line(), 500)
    # where half of the steps start over, the way to even visits is onwards
    assert near.policy[0, 1] > 0.9
    assert near.get_params()["restart"] == 0.5 and near.clone().get_params()["discount"] is None


def test_what_makes_no_sense_is_refused():
    for arguments, problem in [
        ({"restart": 0.1, "discount": 0.9}, "give one of them"),
        ({"limits": [(HOLES, "much")]}, "budget of limit 1 = 'much'"),
        ({"limits": [0.5]}, "a list of pairs is needed"),
        ({"restart": 1.5}, "restart = 1.5"),
        ({"discount": 3}, "discount = 3: must be a number from 0 to 1"),
        ({"target": HOLES}, "takes none; choose the formulation 'target'"),
        ({"formulation": "target"}, "needs one probability per state"),
        ({"limits": [(HOLES, 0.1)], "paper": True}, "only the recommended 'ideal'"),
        ({"limits": [(HOLES, 0.1)], "formulation": "frobenius"}, "choose state-entropy"),
    ]:
        with pytest.raises(ide3al.Error, match=problem):
            ide3al.IDE3AL(**arguments)
    for cost, problem in [
        (np.zeros(3), "an array of shape"),
        ([99], "not all of these are observations"),
        (lambda state: "a lot", "limit 1 of .*0.* = 'a lot'"),
        (lambda state: [][1], "the function raised IndexError for"),
    ]:
        with pytest.raises(ide3al.Error, match=problem):
            ide3al.IDE3AL(limits=[(cost, 0.1)]).fit(lake(), 100)
    with pytest.raises(ide3al.Error, match="limits: kept where all steps"):
        ide3al.IDE3AL(limits=[(HOLES, 0.1)]).fit(lake, 100, engine="ray")
    hopeless = ide3al.IDE3AL(limits=[(lambda state: 1.0, 0.5)]).fit(lake(), 200)
    assert "cannot be had" in " ".join(hopeless.notes)


def test_a_vector_of_environments_keeps_the_budget_too():
    envs = gymnasium.make_vec("FrozenLake-v1", num_envs=3)
    agent = ide3al.IDE3AL(seed=1, limits=[(HOLES, 0.03)], xi=0.0).fit(envs, 6000)
    assert share(agent) < 0.04
