"""What to visit: targets, coverage, model error, limits, restarts."""

import numpy as np
import pytest

import ide3al


@pytest.fixture(scope="module")
def chain() -> ide3al.MDP:
    return ide3al.MDP.domain("double-chain")


def test_coverage_promises_steps(chain: ide3al.MDP) -> None:
    solution = ide3al.solve(chain, "coverage", xi=0.0)
    assert solution.status == "optimal"
    assert 0 < solution.objective <= solution.bound * (1 + 1e-9)
    assert solution.gap <= 1e-6 * solution.objective
    assert solution.steps_for(100) == pytest.approx(100 / solution.objective)


def test_a_uniform_target_is_state_entropy(chain: ide3al.MDP) -> None:
    n = chain.n_states
    target = ide3al.solve(chain, "target", target=np.full(n, 1 / n), xi=0.02)
    even = ide3al.solve(chain, "state-entropy", xi=0.02)
    assert np.log(n) - target.objective == pytest.approx(even.objective, abs=1e-6)


def test_limits_are_met_and_priced(chain: ide3al.MDP) -> None:
    cost = np.zeros(chain.n_states)
    cost[0] = 1.0
    free = ide3al.solve(chain, "state-entropy", xi=0.02, limits=[(cost, 1.0)])
    assert free.limits[0]["price"] == pytest.approx(0.0, abs=1e-6)
    spent = free.limits[0]["value"]
    tight = ide3al.solve(chain, "state-entropy", xi=0.02, limits=[(cost, 0.9 * spent)])
    assert tight.limits[0]["value"] <= 0.9 * spent + 1e-9
    assert tight.limits[0]["price"] > 0
    assert tight.objective < free.objective


def test_restart_and_discount_say_the_same(chain: ide3al.MDP) -> None:
    a = ide3al.solve(chain, "model-error", xi=0.02, restart=0.1)
    b = ide3al.solve(chain, "model-error", xi=0.02, discount=0.9)
    assert a.objective == pytest.approx(b.objective, rel=1e-6)
    with pytest.raises(ValueError, match="one of them"):
        ide3al.solve(chain, "model-error", restart=0.1, discount=0.9)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"formulation": "target", "target": [0.5]}, "one per state"),
        ({"formulation": "target"}, "needs one probability per state"),
        ({"formulation": "coverage", "wanted": [1.0, 2.0]}, "numbers"),
        ({"formulation": "coverage", "restart": -0.1}, "from 0 to 1"),
        ({"formulation": "frobenius", "restart": 0.1}, "takes no target"),
    ],
)
def test_bad_input(chain: ide3al.MDP, keywords: dict, message: str) -> None:
    with pytest.raises(ide3al.Error, match=message):
        ide3al.solve(chain, **keywords)


def test_limits_that_cannot_be_met_say_by_how_much(chain: ide3al.MDP) -> None:
    with pytest.raises(ide3al.Error, match="least attainable value"):
        ide3al.solve(chain, "state-entropy", xi=0.02, limits=[(np.ones(chain.n_states), 0.5)])
