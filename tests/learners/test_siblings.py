"""Fits of the forks of a tree: against fits of the records of each fork by themselves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from krein_problems import labelled_rows, problem_of
from kreinflow.base.errors import InputError
from kreinflow.base.hierarchy import Tree
from kreinflow.learners.decisions import KINDS
from kreinflow.learners.learner import Fitted, Learner
from kreinflow.learners.registry import LEARNERS, make_learner
from kreinflow.learners.siblings import SIBLINGS, SiblingsLearner, learner_of
from learners.test_all_learners import EVERY, name_of

PATHS = ("a.1", "a.2", "b.1.x", "b.1.y", "b.2", "c")
"""At the root three branches, two at a, two at b, and two at b.1."""
FORKS = Tree.of(PATHS, ".").forks
AT_FORKS = ([[0, 1], [2, 3, 4], [5]], [[0], [1]], [[2, 3], [4]], [[2], [3]])
"""The classes of each branch, in the order of the branches."""
LINEAR = [settings for settings in EVERY if make_learner(settings).linear]
BENT = [settings for settings in EVERY if settings not in LINEAR]
POOLED, FEATURES = LINEAR[1], {"method": "sf_lsm", "ridge": 1e-3}


def rows_of(settings, seed=0, **keywords):
    negative = 0 if LEARNERS[settings["method"]].needs_positive else 4
    return labelled_rows(n=200, n_classes=6, negative=negative, seed=seed, **keywords)


def by_siblings(settings):
    return SiblingsLearner(make_learner(settings), FORKS, or_leaves=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", LINEAR, ids=name_of)
def test_each_fork_is_a_fit_of_its_own_records(settings):
    """A problem of the records of a fork alone, nothing else, gives the same conditionals."""
    Z, signs, y = rows_of(settings)
    basis = np.arange(0, 200, 20)  # landmarks of all classes
    learner = make_learner(settings)
    machine = by_siblings(settings)
    problem = problem_of(Z, signs, y, basis=basis)
    (fitted,) = machine.fit(problem, machine.choices()[:1])
    expected = np.ones((len(Z), 6))
    for branches in AT_FORKS:
        inside = np.isin(y, np.concatenate(branches))
        codes = np.array([[code in own for own in branches].index(True) for code in y[inside]])
        places = np.flatnonzero(inside)
        own = problem_of(
            Z[inside], signs, codes, basis=np.searchsorted(places, basis) % len(places)
        )
        rows = {place: row for row, place in enumerate(places.tolist())}
        own = replace(  # the landmarks are records of all classes
            own,
            landmarks=replace(own.landmarks, rows=np.array([rows.get(b, -1 - b) for b in basis])),
            everything=replace(own.everything, W=Z[basis]),
        )
        (alone,) = learner.fit(own, learner.choices()[:1])
        conditional = softmax(alone.decision.decide(Z), axis=1)
        for branch, classes in enumerate(branches):
            expected[:, classes] *= conditional[:, [branch]]
    found = np.exp(fitted.decision.decide(Z))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    arrays = fitted.decision.to_parts()[1]
    again = KINDS[fitted.decision.kind].from_parts({}, arrays, {"m": Z.shape[1], "c": 6})
    np.testing.assert_array_equal(np.exp(again.decide(Z[150:153])), found[150:153])


@pytest.mark.parametrize("settings", BENT, ids=name_of)
def test_learners_that_are_not_linear_learn_no_siblings(settings):
    learner = make_learner(settings)
    assert learner_of(learner, None, "siblings") is learner  # no tree
    with pytest.raises(InputError, match=f"the learner {settings['method']} cannot learn siblings"):
        learner_of(learner, FORKS, "siblings")
    assert learner_of(learner, FORKS, "inner") is learner
    assert learner_of(learner, FORKS, "leaves") is learner


def test_choices_are_those_of_the_learner_and_whether_forks_are_learned():
    learner = make_learner({"method": "sf_lsm"})
    own = list(learner.choices())
    both = learner_of(learner, FORKS, "inner").choices()
    assert [choice[SIBLINGS] for choice in both] == [0.0] * len(own) + [1.0] * len(own)
    assert [{"ridge": choice["ridge"]} for choice in both] == own * 2
    assert list(learner_of(learner, FORKS, "siblings").choices()) == list(both[len(own) :])
    pcvm = learner_of(make_learner({"method": "ny_pcvm"}), FORKS, "inner")
    assert list(pcvm.choices()) == [{SIBLINGS: 0.0}, {SIBLINGS: 1.0}]


def test_fits_stand_in_the_order_of_the_choices():
    Z, signs, y = rows_of(POOLED)
    problem = problem_of(Z, signs, y)
    learner = make_learner({"method": "sf_lsm"})
    machine = learner_of(learner, FORKS, "inner")
    few = [{"ridge": r, SIBLINGS: s} for r, s in ((1.0, 1.0), (0.1, 0.0), (0.1, 1.0), (1e-3, 0.0))]
    fits = machine.fit(problem, few)
    for fit, choice in zip(fits, few, strict=True):
        (alone,) = machine.fit(problem, [choice])
        for name, array in alone.decision.to_parts()[1].items():
            np.testing.assert_array_equal(fit.decision.to_parts()[1][name], array)
    (leaf,) = learner.fit(problem, [{"ridge": 0.1}])
    np.testing.assert_array_equal(fits[1].decision.weights, leaf.decision.weights)


def test_a_fork_of_which_nothing_can_be_learned_gives_its_branches_the_same():
    """Basis functions may be at landmarks alone, and no landmark is of the class a."""
    Z, signs, y = rows_of({"method": "ny_pcvm"}, separation=3.0)
    basis = np.flatnonzero(y >= 2)[:10]
    machine = by_siblings({"method": "ny_pcvm"})
    (fitted,) = machine.fit(problem_of(Z, signs, y, basis=basis), machine.choices())
    p = np.exp(fitted.decision.decide(Z))
    np.testing.assert_array_equal(p[:, 0], p[:, 1])
    assert fitted.notes["unlearned"][:2].all()
    assert not fitted.notes["unlearned"][2:5].any()
    among_b = (y >= 2) & (y < 5)
    assert (p[among_b, 2:5].argmax(axis=1) == y[among_b] - 2).mean() > 0.7


def test_nothing_at_all_to_learn_is_refused_as_the_learner_does():
    Z, signs, y = rows_of({"method": "ny_pcvm"})
    problem = problem_of(Z, signs, y, basis=np.arange(150, 160)).on(np.arange(150))
    machine = by_siblings({"method": "ny_pcvm"})
    with pytest.raises(InputError, match="no landmark is among the records"):
        machine.fit(problem, machine.choices())


class Slow(Learner):
    """Learns nothing, slowly."""

    method = "slow"

    def describe(self):
        return "nothing"

    def fit(self, problem, choices):
        inner = make_learner({"method": "sf_lsm", "ridge": 1.0})
        (fitted,) = inner.fit(problem, [{"ridge": 1.0}])
        size = len(problem.labels)
        last = np.arange(problem.n_classes) == problem.n_classes - 1
        return [Fitted(fitted.decision, 0.5, size, size > 100, {"singular": last}) for _ in choices]


def test_what_a_fit_says_is_that_of_all_its_forks():
    Z, signs, y = labelled_rows(n=200, n_classes=6)
    machine = SiblingsLearner(Slow({}), FORKS, or_leaves=False)
    (fitted,) = machine.fit(problem_of(Z, signs, y), machine.choices())
    assert fitted.iterations == 200
    assert not fitted.converged
    sizes = [np.isin(y, np.concatenate(branches)).sum() for branches in AT_FORKS]
    assert fitted.basis_used == pytest.approx(min(1.0, 0.5 * sum(sizes) / 200))
    # The last branches: c; a.2; b.2; b.1.y.
    assert fitted.notes["singular"].tolist() == [False, True, False, True, True, True]
    assert not fitted.notes["unlearned"].any()
