"""What the probabilistic classification vector machines refuse, and say, alike."""

import numpy as np
import pytest

from krein_problems import learned, mixture_rows, problem_of, sparse_functions
from kreinflow.base.errors import InputError
from kreinflow.learners.registry import make_learner

MACHINES = pytest.mark.parametrize("method", ["ny_pcvm", "ny_epcvm"])


@MACHINES
def test_the_basis_is_the_landmarks_or_all_rows(method):
    Z, signs, y = mixture_rows(90, 0.5, n_classes=3)
    landmarks = make_learner({"method": method})
    everything = learned({"method": method, "basis": "all"}, Z, signs, y)
    found = learned({"method": method}, Z, signs, y, basis=np.arange(90))
    assert found.decision.weights.tobytes() == everything.decision.weights.tobytes()
    with pytest.raises(InputError, match="no landmark is among the records"):
        landmarks.solve(problem_of(Z, signs, y, basis=np.arange(90, 95)))


@MACHINES
def test_records_that_any_class_rests_on_are_counted_once(method):
    Z, signs, y = mixture_rows(90, 0.5, n_classes=3)
    rows = np.arange(0, 90, 4)
    problem = problem_of(Z, signs, y, basis=rows)
    learner = make_learner({"method": method})
    found = sparse_functions(learner, problem)
    used = set().union(*(set(rows.tolist()) for rows in found.active))
    assert learner.fit(problem, [{}])[0].basis_used == len(used) / 90
    assert used <= set(rows.tolist())
    assert (np.concatenate(found.weights) > 0).all()
    assert max(len(w) for w in found.weights) < len(rows)  # it is sparse


@MACHINES
def test_labels_that_say_nothing_leave_few_functions(method):
    rng = np.random.default_rng(6)
    Z, y = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    learner = make_learner({"method": method, "basis": "all", "max_iter": 3000})
    found = sparse_functions(learner, problem_of(Z, np.ones(5), y))
    assert found.converged.all()
    assert np.isfinite(found.coef).all()
    assert method == "ny_pcvm" or len(found.weights[0]) <= 3


@MACHINES
def test_a_class_that_lost_all_functions_is_noted(method):
    y = np.arange(60) % 3
    Z = y[:, None] - 1.0 + 0.1 * np.random.default_rng(0).normal(size=(60, 1))
    problem = problem_of(Z, np.ones(1), y, basis=np.arange(30))  # no line has class 1 on one side
    (fitted,) = make_learner({"method": method}).fit(problem, [{}])
    np.testing.assert_array_equal(fitted.notes["unlearned"], [False, True, False])
    assert fitted.converged
    f = fitted.decision.decide(Z)
    assert np.ptp(f, axis=0).round(12).astype(bool).tolist() == [True, False, True]


@MACHINES
@pytest.mark.parametrize("factor", [0.0, np.nan])
def test_a_kernel_of_zeros_or_that_is_not_finite_is_refused(method, factor):
    Z, signs, y = mixture_rows(90, 0.5, n_classes=3)
    with pytest.raises(InputError, match=r"kernel: .* zero .*\(or not finite\)"):
        learned({"method": method, "basis": "all"}, factor * Z, signs, y)
