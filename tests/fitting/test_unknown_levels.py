"""What is unknown at a level and known above: by plain sums, and as seldom told as is promised."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fitting.test_fit_unknown import LIFTED, table_of, trained_on
from kreinflow.answering.levels import NO_NODE, Levels
from kreinflow.answering.relatives import levels_reached
from kreinflow.base.hierarchy import path_of
from kreinflow.classify.classification import LEVEL_COLUMNS, classify_file
from kreinflow.classify.model_file import Model
from kreinflow.fitting import fit_unknown
from kreinflow.fitting import unknown_levels as module
from kreinflow.fitting.reject_threshold import ABOVE_HALF, fitted_levels
from kreinflow.fitting.unknown_levels import NodeLimits, likeness_needed
from sequence_pairs import rectangle
from small_inputs import PROTEIN

LEVELS = {"separator": "_", "back_off": 0.8}
ERROR = 0.1


def clans(seed, names, families, each, changed=(0.4, 0.4), length=60):
    """Records of families of clans: ``a_x``, ``a_y``, ... of clan ``a``."""
    rng = np.random.default_rng(seed)
    letters, records = list(PROTEIN), []

    def child(parent, share):
        return np.where(rng.random(length) < share, rng.choice(letters, length), parent)

    for clan in names:
        ancestor = rng.choice(letters, length)
        for family in families:
            own = child(ancestor, changed[0])
            for i in range(each):
                label = f"{clan}_{family}"
                records.append((f"{label}{i}", label, "".join(child(own, changed[1]))))
    return records


def asked(error=ERROR):
    return {"false_alarms": 0.1, "overclassification": error}


@pytest.mark.parametrize("n", [1, 18, 19, 20, 99, 150])
def test_evidence_is_enough_where_few_have_as_much(n):
    """By the p-value of each object, counted; equal values are there."""
    rng = np.random.default_rng(n)
    others, new = (np.round(rng.normal(size=size), 1) for size in (n, 400))
    for error in (0.05, 0.1, 0.4):
        p = (1 + (others[:, None] >= new).sum(axis=0)) / (n + 1)
        enough = new > likeness_needed(others, error)
        np.testing.assert_array_equal(enough, p <= error + 1e-12)
        assert enough.any() == (n + 1 >= 1 / error - 1e-9)


def test_what_is_unknown_has_enough_as_seldom_as_it_is_said():
    """Over seeds: of exchangeable objects a share of the error is above what is needed."""
    found = []
    for seed in range(2000):
        drawn = np.random.default_rng([seed, 2]).normal(size=109)
        found.append(np.mean(drawn[99:] > likeness_needed(drawn[:99], 0.05)))
    assert abs(np.mean(found) - 0.05) < 3 * np.std(found) / np.sqrt(2000)
    assert likeness_needed(np.empty(0), 0.05) == np.inf


def test_the_likeness_that_a_level_takes_is_what_plain_sums_say(tmp_path, monkeypatch):
    """By the dense scores: who asks very many asks all records of other nodes."""
    caught = []

    class Caught(NodeLimits):
        def told(self, *given):
            caught.extend(given)
            return super().told(*given)

    monkeypatch.setattr(module, "FEW", 1000)
    monkeypatch.setattr(fit_unknown, "NEAREST", 1000)
    monkeypatch.setattr(fit_unknown, "NodeLimits", Caught)
    it = trained_on(tmp_path, clans(1, "abc", "xy", 16, (0.2, 0.5)), levels=LEVELS, unknown=asked())
    relatives, t = it.model.classifier.relatives, it.training
    sequences, classes = it.dataset.sequences, it.model.classifier.classes
    rows = np.arange(len(sequences))
    S = rectangle(sequences, rows, rows, it.model.scheme)
    likeness = S / np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    paths = [path_of(label, "_") for label in classes]
    free, limited, probabilities, _ = caught
    keys = t.liftings({"views": {}, "lift": {}}).keys[t.part.rows[t.fits.measured]]
    records = t.fits.measured[np.argsort(keys, kind="stable")]
    assert len(records) == 96

    def near(i, row):
        """How like a record the likeliest node of each level is."""
        others = np.arange(len(t.part.rows)) != i
        found = []
        for level in (1, 2):
            sums = node_sums(row, paths, level)
            mine = [paths[label][:level] == max(sums, key=sums.get) for label in t.part.labels]
            found.append(likeness[t.part.rows[i], t.part.rows[mine & others]].max())
        return np.array(found)

    found, told = [], it.model.classifier.about["unknown"]["levels"]
    for level in (1, 2):
        values, answered, kept = [], [], []
        for row, i in zip(probabilities, records, strict=True):
            own = paths[t.part.labels[i]][:level]
            others = np.array([path[:level] != own for path in paths])
            mine = np.array([others[label] for label in t.part.labels])
            values.append(likeness[t.part.rows[i], t.part.rows[mine]].max())
            answered.append(sure(row, paths, free, level))
            like = all((near(i, row) > relatives.needed)[:level])
            kept.append(like and sure(row, paths, limited, level))
        # At most a tenth of these and a new one has more.
        found.append(np.sort(values)[-int(ERROR * 97)])
        assert told[level - 1]["left_out"] == 96
        assert told[level - 1]["likeness"] == relatives.needed[level - 1]
        assert told[level - 1]["answered_before"] == np.mean(answered)
        assert told[level - 1]["answered"] == np.mean(kept)
    np.testing.assert_allclose(relatives.needed, found, rtol=1e-12)
    assert 0 < told[1]["answered"] < told[1]["answered_before"]
    assert (free.thresholds >= 0.8).all()
    assert limited is it.model.classifier.levels
    # Those that are not like enough say nothing of thresholds.
    true = free.true_nodes([classes[t.part.labels[i]] for i in records])
    alike = np.array([near(i, row) for row, i in zip(probabilities, records, strict=True)])
    true[:, 1:][~levels_reached(alike, relatives.needed)] = NO_NODE
    again = fitted_levels(free, probabilities, true, 0.9, ABOVE_HALF)
    np.testing.assert_array_equal(again.thresholds, limited.thresholds)


def node_sums(p, paths, level):
    """The probabilities of the nodes of a level, of p that are scaled to sum to 1."""
    sums = Counter()
    for path, own in zip(paths, p / p.sum(), strict=True):
        sums[path[:level]] += own
    return sums


def sure(p, paths, levels, level):
    """Whether a node of a level comes up to its threshold."""
    return max(node_sums(p, paths, level).values()) >= levels.thresholds[level - 1]


def test_members_of_unknown_nodes_are_told_as_seldom_as_it_is_said(tmp_path):
    """By models that know neither the clan nor the family; the limit alone makes it so."""
    shares = []
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        known, held = drawn_clans(seed)
        it = trained_on(
            folder, known, levels=LEVELS, unknown=asked(), recipe=[None, LIFTED][seed % 2]
        )
        table = table_of(it, folder, held)
        classifier = it.model.classifier
        assert (table["level"].astype(int)[table["reason"] == "no relative"] == 0).all()
        assert (table["level"].astype(int)[table["reason"] == "unknown"] < 2).all()
        free = classifier.with_parts(relatives=replace(classifier.relatives, needed=None))
        before = classify_file(replace(it.model, classifier=free), folder / "new.fasta")
        same = [name for name in before if name not in (*LEVEL_COLUMNS, "alignments")]
        assert before[same].equals(table[same])
        label = table["id"].str[:3]
        clan = label.str[0].isin(list("fgh"))
        family = label.str[0].isin(list("ab")) & (label.str[2] == "z")
        for told in (before, table):
            level = told["level"].astype(int)
            right = told["node"].fillna("")[family] == label[family].str[0]
            new = ~(clan | family)
            answered = new & (level > 1)
            assert (told["node"] == label)[answered].mean() >= LEVELS["back_off"]
            mine = (told["node"] == label)[new]
            shares.append(
                [(level[clan] > 0).mean(), (level[family] > 1).mean(), right.mean(), mine.mean()]
            )
    print(np.array(shares).reshape(4, 2, 4))
    before, after = np.array(shares).reshape(4, 2, 4).mean(axis=0)
    assert after[0] <= ERROR
    assert after[1] <= ERROR
    assert before[1] > 2 * ERROR
    assert after[2] > before[2]
    assert after[3] > 0.5 * before[3]


def drawn_clans(seed):
    """Records of known families, and others: of known and unknown families and clans."""
    records = clans(seed, "abcdefgh", "xyz", 40, changed=(0.25, 0.4))
    known = [r for r in records if (r[1][0] < "f" and r[1][2] < "z") or r[1][0] in "cde"]
    held = known[1::2] + [r for r in records if r not in known]
    return known[::2], [(f"{label}{id}", label, s) for id, label, s in held]


def test_records_whose_class_ends_above_a_level_say_nothing_of_it(tmp_path):
    """Copies of family members that stand at their clan: as where labels of one sequence differ."""
    records = clans(3, "abcd", "xyz", 12)
    copies = [(f"{id}c", label[0], s[:-1]) for id, label, s in records[::6]]
    limits = []
    for known in (records, records + copies):
        it = trained_on(tmp_path, known, levels=LEVELS, unknown=asked())
        assert ("a" in it.model.classifier.classes) == (known is not records)
        limits.append(it.model.classifier.relatives.needed[1])
    assert abs(limits[1] - limits[0]) < 0.1
    assert max(limits) < 0.9


def test_too_few_records_are_answered_at_no_level(tmp_path):
    it = trained_on(tmp_path, clans(2, "abc", "xy", 6), levels=LEVELS, unknown=asked(0.01))
    assert (it.model.classifier.relatives.needed == np.inf).all()
    it.model.save(tmp_path / "model.safetensors")
    about = Model.load(tmp_path / "model.safetensors").classifier.about["unknown"]
    assert [row["likeness"] for row in about["levels"]] == [None, None]


def test_a_level_of_one_node_has_no_limit(tmp_path):
    """As where all lineages are of one kingdom: no record shows how like others would be."""
    it = trained_on(tmp_path, clans(2, "a", "vwxyz", 12), levels=LEVELS, unknown=asked())
    needed = it.model.classifier.relatives.needed
    assert needed[0] == -np.inf
    assert 0 < needed[1] < 1
    it.model.save(tmp_path / "model.safetensors")
    model = Model.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(model.classifier.relatives.needed, needed)
    kept = model.classifier.about["unknown"]["levels"][0]
    assert kept["likeness"] is None
    assert kept["answered"] == kept["answered_before"] > 0


def test_without_a_limit_nothing_is_learned(tmp_path):
    it = trained_on(tmp_path, clans(2, "abc", "xy", 6), levels=LEVELS, unknown=asked(None))
    assert it.model.classifier.relatives.needed is None
    assert "levels" not in it.model.classifier.about["unknown"]


def test_a_level_that_no_record_tried_has_can_be_written():
    """A deep level of few records may have none among those that are tried."""
    levels = Levels.of(("a", "b", "c_x"), "_", 0.8)
    limits = NodeLimits(np.array([0.5, np.inf]), np.array([[True, False]] * 3))
    likeness = np.array([[0.9, -np.inf], [0.4, -np.inf], [0.9, 0.9]])
    rows = limits.told(levels, levels, np.eye(3), likeness)
    assert rows[0]["answered_before"] == 1.0
    assert rows[0]["answered"] == pytest.approx(2 / 3)
    assert rows[1] == {"left_out": 0, "likeness": None, "answered_before": 0.0, "answered": 0.0}
