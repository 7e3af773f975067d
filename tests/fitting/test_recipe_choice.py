"""The recipe that inner folds choose: of the final model, and of each outer fold."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from flipped_bits import count_refused
from kreinflow.base.errors import InputError
from kreinflow.evaluation.inner_choice import chosen_recipes
from kreinflow.files.tables import write_table
from kreinflow.fitting.recipe_choice import (
    FIGURES_COLUMNS,
    PREFERENCES,
    TEXT_COLUMNS,
    choose_recipe,
    close,
    fold_accuracies,
    gained,
    going_on,
    inner_bits,
    other_choice,
    packed,
    race_table,
    read_figures,
    stop_table,
    unbeatable,
    unite,
    unpacked,
    worst_fold,
)
from kreinflow.sequences.partition import fold_numbers


def test_the_final_recipe_is_the_inner_choice():
    """Of losses that differ by rounding the first recipe is taken."""
    of = {"a": (0.9, 0.1), "b": (0.95, 0.9), "c": (0.95, 0.3 + 3e-12), "d": (0.95, 0.3)}
    figures = [
        {"recipe": name, "inner_accuracy": accuracy, "inner_log_loss": loss}
        for name, (accuracy, loss) in of.items()
    ]
    assert choose_recipe(figures, ["a", "b", "c", "d"]) == "c"
    assert choose_recipe(figures, ["d", "c", "b", "a"]) == "d"
    assert choose_recipe(figures, ["a", "b"]) == "b"
    assert choose_recipe(figures, ["a", "b", "c", "d"], "a") == "a"


def inner(recipe, right, alignments, loss=0.1, sizes=""):
    """What inner folds say of a recipe that predicts some records right; NaN was not measured.

    ``sizes``: how many records each fold has, if groups were held out.
    """
    right = np.asarray(right, dtype=np.float64)
    known = ~np.isnan(right)
    return {
        "recipe": recipe,
        "landmarks": alignments - 1,
        "inner_accuracy": float(np.mean(right[known])),
        "inner_log_loss": loss,
        "alignments_per_query": alignments,
        "inner_records": int(known.sum()),
        "inner_sizes": sizes,
        "inner_right": packed(right[known] == 1),
        "inner_known": "" if known.all() else packed(known),
    }


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100])
def test_the_records_that_are_right_are_read_back(n):
    right = np.random.default_rng(n).random(n) < 0.7
    for known in (np.ones(n, dtype=bool), np.arange(n) % 3 == 0):
        some = np.where(known, right, np.nan)
        found = unpacked(inner("a", some, 1))
        np.testing.assert_array_equal(found[:n], some)
        assert np.isnan(found[n:]).all()


def test_the_standard_error_of_a_difference_is_that_of_paired_records():
    random = np.random.default_rng(1)
    p, lift, n = 0.6, 0.1, 400

    def drawn():
        other = random.random(n) < p
        return other | (random.random(n) < lift), other

    pairs = [drawn() for _ in range(4000)]
    errors = np.array([gained(a, b) for a, b in pairs])
    assert errors[:, 0].mean() == pytest.approx((1 - p) * lift, rel=0.02)
    assert errors[:, 1].mean() == pytest.approx(errors[:, 0].std(), rel=0.05)
    unpaired = np.sqrt((np.var(pairs[0][0]) + np.var(pairs[0][1])) / n)
    assert errors[:, 1].max() < unpaired, "the pairs tell more"


def test_recipes_are_compared_on_the_records_that_both_were_measured_on():
    random = np.random.default_rng(2)
    every = [random.random(200) < share for share in (0.8, 0.7, 0.75)]
    known = random.random(200) < 0.4
    sampled = [np.where(known, right, np.nan) for right in every]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        expected = gained(every[a][known], every[b][known])
        assert gained(every[a], sampled[b]) == gained(sampled[a], every[b]) == expected
        assert gained(sampled[a], sampled[b]) == expected != gained(every[a], every[b])


def test_a_recipe_of_a_sample_is_not_ahead_because_its_sample_is_easy():
    """Nine of ten records of the sample are right by both, and half of the others by the first."""
    hard, n = 100, 200
    whole = np.r_[np.arange(hard) % 2 == 0, np.arange(n - hard) % 10 > 0]
    sampled = np.r_[np.full(hard, np.nan), np.arange(n - hard) % 10 > 0]
    sampled[-1] = 0
    figures = [inner("many", whole, 900), inner("cascade", sampled, 30)]
    assert figures[1]["inner_accuracy"] > figures[0]["inner_accuracy"]
    for order in (["many", "cascade"], ["cascade", "many"]):
        assert choose_recipe(figures, order) == "many"
        assert choose_recipe(figures, order, prefer="cheap") == "cascade", "one record behind"


def test_cheap_is_the_fewest_alignments_within_a_standard_error_of_the_best():
    best = np.arange(100) < 90
    close, behind = np.arange(100) < 89, np.arange(100) < 85  # errors .01 and .022
    figures = [inner("many", best, 900), inner("few", behind, 10), inner("some2", close, 100)]
    figures += [inner("some", close, 100, loss=0.05), inner("free", np.arange(100) < 30, 1)]
    order = ["many", "few", "some2", "some", "free"]
    assert choose_recipe(figures, order) == "many"
    assert choose_recipe(figures, order, prefer="cheap") == "some"
    assert choose_recipe(figures, order, "few", prefer="cheap") == "few"
    assert choose_recipe(figures[:2], order, prefer="cheap") == "many"
    assert choose_recipe([figures[0], inner("few", best, 10)], order, prefer="cheap") == "few"
    assert other_choice(figures, order, "accuracy") == ("cheap", "some")
    assert other_choice(figures, order, "cheap") == ("accuracy", "many")


SIZES = [180, 60, 80, 100, 80]
FOLD = np.repeat(np.arange(5), SIZES)


def in_folds(recipe, right, alignments, fold=FOLD, **more):
    """What folds of whole groups say of a recipe, by the fold of each record."""
    names, sizes = np.unique(fold, return_counts=True)
    parts = [np.asarray(right)[fold == name] for name in names]
    return inner(recipe, np.concatenate(parts), alignments, sizes=" ".join(map(str, sizes)), **more)


def all_but(per_fold):
    """Which records are right, if so many of each fold are wrong, the first ones."""
    return np.concatenate([np.arange(n) >= k for n, k in zip(SIZES, per_fold, strict=True)])


def test_a_cheap_recipe_that_fails_in_one_inner_fold_is_not_taken():
    """It makes up for it in the others, so that the means are close."""
    best, cheap, order = all_but([18, 10, 12, 15, 10]), all_but([0, 50, 6, 7, 5]), ["many", "few"]
    for known in (np.ones(500, dtype=bool), np.arange(500) % 3 > 0):
        sampled = np.where(known, cheap, np.nan)
        ungrouped = [inner("many", best, 900), inner("few", sampled, 10)]
        assert choose_recipe(ungrouped, order, prefer="cheap") == "few"
        assert race_table(ungrouped, order, "cheap")["goes_on"].tolist() == ["yes"] * 2
        grouped = [in_folds("many", best, 900), in_folds("few", sampled, 10)]
        assert choose_recipe(grouped, order, prefer="cheap") == "many"
        own = known & (FOLD == 1)
        lost, won = (best & ~cheap)[own].sum(), (cheap & ~best)[own].sum()
        p = binomtest(won, won + lost, 0.5, "less").pvalue
        assert worst_fold(*grouped) == pytest.approx(p)


def test_the_order_of_records_folds_and_recipes_does_not_change_the_choice():
    random = np.random.default_rng(3)
    taken = []
    for _ in range(60):
        base = random.random(500) < 0.85
        hard = random.integers(5)
        rows = {
            name: np.where(random.random(500) < 0.08, random.random(500) < 0.8, base)
            & ~((hard == FOLD) & (random.random(500) < loss))
            for name, loss in (("a", 0.0), ("b", 0.04), ("c", 0.08))
        }
        cost = {"a": 900, "b": 100, "c": 10}
        place, number = random.permutation(500), random.permutation(5)
        for prefer in PREFERENCES:
            one = [in_folds(name, right, cost[name]) for name, right in rows.items()]
            other = [
                in_folds(name, right[place], cost[name], number[FOLD][place])
                for name, right in reversed(rows.items())
            ]
            choices = {choose_recipe(part, ["a", "b", "c"], prefer=prefer) for part in (one, other)}
            assert len(choices) == 1
            taken += choices
    assert {"a", "b", "c"} == set(taken)


def test_noise_in_the_worst_fold_seldom_costs_a_cheap_recipe_its_place():
    """Of recipes that are equal, the worst fold is looked for: so p is a bit below its level."""
    random = np.random.default_rng(4)
    refused = tried = 0
    for _ in range(500):
        base = random.random(500) < 0.9
        best, cheap = (
            np.where(random.random(500) < 0.2, random.random(500) < 0.9, base) for _ in "ab"
        )
        one, other = in_folds("many", best, 900), in_folds("few", cheap, 10)
        if (
            close(unpacked(one), unpacked(other))
            and one["inner_accuracy"] > other["inner_accuracy"]
        ):
            tried += 1
            refused += choose_recipe([one, other], ["many", "few"], prefer="cheap") == "many"
    assert tried > 100
    assert refused / tried < 0.1


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("known", [1.0, 0.4])
def test_nothing_is_chosen_before_an_unbeatable_recipe_and_all_others_can_be_beaten(grouped, known):
    """Whatever a recipe with more alignments has right, the right ones of all records too."""
    random = np.random.default_rng(6)
    seen = {True: 0, False: 0}
    for _ in range(60):
        cheap = random.permutation(500) >= random.integers(4)
        cheap = np.where(random.random(500) < known, cheap, np.nan)
        others = [random.random(500) < share for share in (1.0, 0.999, 0.99, 0.9)]
        others.append(np.where(np.isnan(cheap), True, cheap) == 1)
        made = in_folds if grouped else inner
        row = made("few", cheap, 10)
        chosen = {
            choose_recipe([made("many", right, 900), row], ["many", "few"], prefer="cheap")
            for right in others
        }
        assert unbeatable([row]) == unbeatable([row], 11) == ("few" if chosen == {"few"} else "")
        assert unbeatable([row], 10) == "", "one of as many alignments may have a lower loss"
        seen[chosen == {"few"}] += 1
    assert min(seen.values()) > 5


def test_what_was_not_fitted_does_not_go_on():
    right = np.arange(100) > 0
    figures = [inner("few", right, 10), inner("some", right, 10, loss=0.05)]
    table = race_table(figures, ["few", "many", "some"], "cheap").set_index("recipe")
    assert table["goes_on"].to_dict() == {"few": "yes", "many": "no", "some": "yes"}
    assert table["why"]["many"].startswith("not fitted: with no wrong record")
    assert table.loc["many", "landmarks":"standard_error"].isna().all()


def test_of_equal_means_the_better_worst_fold_wins():
    even, uneven = all_but([20, 8, 10, 12, 10]), all_but([0, 8, 30, 12, 10])
    for first, second in ((even, uneven), (uneven, even)):
        rows = [in_folds("x", first, 9), in_folds("y", second, 9)]
        better = "x" if first is even else "y"
        assert choose_recipe(rows, ["x", "y"]) == choose_recipe(rows, ["y", "x"]) == better
        rows = [inner("x", first, 9), inner("y", second, 9)]
        assert choose_recipe(rows, ["x", "y"]) == "x", "folds that hold no groups are not looked at"
    tied = [in_folds("x", even, 9, loss=0.3), in_folds("y", even, 9)]
    assert choose_recipe(tied, ["x", "y"]) == "y", "then the loss"


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_the_columns_of_a_recipe_say_what_is_right_in_which_fold(share):
    random = np.random.default_rng(5)
    fold, known = random.choice([0, 1, 2, 4], 101), random.random(101) < share
    right = random.random(101) < 0.6
    row = inner_bits(fold, known, right[known], True) | {"inner_records": known.sum()}
    means, bits, place = fold_accuracies([row])
    for f, (mean, name) in enumerate(zip(means[0], np.unique(fold), strict=True)):
        own = right[known & (fold == name)]
        assert mean == own.mean()
        np.testing.assert_array_equal(bits[0, place == f], own)
    row |= inner_bits(fold, known, right[known], False)
    assert fold_accuracies([row])[0].tolist() == [[right[known].mean()]]


def test_the_recipe_of_each_fold_is_that_of_its_own_inner_folds():
    """Of those that were trained there."""
    models = pd.DataFrame(
        [("x", 0, 0, 0.9), ("y", 0, 0, 0.8), ("y", 0, 1, 0.7), ("z", 0, 1, 0.8), ("x", -1, -1, 1)],
        columns=["recipe", "repeat", "fold", "inner_accuracy"],
    ).assign(inner_log_loss=0.1)
    assert chosen_recipes(models, ["x", "y", "z"]) == {(0, 0): "x", (0, 1): "z"}


ORDER = ["x", "y", "z"]


def write_figures(folder):
    """The tables of two selectors and two folds, of which one is that of the final model."""
    paths = []
    for selector, recipes in (("meb", ["x", "y"]), ("uniform", ["z"])):
        for fold in ("r0f1", "all"):
            repeat, number = fold_numbers(fold)
            place = {"repeat": repeat, "fold": number, "selector": selector}
            text = dict.fromkeys(TEXT_COLUMNS[2:], "NA")
            rows = [{"recipe": name} | place | text for name in recipes]
            bits = {
                "inner_records": 4,
                "inner_right": "80",
                "inner_known": "",
                "inner_sizes": "2 2",
            }
            table = pd.DataFrame(rows, columns=FIGURES_COLUMNS).assign(**bits).fillna(0.25)
            paths.append(folder / selector / f"{fold}.tsv")
            write_table(paths[-1], table.assign(converged=True))
    return paths


def test_figures_of_all_folds_are_read_as_one_table(tmp_path):
    paths = write_figures(tmp_path)
    figures = read_figures(paths, ORDER)
    assert figures["recipe"].tolist() == ["x", "y", "x", "y", "z", "z"]
    assert figures["repeat"].tolist() == [0, 0, -1, -1, 0, -1]
    write_table(tmp_path / "models.tsv", figures)
    assert read_figures([tmp_path / "models.tsv"], ORDER).equals(figures)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("recipe", "another"),
        ("recipe", "x"),
        ("repeat", "1"),
        ("selector", "uniform"),
        ("inner_accuracy", ""),
        ("inner_records", "3"),
        ("inner_right", "c0"),
        ("inner_known", "e0"),
        ("inner_sizes", "1 2"),
        ("inner_sizes", "0.5 4"),
        ("cascade_pairs", ""),
    ],
)
def test_a_model_that_cannot_be_is_refused(tmp_path, column, value):
    paths = write_figures(tmp_path)
    table = pd.read_csv(paths[0], sep="\t", dtype=str)
    table.loc[1, column] = value
    write_table(paths[0], table)
    with pytest.raises(InputError, match=r"meb/r0f1.tsv: .*Delete it and run again"):
        read_figures(paths, ORDER)


def test_models_that_are_missing_are_refused(tmp_path):
    paths = write_figures(tmp_path)
    for incomplete in (paths[:2], paths[1:], paths[::2][:1]):
        with pytest.raises(InputError, match="not all recipes.*Delete these tables"):
            read_figures(incomplete, ORDER)
    some = pd.read_csv(paths[2], sep="\t").iloc[:0]
    write_table(paths[2], some)
    with pytest.raises(InputError, match="not all recipes"):
        read_figures(paths, ORDER)
    best = pd.read_csv(paths[0], sep="\t").assign(inner_right="f0", inner_accuracy=1.0)
    write_table(paths[0], best)
    figures = read_figures([*paths[:1], paths[2]], ORDER)
    assert figures["recipe"].tolist() == ["x", "y"], "z could not be chosen"
    write_table(paths[0], pd.read_csv(paths[0], sep="\t").drop(columns="temperature"))
    with pytest.raises(InputError, match="meb/r0f1.tsv: column 'temperature' is missing"):
        read_figures(paths, ORDER)


def test_after_the_first_part_the_same_recipes_are_in_all(tmp_path):
    """Those that went on after a race."""
    paths = write_figures(tmp_path)
    assert read_figures(paths[:3], ORDER)["recipe"].tolist() == ["x", "y", "x", "y", "z"]
    whole = read_figures(paths, ORDER)
    again = [whole[whole["recipe"] != name].assign(repeat=1) for name in "yz"]
    write_table(tmp_path / "models.tsv", pd.concat([whole, again[0]]))
    with pytest.raises(InputError, match="not all recipes"):
        read_figures([tmp_path / "models.tsv"], ORDER)


def test_flips_of_single_bits_in_figures_are_read_or_refused(tmp_path):
    paths = write_figures(tmp_path)

    def read(path):
        choose_recipe(read_figures(paths, ORDER)[:2].to_dict("records"), ORDER[:2])

    assert count_refused(paths[0], read, flips=150) > 90


def test_a_stop_leaves_out_what_needs_more_landmarks_than_a_recipe_that_none_can_beat(tmp_path):
    """Not what is fitted already; a recipe with two wrong records can be beaten."""
    counts = {"many": 900, "few": 9, "fewer": 9}
    for wrong, fate in ((0, "no"), (2, "yes")):
        table = stop_table([inner("few", np.arange(100) >= wrong, 10)], counts)
        assert table["goes_on"].tolist() == [fate, "yes", "yes"]
        assert (table["why"] != "").tolist() == [fate == "no", False, False]
        write_table(tmp_path / "stop.tsv", table)
        left = going_on([{"name": name} for name in counts], [tmp_path / "stop.tsv"])
        assert [recipe["name"] for recipe in left] == [
            n for n in counts if fate == "yes" or n != "many"
        ]


def test_landmarks_of_several_tables_stand_once_each(tmp_path):
    tables = {"one": [5, 2], "two": [2, 9], "none": []}
    for name, rows in tables.items():
        digests = [f"d{row}" for row in rows]
        write_table(tmp_path / name, pd.DataFrame({"row": rows, "class": "c", "digest": digests}))
    found = unite([tmp_path / name for name in tables])
    assert found.to_dict("list") == {"row": [2, 5, 9], "digest": ["d2", "d5", "d9"]}
