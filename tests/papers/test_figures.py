"""The figures of the papers: their numbers against other ways to them, and what is drawn."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib.text import Text

from papers import accuracies, approximations, costs, data_sets
from papers.data_sets import balls
from papers.experiments import FIGURES
from papers.figures import PLOTS

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses:UserWarning")

NOWHERE = Path("no such folder")
BANANAS, BOARD = accuracies.BANANA_SELECTORS, {"name": "checkerboard", "objects": 180}
SMALL = {
    "accuracies": {
        "BANANA_SELECTORS": {name: BANANAS[name] for name in ("meb", "uniform 2")},
        "BOARD": BOARD,
        "BUDGETS": (2, 9),
        "OBJECTS": 60,
        "OVERLAPS": (0.3, 0.1),
        "RANKS": (5, 10),
        "REPEATS": 1,
    },
    "costs": {
        "DRAWS": 1,
        "FITTED": {"full": 120, "linear": 120},
        "FOLDS": 3,
        "FULL_SIZES": (120, 240),
        "LEARNER": {"method": "ny_ikfd"},
        "LINEAR_SIZES": (120, 240, 480),
        "OBJECTS": 40,
        "RANK_DRAWS": 2,
        "SAMPLED_RANKS": (5, 10),
        "SHARES": (0.1, 0.5),
        "TABLES": costs.TABLES[:1],
    },
    "data_sets": {"FOLDS": 3},
    "regions": {"BOARD": BOARD},
}
"""What takes long, shrunk."""


@pytest.fixture(scope="module")
def tables():
    with pytest.MonkeyPatch.context() as monkeypatch:
        for module, values in SMALL.items():
            for name, value in values.items():
                monkeypatch.setattr(f"papers.{module}.{name}", value)
        yield {name: plot.measure(1, NOWHERE) for name, plot in PLOTS.items()}


def test_figures_are_drawn_without_the_files_and_with_letters_of_nine_points(tables):
    assert list(PLOTS) == list(FIGURES)
    for name, table in tables.items():
        assert FIGURES[name].present(NOWHERE) == []
        texts = PLOTS[name].draw(table).findobj(Text)
        shown = [text for text in texts if text.get_text() and text.get_visible()]
        assert min(text.get_fontsize() for text in shown) >= 9, name


@pytest.mark.parametrize("name", ["spectra", "rank_preservation", "samplers"])
def test_numbers_follow_from_the_seed(tables, name):
    again = PLOTS[name].measure(1, NOWHERE).drop(columns="seconds", errors="ignore")
    before = tables[name].drop(columns="seconds", errors="ignore")
    pd.testing.assert_frame_equal(again, before, check_exact=True)


def test_the_full_kernel_of_dissimilarities_is_doubly_centred():
    data_set = balls(1, 60)
    J = np.eye(60) - 1 / 60
    np.testing.assert_allclose(data_set.kernel, -J @ data_set.matrix @ J / 2, atol=1e-9)


def test_the_error_of_a_rank_is_near_the_best_where_landmarks_abound():
    data_set = costs.two_gaussian_kernels("diabetes")
    best = costs.best_errors(data_set.kernel)
    for rank in (5, 10):
        error, _ = costs.one_try(data_set, "uniform", 150, rank, seed=1)
        assert best[rank] <= error < 1.1 * best[rank]


def test_spectra_sum_to_the_trace(tables):
    table = tables["spectra"]
    whole = table[table["panel"] == 0]
    assert whole["eigenvalue"].sum() == pytest.approx(np.trace(balls(1).kernel))
    sizes = table[table["panel"] > 0].groupby("panel")
    assert (sizes.size() <= sizes["landmarks"].first()).all()


def test_the_eigenmap_parts_two_blocks():
    labels = np.repeat([0, 1], 20)
    rng = np.random.default_rng(0)
    noise = rng.uniform(0, 0.02, size=(40, 40))
    points = approximations.eigenmap((labels[:, None] == labels) + noise + noise.T)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-12)
    assert points[:20, 0].max() * points[:20, 0].min() > 0  # all on one side
    assert (points[:20, 0] * points[20:, 0] < 0).all()


def test_a_turned_map_lies_on_its_pattern():
    pattern = np.random.default_rng(0).normal(size=(30, 2))
    mirrored = pattern @ np.array([[0.6, 0.8], [0.8, -0.6]])
    np.testing.assert_allclose(approximations.turned(mirrored, pattern), pattern, atol=1e-12)


def test_all_landmarks_leave_no_error_and_more_a_smaller_one(tables):
    data_set = balls(1, 60)
    assert data_set.approximate(np.arange(60)).error < 1e-9
    K = data_set.kernel
    assert data_sets.relative_error(K, 0 * K) == pytest.approx(1)
    table = tables["landmark_numbers"]
    errors = table[table["budget"] > 0].pivot(index="selector", columns="budget", values="error")
    assert (errors[9] < errors[2]).all()
    assert table.loc[table["selector"] == accuracies.FULL, "error"].item() < 1e-6


def test_the_slope_is_the_exponent():
    n = costs.FITTED["full"] * np.array([0.5, 1, 2, 4])
    table = pd.DataFrame({"way": "full", "objects": n, "seconds": np.where(n < n[1], 9, n**2.5)})
    assert costs.slope(table, "full") == pytest.approx(2.5)


def test_decisions_on_the_grid_extend_those_of_the_points(tables):
    """Of the nearest grid point to each record: a smooth function is nearly the same there."""
    table = tables["decision_regions"]
    part = table[table["selector"] == "kmeans"]
    grid, points = part[part["kind"] == "grid"], part[part["kind"] == "training"]
    gaps = points[["x", "y"]].to_numpy()[:, None] - grid[["x", "y"]].to_numpy()
    nearest = (gaps**2).sum(axis=2).argmin(axis=1)
    found = grid["decision"].to_numpy()[nearest]
    assert np.corrcoef(found, points["decision"])[0, 1] > 0.99


def test_the_small_block_is_lost_without_landmarks_in_it(tables):
    table = tables["reconstructed_kernel"].drop_duplicates("selector").set_index("selector")
    lost = table[table["of_small"] == 0]
    assert len(lost) > 0
    np.testing.assert_allclose(lost["error_small"], 1)
    assert table.loc["meb", "of_small"] > 0
    assert table.loc["meb", "error_small"] < 1e-6


def test_ranks_are_kept_by_all_landmarks():
    data_set = balls(1, 30)
    K = data_sets.flipped(data_set.kernel)
    values = np.linalg.eigvalsh(data_set.kernel)
    np.testing.assert_allclose(np.linalg.eigvalsh(K), np.sort(np.abs(values)), atol=1e-9)
    again = data_set.approximate(np.arange(30)).flipped
    np.testing.assert_allclose(again, K, atol=1e-6 * np.abs(K).max())


def test_correlations_are_spearmans(tables):
    table = tables["rank_preservation"]
    row = table[(table["what"] == costs.SPEARMAN) & (table["data"] == "ball")].iloc[0]
    data_set = balls(1, 40)
    (seed, *_) = data_sets.redrawn(1, "ranks", 2)
    uniform = data_sets.selector_settings("uniform", int(row["landmarks"]))
    landmarks = data_set.choose(uniform, seed)
    K = data_set.approximate(landmarks, rank=data_sets.RANKS[row["eigenvalues"]]).flipped
    pairs = np.triu_indices(40, 1)
    whole = data_sets.flipped(data_set.kernel)
    expected = scipy.stats.spearmanr(K[pairs], whole[pairs]).statistic
    assert row["value"] == pytest.approx(expected, rel=1e-9)


def test_both_ways_give_the_same_flipped_kernel(monkeypatch):
    monkeypatch.setattr(costs, "LANDMARKS", 50)
    vectors = balls(1, 50).vectors
    Z = costs.linear(vectors)
    S = costs.full(vectors)
    np.testing.assert_allclose(Z @ Z.T, S, atol=1e-6 * np.abs(S).max())


def test_nothing_is_better_than_the_best_of_a_rank(tables):
    table = tables["samplers"]
    best = table[table["landmarks"] == costs.BEST].set_index("rank")["error"]
    others = table[table["landmarks"] != costs.BEST]
    assert (others["error"].to_numpy() > best.loc[others["rank"]].to_numpy()).all()
    A = np.random.default_rng(0).normal(size=(120, 120))
    U, s, Vt = np.linalg.svd(A + A.T)
    rank = costs.SAMPLED_RANKS[-1]
    truncated = (U[:, :rank] * s[:rank]) @ Vt[:rank]
    expected = np.linalg.norm(A + A.T - truncated) / np.linalg.norm(A + A.T)
    assert costs.best_errors(A + A.T)[rank] == pytest.approx(expected)


def test_two_landmarks_give_the_plane_the_decisions_of_all_points(tables):
    """A kernel of rank 2 has nothing to lose; the paper's difference is none of the kernel's."""
    table = tables["pseudo_euclidean_plane"]
    grid = table[table["kind"] == "grid"]
    first, *others = (part["decision"].to_numpy() for _, part in grid.groupby("panel", sort=False))
    assert len(others) == 2
    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-9 * np.abs(first).max())
