from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kreinflow.base.errors import InputError
from kreinflow.landmarks.registry import SELECTORS, make_selector
from landmarks.made_up import digests_of, indefinite_kernel, problem_of

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")

N = 90
K = indefinite_kernel(N, 20, 8, seed=1, decay=0.9)
LABELS = np.array(list("aaaabbbbbc"))[np.arange(N) % 10]
CHOOSING = sorted(set(SELECTORS) - {"given"})
BUDGETED = sorted(set(CHOOSING) - {"all"})


def select(method, K=K, labels=LABELS, budget=12, **options):
    selector = make_selector({"method": method, "budget": budget})
    return selector.select(problem_of(K, labels, budget, **{"sketch": 40} | options))


@pytest.mark.parametrize("method", CHOOSING)
def test_table_holds_members_with_their_labels(method):
    table = select(method)
    assert list(table.columns) == ["row", "class", "weight", "radius", "reached"]
    assert table["row"].is_monotonic_increasing
    assert table["row"].is_unique
    assert table["reached"].dtype == bool
    assert LABELS[table["row"]].tolist() == table["class"].tolist()
    if method != "meb":
        assert table[["weight", "radius"]].isna().all(axis=None)
    pd.testing.assert_frame_equal(table, select(method))


@pytest.mark.parametrize("method", BUDGETED)
@pytest.mark.parametrize("budget", [3, 28, 41, N])
def test_the_budget_is_met_whatever_the_rank_of_the_sketch(method, budget):
    assert len(select(method, budget=budget)) == budget


@pytest.mark.parametrize("method", BUDGETED)
def test_a_budget_that_does_not_fit_is_refused(method):
    """Of a selector by classes, one smaller than their number too."""
    for budget in (N + 1, 2) if method in ("meb", "kmeans++") else (N + 1,):
        with pytest.raises(InputError, match=f"fold 0: a budget of {budget} landmarks does not"):
            select(method, budget=budget)


@pytest.mark.parametrize("method", CHOOSING)
def test_the_order_of_rows_does_not_matter(method):
    """Also in a fold; that no other row is looked at is checked for the stage of landmarks."""
    rng = np.random.default_rng(3)
    training = rng.permutation(N)[:70]
    old = rng.permutation(N)
    digests = [digests_of(N)[i] for i in old]
    shuffled, rows = K[np.ix_(old, old)], np.argsort(old)[training]
    again = select(method, K=shuffled, labels=LABELS[old], rows=rows, digests=digests)
    assert sorted(old[again["row"]]) == select(method, rows=training)["row"].tolist()


@pytest.mark.parametrize("method", sorted(set(BUDGETED) - {"meb", "kmeans"}))
def test_draws_follow_the_seed_and_the_digests(method):
    found = select(method)["row"].tolist()
    assert select(method, seed=2)["row"].tolist() != found
    assert select(method, digests=[f"other {i}" for i in range(N)])["row"].tolist() != found


@pytest.mark.parametrize("method", ["leverage", "kernel_kmeans++", "uniform", "pivoting"])
def test_folds_that_share_rows_draw_mostly_the_same(method):
    """Of two folds with 8 of 9 rows in common; independent draws of 20 would share about 5."""
    n, given = 180, {"budget": 20, "sketch": 90, "labels": ["a"] * 180}
    given["K"] = indefinite_kernel(n, 40, 15, seed=4, decay=0.95)
    trained_on = [np.flatnonzero(np.arange(n) % 10 != fold) for fold in range(6)]
    found = [set(select(method, rows=rows, **given)["row"]) for rows in trained_on]
    shared = [len(a & b) for a in found for b in found if a is not b]
    assert np.mean(shared) >= 10


@pytest.mark.parametrize("method", CHOOSING)
def test_descriptions_tell_the_budget_and_the_scores(method):
    def text(**settings):
        return make_selector({"method": method, "budget": 5} | settings).describe("alignments")

    if method == "all":
        assert text() == "all training objects, which takes all alignments"
        return
    assert "5 of them" in text()
    assert "as many as other took" in text(budget="other")
    limits = text(budget={"rank": 25, "most": 500, "alignments": 60_000})
    assert (
        "25 ln n of n training objects, at most 500, but one of each class of up to 200, at m"
        in limits
    )
    assert "at most what 60,000 alignments pay for in all folds together" in limits
    if SELECTORS[method].needs == "sketch":
        assert "from the alignments with 40 training objects drawn" in text(sketch=40)
        assert "from all alignments" in text(sketch=None)


@pytest.mark.parametrize("method", ["meb", "kmeans++", "uniform"])
@pytest.mark.parametrize("seed", range(4))
def test_the_landmarks_of_a_smaller_budget_are_among_those_of_a_larger(method, seed):
    """Of every pair of budgets that follow each other, from one a class to all rows."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 25, random.integers(2, 7))
    labels = np.repeat([f"class {j}" for j in range(len(sizes))], sizes)
    n = len(labels)
    K = indefinite_kernel(n, 8, 4, seed=seed)
    K[labels == "class 0"] = K[:, labels == "class 0"] = 0.0  # all alike
    before = set()
    for budget in range(len(sizes), n + 1):
        problem = problem_of(K, labels, budget, seed=seed)
        rows = set(make_selector({"method": method, "budget": budget}).select(problem)["row"])
        assert len(rows) == budget
        assert before < rows
        before = rows


def test_given_landmarks_are_taken_as_far_as_they_are_in_the_training_part():
    problem = problem_of(K, LABELS, rows=[0, 1, 4, 5, 7])
    selector = make_selector({"method": "given", "table": "x.tsv"})
    table = selector.select(replace(problem, given=np.array([7, 2, 4, 3, 5])))
    assert table["row"].tolist() == [4, 5, 7]
