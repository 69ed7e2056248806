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


class Evenness:
    """State entropy, given as a function."""

    def value(self, omega: np.ndarray) -> float:
        d = omega.sum(axis=1)
        return float(-(d[d > 0] * np.log(d[d > 0])).sum())

    def gradient(self, omega: np.ndarray) -> np.ndarray:
        d = np.maximum(omega.sum(axis=1), 1e-300)
        return np.repeat(-np.log(d)[:, None] - 1.0, omega.shape[1], axis=1)


class Towards(Evenness):
    """Minus the divergence from given proportions."""

    def __init__(self, q: np.ndarray) -> None:
        self.q = q

    def value(self, omega: np.ndarray) -> float:
        return super().value(omega) + float(omega.sum(axis=1) @ np.log(self.q))

    def gradient(self, omega: np.ndarray) -> np.ndarray:
        return super().gradient(omega) + np.log(self.q)[:, None]


def test_a_utility_of_ones_own(chain: ide3al.MDP) -> None:
    own = ide3al.solve(chain, utility=Evenness(), xi=0.1, tolerance=1e-5)
    even = ide3al.solve(chain, "state-entropy", xi=0.1)
    assert (own.status, own.formulation, own.solver) == ("optimal", "own", "frank-wolfe")
    assert own.objective <= even.objective + 1e-7 and own.bound >= even.objective - 1e-7
    assert own.gap <= 1e-5
    assert "utility, maximised" in repr(own)
    q = 1.0 + np.arange(chain.n_states) % 3
    q /= q.sum()
    cost = np.zeros((chain.n_states, chain.n_actions))
    cost[:5] = 1.0
    visit_spec: dict = {"xi": 0.05, "restart": 0.05, "limits": [(cost, 0.2)]}
    own = ide3al.solve(chain, utility=Towards(q), tolerance=1e-5, **visit_spec)
    named = ide3al.solve(chain, "target", target=q, **visit_spec)
    assert own.objective == pytest.approx(-named.objective, abs=1e-5)
    assert own.limits[0]["value"] <= 0.2 + 1e-9
    assert own.limits[0]["price"] == pytest.approx(named.limits[0]["price"], abs=1e-2)


class Made:
    def __init__(self, value: object, gradient: object) -> None:
        self.value, self.gradient = value, gradient


@pytest.mark.parametrize(
    ("utility", "error", "message"),
    [
        (Made(lambda x: (x**2).sum(), lambda x: 2 * x), ide3al.Error, "not concave"),
        (Made(lambda x: np.nan, lambda x: x), ide3al.Error, "NaN"),
        (Made(lambda x: 0.0, lambda x: x * np.nan), ide3al.Error, "gradient NaN"),
        (Made(lambda x: 0.0, lambda x: x.sum(axis=1)), ide3al.Error, "shape"),
        (Made(lambda x: 0.0, lambda x: "no"), ValueError, "no"),
        (Made(lambda x: {}["missing"], lambda x: x), KeyError, "missing"),
        (object(), ide3al.Error, "lacks value"),
    ],
)
def test_functions_that_will_not_do(
    chain: ide3al.MDP, utility: ide3al.Utility, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ide3al.solve(chain, utility=utility)


def test_a_utility_takes_the_place_of_a_formulation(chain: ide3al.MDP) -> None:
    with pytest.raises(ide3al.Error, match="takes its place"):
        ide3al.solve(chain, "dual", utility=Evenness())
    with pytest.raises(ide3al.Error, match="zeta"):
        ide3al.solve(chain, utility=Evenness(), zeta=0.5)


def test_states_with_different_actions_have_zeros_in_omega() -> None:
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    mdp = ide3al.MDP(rows, s_indices=[0, 0, 1], a_indices=[0, 1, 0])
    seen = []

    class Half:
        def value(self, omega: np.ndarray) -> float:
            seen.append(omega.copy())
            return -float((omega[0].sum() - 0.5) ** 2)

        def gradient(self, omega: np.ndarray) -> np.ndarray:
            slope = np.zeros_like(omega)
            slope[0] = -2 * (omega[0].sum() - 0.5)
            return slope

    solution = ide3al.solve(mdp, utility=Half(), xi=0.1)
    assert solution.objective == pytest.approx(-((1 / 1.9 - 0.5) ** 2), abs=1e-6)
    assert seen[0].shape == (2, 2) and all(omega[1, 1] == 0.0 for omega in seen)
