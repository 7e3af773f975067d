"""The figures of the papers: their numbers against other ways to them, and what is drawn."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib.text import Text

from kreinflow.kernels.registry import make_kernel
from kreinflow.learners.registry import LEARNERS
from kreinflow.papers.figures import FIGURES
from kreinflow.papers.plots import (
    bananas,
    classification_ranks,
    decision_regions,
    eigenmap,
    landmark_numbers,
    look,
    measuring,
    pseudo_euclidean_plane,
    rank_preservation,
    runtime,
    samplers,
    spectra,
)
from kreinflow.references import REFERENCES

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses:UserWarning")

NOWHERE = Path("no such folder")


def balls(n=60):
    return measuring.generated({"name": "ball", "objects": n}, {"name": "ball"}, 1)


def small(monkeypatch):
    """Shrink what takes long."""
    monkeypatch.setattr(rank_preservation, "LEARNER", {"method": "ny_ikfd"})
    monkeypatch.setattr(bananas, "OVERLAPS", (0.3, 0.1))
    monkeypatch.setattr(bananas, "REPEATS", 1)
    monkeypatch.setattr(bananas, "FOLDS", 5)
    few = {"meb": bananas.SELECTORS["meb"], "uniform 2": bananas.SELECTORS["uniform 2"]}
    monkeypatch.setattr(bananas, "SELECTORS", few)
    monkeypatch.setattr(landmark_numbers, "BUDGETS", (2, 9))
    monkeypatch.setattr(landmark_numbers, "FOLDS", 2)
    monkeypatch.setattr(landmark_numbers, "GENERATOR", {"name": "checkerboard", "objects": 180})
    monkeypatch.setattr(rank_preservation, "SHARES", (0.1, 0.5))
    monkeypatch.setattr(rank_preservation, "REPEATS", 2)
    monkeypatch.setattr(rank_preservation, "OBJECTS", 40)
    monkeypatch.setattr(rank_preservation, "FOLDS", 2)
    monkeypatch.setattr(classification_ranks, "RANKS", (5, 10))
    monkeypatch.setattr(classification_ranks, "OBJECTS", 60)
    monkeypatch.setattr(classification_ranks, "FOLDS", 2)
    monkeypatch.setattr(runtime, "FULL_SIZES", (120, 240))
    monkeypatch.setattr(runtime, "LINEAR_SIZES", (120, 240, 480))
    monkeypatch.setattr(runtime, "FITTED", {"full": 120, "linear": 120})
    monkeypatch.setattr(samplers, "RANKS", (5, 10))
    monkeypatch.setattr(samplers, "REPEATS", 1)
    monkeypatch.setattr(samplers, "TABLES", samplers.TABLES[:1])
    monkeypatch.setattr(decision_regions, "GENERATOR", {"name": "checkerboard", "objects": 180})


@pytest.fixture(scope="module")
def tables():
    with pytest.MonkeyPatch.context() as monkeypatch:
        small(monkeypatch)
        yield {
            name: import_module(f"kreinflow.papers.plots.{name}").measure(1, NOWHERE)
            for name in FIGURES
        }


def test_each_figure_of_the_list_names_a_paper_and_its_files():
    for figure in FIGURES.values():
        assert figure.source in REFERENCES
        assert figure.present(NOWHERE) == []


def test_figures_are_drawn_without_the_files_and_with_letters_of_nine_points(tables):
    for name, table in tables.items():
        figure = import_module(f"kreinflow.papers.plots.{name}").draw(table)
        texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
        assert min(t.get_fontsize() for t in texts) >= 9, name


def test_the_same_table_gives_the_same_bytes(tables, tmp_path):
    for name in ("first", "second"):
        look.save_png(runtime.draw(tables["runtime"]), tmp_path / name)
    first = (tmp_path / "first").read_bytes()
    assert first.startswith(b"\x89PNG")
    assert first == (tmp_path / "second").read_bytes()


def test_numbers_follow_from_the_seed(tables):
    for plot in (spectra, rank_preservation, samplers):
        again = plot.measure(1, NOWHERE).drop(columns="seconds", errors="ignore")
        before = tables[plot.__name__.rpartition(".")[2]].drop(columns="seconds", errors="ignore")
        pd.testing.assert_frame_equal(again, before, check_exact=True)


def test_the_full_kernel_of_dissimilarities_is_doubly_centred():
    dataset = balls()
    D, n = dataset.payload.values, len(dataset.ids)
    J = np.eye(n) - 1 / n
    np.testing.assert_allclose(measuring.full_kernel(dataset), -J @ D @ J / 2, atol=1e-9)


def test_all_landmarks_leave_no_error():
    dataset = balls()
    entry, Z = measuring.approximate(dataset, np.arange(60))
    K = measuring.full_kernel(dataset)
    assert measuring.relative_error(K, Z, entry.factor.signs) < 1e-9
    assert measuring.relative_error(K, 0 * Z, entry.factor.signs) == pytest.approx(1)


def test_landmarks_are_those_of_the_training_part():
    dataset = balls()
    training = np.arange(60) < 40
    settings = measuring.selector_settings("kmeans", 7)
    chosen = measuring.choose_landmarks(dataset, settings, 1, training)
    assert len(chosen) == 7
    assert training[chosen].all()


def test_scores_of_families_have_a_unit_diagonal_and_are_symmetric():
    dataset = measuring.families(3, 30, 1)
    assert dataset.kind == "similarity"
    np.testing.assert_array_equal(dataset.payload.values, dataset.payload.values.T)
    np.testing.assert_allclose(np.diagonal(dataset.payload.values), 1)
    same = dataset.labels[:, None] == dataset.labels
    off = ~np.eye(len(same), dtype=bool)
    assert dataset.payload.values[same & off].mean() > 1.5 * dataset.payload.values[~same].mean()


def test_spectra_sum_to_the_trace(tables):
    table = tables["spectra"]
    whole = table[table["panel"] == 0]
    dataset = measuring.generated({"name": "ball", "objects": 200}, {"name": "ball"}, 1)
    trace = float(np.trace(measuring.full_kernel(dataset)))
    assert whole["eigenvalue"].sum() == pytest.approx(trace)
    sizes = table[table["panel"] > 0].groupby("panel")
    assert (sizes.size() <= sizes["landmarks"].first()).all()


def test_the_eigenmap_parts_two_blocks():
    labels = np.repeat([0, 1], 20)
    rng = np.random.default_rng(0)
    noise = rng.uniform(0, 0.02, size=(40, 40))
    points = eigenmap.eigenmap((labels[:, None] == labels) + noise + noise.T)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-12)
    assert points[:20, 0].max() * points[:20, 0].min() > 0  # all on one side
    assert (points[:20, 0] * points[20:, 0] < 0).all()


def test_a_turned_map_lies_on_its_pattern():
    pattern = np.random.default_rng(0).normal(size=(30, 2))
    mirrored = pattern @ np.array([[0.6, 0.8], [0.8, -0.6]])
    np.testing.assert_allclose(eigenmap.turned(mirrored, pattern), pattern, atol=1e-12)


def test_two_landmarks_give_the_plane_the_decisions_of_all_points(tables):
    """A kernel of rank 2 has nothing to lose; the paper's difference is none of the kernel's."""
    table = tables["pseudo_euclidean_plane"]
    grid = table[table["kind"] == "grid"]
    decisions = [part["decision"].to_numpy() for _, part in grid.groupby("panel", sort=False)]
    assert len(decisions) == 3
    for other in decisions[1:]:
        np.testing.assert_allclose(other, decisions[0], atol=1e-9 * np.abs(decisions[0]).max())


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


def test_more_landmarks_leave_a_smaller_error(tables):
    table = tables["landmark_numbers"]
    errors = table[table["budget"] > 0].pivot(index="selector", columns="budget", values="error")
    assert (errors[9] < errors[2]).all()
    full = table[table["selector"] == landmark_numbers.FULL]
    assert float(full["error"].iloc[0]) < 1e-6


def test_bananas_of_little_overlap_are_parted(tables):
    table = tables["bananas"]
    meb = table[table["selector"] == "meb"].set_index("overlap")["accuracy"]
    assert meb[0.1] > 0.97 > meb[0.3]
    assert set(table.loc[table["selector"] == "uniform 2", "landmarks"]) == {2}


def test_ranks_are_kept_by_all_landmarks():
    dataset = balls(30)
    K = rank_preservation.flipped(measuring.full_kernel(dataset))
    values = np.linalg.eigvalsh(measuring.full_kernel(dataset))
    np.testing.assert_allclose(np.linalg.eigvalsh(K), np.sort(np.abs(values)), atol=1e-9)
    again = rank_preservation.approximated(dataset, 30, 1, 1.0)
    np.testing.assert_allclose(again, K, atol=1e-6 * np.abs(K).max())


def test_correlations_are_spearmans(tables):
    table = tables["rank_preservation"]
    row = table[(table["what"] == rank_preservation.SPEARMAN) & (table["data"] == "ball")].iloc[0]
    dataset = balls(40)
    (seed, *_) = measuring.redrawn(1, "ranks", 2)
    K = rank_preservation.approximated(
        dataset, int(row["landmarks"]), seed, rank_preservation.RANKS[row["eigenvalues"]]
    )
    whole = rank_preservation.flipped(measuring.full_kernel(dataset))
    pairs = np.triu_indices(40, 1)
    expected = scipy.stats.spearmanr(K[pairs], whole[pairs]).statistic
    assert row["value"] == pytest.approx(expected, rel=1e-9)


def test_both_ways_give_the_same_flipped_kernel(monkeypatch):
    monkeypatch.setattr(runtime, "LANDMARKS", 50)
    vectors = measuring.vectors(balls(50))
    Z = runtime.linear(vectors)
    S = runtime.full(vectors)
    np.testing.assert_allclose(Z @ Z.T, S, atol=1e-6 * np.abs(S).max())


def test_the_slope_is_the_exponent():
    least = runtime.FITTED["full"]
    n = least * np.array([0.5, 1, 2, 4])
    table = pd.DataFrame({"way": "full", "objects": n, "seconds": np.where(n < least, 9, n**2.5)})
    assert runtime.slope(table, "full") == pytest.approx(2.5)


def test_nothing_is_better_than_the_best_of_a_rank(tables):
    table = tables["samplers"]
    best = table[table["landmarks"] == samplers.BEST].set_index("rank")["error"]
    others = table[table["landmarks"] != samplers.BEST]
    assert (others["error"].to_numpy() > best.loc[others["rank"]].to_numpy()).all()
    rng = np.random.default_rng(0)
    A = rng.normal(size=(120, 120))
    U, s, Vt = np.linalg.svd(A + A.T)
    rank = samplers.RANKS[-1]
    truncated = (U[:, :rank] * s[:rank]) @ Vt[:rank]
    expected = np.linalg.norm(A + A.T - truncated) / np.linalg.norm(A + A.T)
    assert samplers.best_errors(A + A.T)[rank] == pytest.approx(expected)


def test_the_kernel_of_the_samplers_is_as_indefinite_as_the_papers():
    """Eigenvalues that sum to 0 have a negative part of one half, the paper's figure."""
    _, dataset = next(samplers.datasets())
    assert not np.diagonal(dataset.payload.values).any()
    assert dataset.payload.values.any()


def test_learners_of_the_figure_are_in_the_registry():
    assert set(classification_ranks.LEARNER_LOOKS) <= set(LEARNERS)
    assert make_kernel(pseudo_euclidean_plane.KERNEL).kind == "similarity"
