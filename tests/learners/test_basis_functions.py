"""What the probabilistic classification vector machines refuse, and say, alike."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from krein_problems import mixture_rows
from kreinflow.errors import InputError
from kreinflow.learners.epcvm import NystroemEPCVM
from kreinflow.learners.pcvm import NystroemPCVM

MACHINES = pytest.mark.parametrize("machine", [NystroemPCVM, NystroemEPCVM])


@MACHINES
def test_the_basis_is_the_landmarks_or_all_rows(machine):
    Z, signs, y = mixture_rows(90, 0.5, n_classes=3)
    everything = machine("all").fit(Z, signs, y, 3)
    landmarks = machine().fit(Z, signs, y, 3, basis_rows=np.arange(90))
    assert landmarks.coef_.tobytes() == everything.coef_.tobytes()
    some = machine().fit(Z, signs, y, 3, basis_rows=np.arange(5, 20))
    assert all(((rows >= 5) & (rows < 20)).all() for rows in some.active_)
    with pytest.raises(InputError, match="basis: 'some' is unknown"):
        machine("some")
    with pytest.raises(InputError, match="basis_rows"):
        machine().fit(Z, signs, y, 3)


@MACHINES
def test_a_class_without_rows_is_refused(machine):
    Z, signs, y = mixture_rows(90, 0.5, n_classes=3)
    with pytest.raises(InputError, match=r"classes \[3\] of 4"):
        machine("all").fit(Z, signs, y, 4)


@MACHINES
def test_two_classes_are_mirror_images(machine):
    Z, signs, y = mixture_rows(90, 0.8)
    fitted = machine("all").fit(Z, signs, y, 2)
    np.testing.assert_array_equal(fitted.coef_[:, 0], -fitted.coef_[:, 1])
    np.testing.assert_array_equal(fitted.weights_[0], fitted.weights_[1])
    assert fitted.intercept_[0] == -fitted.intercept_[1]
    assert len(fitted.active_) == len(fitted.n_iter_) == len(fitted.converged_) == 2


@MACHINES
def test_complexity_counts_rows_of_any_class_once(machine):
    Z, signs, y = mixture_rows(90, 0.5, n_classes=3)
    rows = np.arange(0, 90, 4)
    fitted = machine().fit(Z, signs, y, 3, basis_rows=rows)
    used = set().union(*(set(rows.tolist()) for rows in fitted.active_))
    assert fitted.complexity_ == len(used) / 90
    assert used <= set(rows.tolist())
    assert (np.concatenate(fitted.weights_) > 0).all()
    assert max(len(w) for w in fitted.weights_) < len(rows)  # it is sparse


@pytest.mark.parametrize(
    ("machine", "steps"), [(NystroemPCVM, "steps"), (NystroemEPCVM, "actions")]
)
def test_step_limit_warns_once_and_says_what_to_do(machine, steps):
    Z, signs, y = mixture_rows(90, 0.8, n_classes=4)
    with pytest.warns(
        ConvergenceWarning, match=f"4 of 4 classes .* after 2 {steps}. Raise"
    ) as caught:
        limited = machine("all", max_iter=2).fit(Z, signs, y, 4)
    assert len(caught) == 1
    assert not limited.converged_.any()
    assert (limited.n_iter_ == 2).all()
