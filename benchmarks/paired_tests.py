"""Whether the tests of two recipes reject as rarely as they say, and find what is there.

    python benchmarks/paired_tests.py --draws 10000 --seed 1

Three tables. In the first two recipes are alike by construction, on single records and on groups:
the share of p-values below .05 and .01, by the test on groups and by one that takes all records as
single, and how often the interval has the true difference. The second has the power for two
recipes of 77.7 and 88.2 % on 900 records in five folds, beside the corrected t-test, alone and as
one of ten comparisons by Holm's method (the least p below .005). In the third two learners are
trained in five folds. Each sees a half of the features, the halves are alike, so that neither
*method* is better; but the models that were fitted differ, and by how much is known, because the
classes are normal distributions.
"""

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kreinflow.base.random_streams import stream
from kreinflow.evaluation.comparison import corrected_t_test
from kreinflow.evaluation.paired import PairedDifference, paired_difference

UNLIKE = np.repeat([1, 5, 20, 60], [100, 40, 15, 5])
# No recipe is better on the whole: one leads on 600 records of large groups, one on 300 of small.
LARGE, SMALL = np.where(UNLIKE >= 20, 0.1, 0.02), np.where(UNLIKE >= 20, 0.05, 0.12)
# Name: sizes of groups; share of records that only the first recipe has right, and only the second;
# correlation within a group.
KINDS = {
    "900 records, 1 % differ": (np.ones(900, int), 0.005, 0.005, 0.0),
    "900 records, 12 % differ": (np.ones(900, int), 0.06, 0.06, 0.0),
    "900 records, 8 % and 18 %": (np.ones(900, int), 0.08, 0.18, 0.0),
    "60 records, 20 % differ": (np.ones(60, int), 0.1, 0.1, 0.0),
    "90 groups of 10, no correlation": (np.full(90, 10), 0.06, 0.06, 0.0),
    "90 groups of 10, correlation .3": (np.full(90, 10), 0.06, 0.06, 0.3),
    "the same, 8 % and 18 %": (np.full(90, 10), 0.08, 0.18, 0.3),
    "160 groups of 1 to 60, .3": (UNLIKE, 0.06, 0.06, 0.3),
    "these, 8 % and 18 %": (UNLIKE, 0.08, 0.18, 0.3),
    "these, one better in large ones": (UNLIKE, LARGE, SMALL, 0.3),
    "20 groups of 45, .3": (np.full(20, 45), 0.06, 0.06, 0.3),
    "the same, copies (correlation 1)": (np.full(20, 45), 0.06, 0.06, 1.0),
}


def compared(d: NDArray[np.int64], groups: NDArray[np.int64], repeats: int = 1) -> PairedDifference:
    """Compare two recipes whose predictions differ so."""
    return paired_difference(d > 0, d < 0, groups, repeats)


def percent(values: object) -> str:
    """Return a mean of yes and no in percent."""
    return f"{100 * np.mean(values):.1f}"


def size_rows(draws: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield, for each kind of records, how often the tests reject, and what the interval covers."""
    for name, (sizes, first, second, correlation) in KINDS.items():
        random = stream(seed, "size", name)
        groups = np.repeat(np.arange(len(sizes)), sizes)
        plus, minus = (np.broadcast_to(share, sizes.shape) for share in (first, second))
        truth = np.average(plus - minus, weights=sizes)
        found, single = [], []
        for _ in range(draws):
            # A record goes with its group or by itself.
            alike = random.random(len(groups)) < np.sqrt(correlation)
            lot = np.where(alike, random.random(len(sizes))[groups], random.random(len(groups)))
            d = np.where(lot < plus[groups], 1, 0) - (lot > 1 - minus[groups])
            found.append(compared(d, groups))
            single.append(compared(d, np.arange(len(d))))
        _, low, high, p = np.array(found).T
        alone = np.array(single)
        below = [percent(p < level) for level in (0.05, 0.01)]
        wrong = [percent(alone[:, 3] < level) for level in (0.05, 0.01)]
        if len(sizes) == len(groups):
            wrong = ["", ""]
        covered = percent((low <= truth) & (truth <= high))
        points = f"{100 * np.mean(high - low):.1f}"
        kept = percent((alone[:, 1] <= truth) & (truth <= alone[:, 2])) if wrong[0] else ""
        yield name, *below, *wrong, covered, points, kept


def power_rows(draws: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield how often 77.7 and 88.2 % are told apart, by how much the difference varies."""
    for spread in (0.0, 0.03, 0.06):
        random = stream(seed, "power", spread)
        n_test, n_train = np.full(5, 180.0), np.full(5, 720.0)
        p = []
        for _ in range(draws):
            shift = random.normal(0.0, spread, (5, 1))
            worse = random.random((5, 180)) < np.clip(0.777 - shift / 2, 0, 1)
            better = random.random((5, 180)) < np.clip(0.882 + shift / 2, 0, 1)
            differences = worse.mean(axis=1) - better.mean(axis=1)
            of_folds = corrected_t_test(differences, n_train, n_test)[1]
            found = paired_difference(worse.ravel(), better.ravel(), np.arange(900))
            p.append((found.p, of_folds))
        by_records, by_folds = np.array(p).T
        cells = [
            percent(kind < level) for kind in (by_records, by_folds) for level in (0.05, 0.005)
        ]
        yield f"{100 * spread:.0f} points", *cells


def trained_rows(draws: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yield what the tests say of learners that are alike: the nearest of two class means."""
    features, repeats, gap = 20, 3, 0.25
    for n in (90, 300, 900):
        random = stream(seed, "trained", n)
        rows = []
        for _ in range(draws):
            y = np.arange(n) % 2
            halves = random.normal(size=(2, n, features)) + gap * y[:, None]
            right, truths, d_folds = np.zeros((repeats, 2, n), bool), [], []
            for repeat in range(repeats):
                folds = random.permutation(n) % 5
                truth = []
                for fold in range(5):
                    own = folds == fold
                    accuracies = []
                    for half, X in enumerate(halves):
                        means = [X[~own & (y == label)].mean(axis=0) for label in (0, 1)]
                        direction, middle = means[1] - means[0], (means[0] + means[1]) / 2
                        right[repeat, half, own] = ((X[own] - middle) @ direction > 0) == y[own]
                        # Of fresh records: those of either class are on a line normal, too.
                        away = (np.array([[0.0], [gap]]) - middle) @ direction
                        away *= [-1, 1] / np.linalg.norm(direction)
                        accuracies.append(ndtr(away).mean())
                    truth.append(accuracies[0] - accuracies[1])
                    if repeat == 0:
                        d_folds.append(right[0, 0, own].mean() - right[0, 1, own].mean())
                truths.append(np.mean(truth))
            once = paired_difference(*right[0], np.arange(n))
            records = np.tile(np.arange(n), repeats)
            often = paired_difference(right[:, 0].ravel(), right[:, 1].ravel(), records, repeats)
            sizes = np.full(5, n / 5)
            of_folds = corrected_t_test(np.array(d_folds), n - sizes, sizes)[1]
            rows.append(
                (
                    once.p,
                    often.p,
                    of_folds,
                    once.low <= truths[0] <= once.high,
                    often.low <= np.mean(truths) <= often.high,
                    np.mean(truths[0] ** 2),
                )
            )
        p, p_often, p_folds, covered, covered_often, squares = np.array(rows).T
        cells = [percent(kind < level) for kind in (p, p_often, p_folds) for level in (0.05, 0.01)]
        between = f"{100 * np.sqrt(squares.mean()):.1f}"
        yield f"{n} records", between, *cells, percent(covered), percent(covered_often)


def show(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> None:
    """Print a table, a line as soon as it is there."""
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    show(
        (
            "share of draws, %",
            "p < .05",
            "p < .01",
            "as single records: p < .05",
            "p < .01",
            "interval covers",
            "its width, points",
            "as single records: covers",
        ),
        size_rows(given.draws, given.seed),
    )
    show(
        (
            "difference varies over folds by",
            "records: p < .05",
            "p < .005",
            "t-test over folds: p < .05",
            "p < .005",
        ),
        power_rows(given.draws, given.seed),
    )
    show(
        (
            "learners that are alike",
            "their models differ by, points",
            "records: p < .05",
            "p < .01",
            "three repeats: p < .05",
            "p < .01",
            "t-test over folds: p < .05",
            "p < .01",
            "interval covers",
            "of three repeats",
        ),
        trained_rows(given.draws // 5, given.seed),
    )


if __name__ == "__main__":
    main()
