from dataclasses import replace

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.base.random_streams import hash_keys
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import (
    assign_folds,
    check_groups,
    count_folds,
    fold_summary,
    inner_folds,
)
from kreinflow.sequences.payload import Sequences, digest


def settings(**changes):
    defaults = {"method": "stratified", "k": 5, "repeats": 1, "identity": 0.9}
    return defaults | {"clustering": "kmer", "column": None, "table": None} | changes


def dataset(sequences, labels):
    distinct = tuple(dict.fromkeys(sequences))
    classes = tuple(sorted(set(labels)))
    return Dataset(
        ids=tuple(f"s{i}" for i in range(len(sequences))),
        labels=np.array([classes.index(label) for label in labels]),
        classes=classes,
        rows=np.array([distinct.index(s) for s in sequences]),
        digests=tuple(digest(s) for s in distinct),
        payload=Sequences(distinct),
    )


def random_data(n, seed=1, length=60):
    random = np.random.default_rng(seed)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
    sequences = [random.choice(letters, length).tobytes() for _ in range(n)]
    labels = random.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1]).tolist()
    return sequences, labels


def folds_of(data, path, **changes):
    return assign_folds(settings(**changes), data, 1, path)


def fold_of(data, path, **changes):
    """The fold of each record, where there is one repeat."""
    return folds_of(data, path, **changes)["fold"].to_numpy()


def assert_each_fold_has_its_share(folds, has, k):
    for own in has.T:
        sizes = np.bincount(folds[own & (folds >= 0)], minlength=k)
        assert np.abs(sizes - own.sum() / k).max() <= 1 + 0.25 * own.sum() / k


@pytest.mark.parametrize("k", [2, 5, 10])
@pytest.mark.parametrize("several", [False, True])
def test_each_fold_has_its_share_of_each_label(tmp_path, k, several):
    """Of one label each the folds of a class differ by one unit."""
    data = of_several() if several else dataset(*random_data(300))
    table = folds_of(data, tmp_path, k=k, repeats=2)
    assert table["id"].tolist() == 2 * list(data.ids)
    folds = table["fold"].to_numpy().reshape(2, -1)
    for fold in folds:
        if several:
            assert_each_fold_has_its_share(fold, data.memberships, k)
        else:
            sizes = [np.bincount(fold[data.labels == code], minlength=k) for code in range(3)]
            assert np.ptp(sizes, axis=1).max() <= 1
    assert (folds[0] == folds[1]).mean() < 0.7
    assert sorted(set(zip(table["repeat"], table["fold"], strict=True))) == (
        count_folds(settings(k=k, repeats=2), tmp_path)
    )


def test_most_units_are_at_home(tmp_path):
    """The rebalancing is minimal: it moves the surplus of a fold, no more."""
    data = dataset(*random_data(300))
    fold = fold_of(data, tmp_path)
    home = hash_keys(1, "fold\x1f0", data.digests)[data.rows] % 5
    for code in range(3):
        mine = data.labels == code
        counts = np.bincount(home[mine].astype(int), minlength=5)
        surplus = np.maximum(counts - mine.sum() // 5, 0).sum()
        assert (fold[mine] != home[mine]).sum() <= surplus


def test_added_sequences_and_the_order_leave_almost_all_others_where_they_were(tmp_path):
    sequences, labels = random_data(400)
    after = fold_of(dataset(sequences, labels), tmp_path)
    turned = dataset(sequences[::-1], labels[::-1])
    np.testing.assert_array_equal(after[::-1], fold_of(turned, tmp_path))
    before = fold_of(dataset(sequences[:-1], labels[:-1]), tmp_path)
    assert (before != after[:-1]).sum() <= 5
    before = fold_of(dataset(sequences[:-40], labels[:-40]), tmp_path)
    assert (before == after[:-40]).mean() > 0.9


def test_identical_and_near_identical_sequences_share_a_fold(tmp_path):
    sequences, labels = random_data(60, length=80)
    mutants = [b"W" + s[1:40] + b"W" + s[41:] for s in sequences]
    data = dataset(sequences + mutants, labels * 2)
    fold = fold_of(data, tmp_path, k=3, method="grouped")
    np.testing.assert_array_equal(fold[:60], fold[60:])
    table = folds_of(dataset(sequences * 2, labels * 2), tmp_path, k=3, repeats=3)
    assert (table.groupby(["repeat", "group"])["fold"].nunique() == 1).all()
    assert table["group"].nunique() == 60


def test_classes_in_fewer_groups_than_folds(tmp_path):
    sequences, _ = random_data(40, length=80)
    mutants = [sequences[0][:i] + b"W" + sequences[0][i + 1 :] for i in (10, 20, 30, 40)]
    four = dataset([*sequences[:34], *sequences[30:34]], ["A"] * 20 + ["C"] * 10 + ["B"] * 8)
    none = dataset([*sequences, *mutants], [*list("AB") * 20, *"CCDD"])
    two = dataset([*sequences, *(s[::-1] for s in sequences[:2])], [*list("AB") * 20, *"CC"])
    grouped = {"method": "grouped"}
    for data, k, changes, message in (
        (four, 5, {}, r"1 of 3 classes have fewer different records than k = 5 .*; 'B' has 4\."),
        (none, 2, grouped, r"2 of 4 classes .*groups .*identity 0\.9\) than k = 2 .*'D' has 0\."),
        (two, 3, grouped, r"1 of 3 classes .*'C' has 2\."),
    ):
        with pytest.raises(InputError, match=message):
            folds_of(data, tmp_path, k=k, **changes)
    folds_of(four, tmp_path, k=4)
    folds_of(two, tmp_path, k=2, **grouped)


def with_species(data, species):
    return replace(data, organisms={"organism": tuple(species), "taxonomy": tuple(species)})


def test_species_with_a_sequence_in_common_are_one_group(tmp_path):
    """Else either a sequence or a species would be on both sides."""
    sequences, _ = random_data(40)
    sequences[5], sequences[9] = sequences[0], sequences[6]  # s0 with s5, s6 with s9
    species = [f"s{i % 10}" for i in range(40)]
    data = with_species(dataset(sequences, list("AB") * 20), species)
    table = folds_of(data, tmp_path, k=2, method="grouped", column="taxonomy")
    groups = dict(zip(species, table["group"], strict=True))
    assert groups["s0"] == groups["s5"]
    assert groups["s6"] == groups["s9"]
    assert table["group"].nunique() == 8
    assert (table.groupby(species)["fold"].nunique() == 1).all()
    assert set(table["fold"]) == {0, 1}


def test_groups_of_many_classes_leave_their_shares_even(tmp_path):
    """As species that all have each of the families, of very different sizes."""
    random = np.random.default_rng(7)
    sequences, labels = random_data(600)
    species = [f"s{number}" for number in random.geometric(0.1, 600)]
    data = with_species(dataset(sequences, labels), species)
    for k in (2, 5):
        fold = fold_of(data, tmp_path, k=k, method="grouped", column="organism")
        for code in range(3):
            sizes = np.bincount(fold[data.labels == code], minlength=k)
            assert sizes.min() > 0.5 * sizes.mean()
        sizes = np.bincount(fold, minlength=k)
        assert sizes.max() < 1.25 * sizes.mean()


def test_columns_that_make_no_folds(tmp_path):
    data = dataset(random_data(40)[0], list("AB") * 20)
    for species, k, column, message in (
        ("xxyy", 3, "organism", r"the records are in 2 groups, fewer than k = 3 folds"),
        ("xyzy", 2, "organism", r"folds.column: all .* have the label 'B' are"),
        ("xyzy", 2, "place", r"'place' is no column .*; known are organism, taxonomy"),
        ("", 2, "organism", r"'organism' is no column .*OS= and OX=\); there is none"),
    ):
        known = with_species(data, list(species) * 10) if species else data
        with pytest.raises(InputError, match=message):
            folds_of(known, tmp_path, k=k, method="grouped", column=column)


def test_groups_from_a_column_of_the_labels_table(tmp_path):
    """The table has short forms of the ids, as it may for the labels."""
    sequences, _ = random_data(24)
    ids = tuple(f"sp|P{i:05d}|N{i}_HUMAN" for i in range(24))
    data = replace(dataset(sequences, list("AABB") * 6), ids=ids)
    lines = [f"P{i:05d}\tL\t{'xyzw'[i % 4]}\n" for i in range(24)]
    text = "".join(["id\tlabel\tplace\n", *lines, *lines[::5], "spare\tL\tx\n"])
    (tmp_path / "l.tsv").write_text(text)
    source = {"labels": {"table": "l.tsv", "id_column": "id"}}
    part = settings(method="grouped", column="place", k=2)
    check_groups(part, source, tmp_path)
    table = assign_folds(part, data, 1, tmp_path, source)
    places = ["xyzw"[i % 4] for i in range(24)]
    assert (table.groupby(places)["fold"].nunique() == 1).all()
    assert table["group"].nunique() == 4
    with pytest.raises(InputError, match=r"column 'plaice' is missing; did you mean 'place'"):
        check_groups(part | {"column": "plaice"}, source, tmp_path)
    made = {"method": "grouped", "groups": 4, "largest": 6, "column": "place"}
    assert fold_summary(part, table) == made
    (tmp_path / "l.tsv").write_text(text + "P00003\tL\tx\n")
    with pytest.raises(InputError, match=r"line 32: .* of 'P00003' is 'x', and 'w' in a line"):
        assign_folds(part, data, 1, tmp_path, source)


SIX = dataset([b"M" * i for i in range(1, 7)], list("AABBAB"))
LINES = [f"s{i} {fold}" for i, fold in enumerate("121211")]


def table_folds(tmp_path, lines, data=SIX, name="f.tsv"):
    separator = "," if name.endswith(".csv") else "\t"
    text = "".join(separator.join(line.split()) + "\n" for line in ["id fold", *lines])
    (tmp_path / name).write_text(text)
    part = settings(method="table", table=name)
    return assign_folds(part, data, 1, tmp_path)["fold"].tolist(), count_folds(part, tmp_path)


def test_the_users_table(tmp_path):
    lines = ["s0 10", "s1 9", "s2 10", "s3 9", "s4 9", "s5 10"]
    assert table_folds(tmp_path, lines) == ([1, 0, 1, 0, 0, 1], [(0, 0), (0, 1)])
    assert table_folds(tmp_path, lines[::-1], name="f.csv")[0] == [1, 0, 1, 0, 0, 1]
    split = ["s0 train", "s1 test", "s2 train", "s3 test", "s4 test", "s5 train"]
    assert table_folds(tmp_path, split) == ([-1, 0, -1, 0, 0, -1], [(0, 0)])
    long = replace(SIX, ids=("sp|P12345|A_B", *SIX.ids[1:]))
    assert table_folds(tmp_path, ["P12345 1", *LINES[1:]], long)[0] == [0, 1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (LINES[:4], r"f.tsv: no fold for 2 of 6 ids: s4, s5"),
        ([*LINES, "t 1"], r"f.tsv: no record for 1 of 7 folds: t"),
        ([f"s{i} {'112212'[i]}" for i in range(6)], r"f.tsv: all .* have the label 'A' are in"),
        ([f"s{i} train" for i in range(6)], r"all ids are in fold 'train'"),
        ([f"s{i} 1" for i in range(6)], r"all ids are in fold '1'"),
        ([f"s{i} {'Train' if i < 3 else 'Test'}" for i in range(6)], r"'train' and 'Train' differ"),
        ([f"s{i} {'xX'[i % 2]}" for i in range(6)], r"the folds 'x' and 'X' differ in upper"),
    ],
)
def test_faults_of_the_users_table(tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        table_folds(tmp_path, lines)


def test_the_users_table_may_have_dropped_records_and_must_not_split_identical_ones(tmp_path):
    data = replace(SIX, dropped=("t",))
    assert table_folds(tmp_path, [*LINES, "t 2"], data)[0] == [0, 1, 0, 1, 0, 0]
    with pytest.raises(InputError, match=r"none of the ids of fold '3' is left"):
        table_folds(tmp_path, [*LINES, "t 3"], data)
    twins = dataset([b"MK", b"MK", b"MV", b"ML", b"MM", b"MW"], list("AABBAB"))
    with pytest.raises(InputError, match=r"'s0' and 's1' are the same sequence"):
        table_folds(tmp_path, LINES, twins)


def test_inner_folds_are_stratified_by_groups():
    random = np.random.default_rng(1)
    groups = np.repeat(np.arange(50), 2)
    labels = np.repeat(random.choice(2, 50, p=[0.7, 0.3]), 2)
    folds = inner_folds(groups, labels, 4, 1, "inner", "r0f1")
    np.testing.assert_array_equal(folds[::2], folds[1::2])
    for label in (0, 1):
        assert np.ptp(np.bincount(folds[labels == label], minlength=4)) <= 2
    for seed, name in ((1, "r0f1"), (1, "r0f2"), (2, "r0f1")):
        same = (folds == inner_folds(groups, labels, 4, seed, "inner", name)).all()
        assert same == ((seed, name) == (1, "r0f1"))


def test_a_small_class_is_in_as_many_inner_folds_as_it_can_be():
    """One with a single unit is always trained on."""
    labels = np.array([0] * 10 + [1] * 3 + [2] * 2)
    folds = inner_folds(np.arange(15), labels, 5, 1)
    assert np.bincount(folds[:10]).tolist() == [2] * 5
    assert len(set(folds[10:13])) == 3
    assert len(set(folds[13:])) == 2
    assert set(inner_folds(np.arange(5), np.array([0, 0, 0, 1, 1]), 5, 1)) == {0, 1, 2}
    folds = inner_folds(np.r_[np.arange(13), 13, 13], labels, 2, 1)
    assert folds[13:].tolist() == [-1, -1]
    assert set(folds[:13]) == {0, 1}
    assert inner_folds(np.arange(2), np.array([0, 1]), 3, 1).tolist() == [-1, -1]


def of_several(n=200, seed=1, length=60, labels=6):
    """A data set whose records have labels of very different sizes, one at least."""
    rng = np.random.default_rng(seed)
    sequences, _ = random_data(n, seed, length)
    has = rng.random((n, labels)) < np.geomspace(0.05, 0.6, labels)
    has[np.arange(n), rng.integers(labels, size=n)] = True
    rarest = np.where(has, has.sum(axis=0), n + 1).argmin(axis=1)
    data = dataset(sequences, list("abcdef") + ["a"] * (n - 6))
    return replace(data, memberships=has, labels=rarest, classes=tuple("abcdef"[:labels]))


def test_groups_of_several_labels_are_spread_by_all_that_their_records_have(tmp_path):
    """By what the identity of sequences, or a column, groups."""
    data = of_several(120, length=80)
    mutants = [b"W" + s[1:40] + b"W" + s[41:] for s in data.sequences]
    has = np.concatenate([data.memberships, np.roll(data.memberships, 1, axis=0)])
    labels = np.where(has, has.sum(axis=0), 999).argmin(axis=1)
    twice = dataset([*data.sequences, *mutants], ["a", "b"] * 120)
    twice = replace(twice, memberships=has, labels=labels, classes=data.classes)
    fold = fold_of(twice, tmp_path, k=4, method="grouped")
    np.testing.assert_array_equal(fold[:120], fold[120:])
    assert_each_fold_has_its_share(fold[:120], has[:120] | has[120:], 4)
    species = with_species(twice, [f"s{i % 30}" for i in range(240)])
    table = folds_of(species, tmp_path, k=3, method="grouped", column="organism")
    assert (table.groupby("group")["fold"].nunique() == 1).all()
    for own in has.T:
        sizes = np.bincount(table["fold"][own], minlength=3)
        assert sizes.min() > 0.5 * sizes.mean()


def test_labels_that_too_few_records_have_or_lack_for_folds(tmp_path):
    data = of_several(60)
    few = data.memberships.copy()
    few[:, 0] = np.arange(60) < 3
    with pytest.raises(InputError, match=r"fewer different records than k = 5 folds; 'a' has 3"):
        folds_of(replace(data, memberships=few), tmp_path, k=5)
    alone = data.memberships.copy()
    alone[:, 5] = np.arange(60) > 0
    message = r"folds: all records that lack the label 'f' are .* Lower 'folds.k', or raise 'min"
    with pytest.raises(InputError, match=message):
        folds_of(replace(data, memberships=alone), tmp_path, k=3)


def test_inner_folds_of_several_labels():
    data = of_several(150)
    has = data.memberships.copy()
    has[:, 0] = np.arange(150) == 3  # a label of one record
    groups = np.arange(150) // 2
    folds = inner_folds(groups, data.labels, 3, 1, "r0f0", memberships=has)
    np.testing.assert_array_equal(folds[::2], folds[1::2])
    assert (folds[groups == groups[3]] == -1).all()
    assert (folds == -1).sum() == 2
    units = np.logical_or.reduceat(has, np.arange(0, 150, 2), axis=0)
    assert_each_fold_has_its_share(folds[::2], units[:, 1:], 3)
    again = inner_folds(groups, np.zeros(150, dtype=int), 3, 1, "r0f0", memberships=has)
    np.testing.assert_array_equal(folds, again)
    other = inner_folds(groups, data.labels, 3, 2, "r0f0", memberships=has)
    assert (folds != other).any()


def rolled(sequences, labels, paths=None):
    """A data set whose small classes may be learned at their parents."""
    data = dataset(sequences, labels)
    return replace(data, paths=tuple(paths or labels))


def test_where_small_classes_are_at_parents_one_with_all_folds_is_enough(tmp_path):
    sequences, _ = random_data(40, length=80)
    labels = ["a"] * 30 + ["a.x"] * 4 + ["a.y"] * 2 + ["a.z"] + ["b"] * 3
    data = rolled(sequences, labels)
    fold = fold_of(data, tmp_path, k=5)
    names = np.array(labels)
    assert np.bincount(fold[names == "a"]).tolist() == [6] * 5
    for label, n in (("a.x", 4), ("a.y", 2), ("b", 3)):
        assert len({*fold[names == label]}) == n
        assert (fold[names == label] >= 0).all()
    assert fold[names == "a.z"].tolist() == [-1]  # its only record is always learned
    table = folds_of(data, tmp_path, k=5)
    assert fold_summary(settings(), table)["never_tested"] == 1
    with pytest.raises(InputError, match="5 of 5 classes have fewer different records than k = 31"):
        fold_of(data, tmp_path, k=31)
    with pytest.raises(InputError, match="4 of 5 classes have fewer"):
        fold_of(replace(data, paths=None), tmp_path, k=5)


def test_groups_with_all_records_of_a_class_are_never_tested(tmp_path):
    sequences, _ = random_data(40, length=80)
    near = [sequences[0][:i] + b"W" + sequences[0][i + 1 :] for i in range(10, 60, 10)]
    labels = ["a"] * 40 + ["a.x"] * 2 + ["a.y"] * 3  # a.x and a.y share a group with one of a
    data = rolled([*sequences, *near], labels)
    table = folds_of(data, tmp_path, k=5, method="grouped")
    fold, names = table["fold"].to_numpy(), np.array(labels)
    assert (fold[names != "a"] == -1).all()
    assert fold[0] == -1
    assert sorted(set(fold[1:40])) == [0, 1, 2, 3, 4]
    assert (table.groupby("group")["fold"].nunique() == 1).all()
    assert fold_summary(settings(), table)["never_tested"] == 6
    whole = rolled([*sequences[:2], *near[:2]], ["a", "a", "a", "a.x"])
    with pytest.raises(InputError, match="one of k = 2 folds would have nothing to test"):
        fold_of(whole, tmp_path, k=2, method="grouped")


@pytest.mark.parametrize("seed", range(3))
def test_each_class_is_learned_in_each_fold(tmp_path, seed):
    """Whatever the sizes of classes, no training part lacks one, and no fold is empty."""
    rng = np.random.default_rng(seed)
    sequences, _ = random_data(200, seed=seed + 1, length=30)
    labels = np.append(["c0"] * 9, [f"c{i}" for i in rng.geometric(0.05, 191)])
    fold = fold_of(rolled(sequences, labels.tolist()), tmp_path, k=5)
    assert sorted(set(fold[fold >= 0])) == [0, 1, 2, 3, 4]
    for number in range(5):
        assert {*labels[fold != number]} == {*labels}
    sizes = dict(zip(*np.unique(labels, return_counts=True), strict=True))
    assert all((fold[i] == -1) == (sizes[labels[i]] == 1) for i in range(200))
