"""What is learned of relatives: false alarms that are kept, strangers, and what has no relative."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from answering.cascades import candidates
from kreinflow.answering import relatives
from kreinflow.answering.query_and_answers import Query
from kreinflow.answering.relatives import NEAREST
from kreinflow.classify.classification import classify_file
from kreinflow.classify.new_objects import Options
from kreinflow.fitting import fit_unknown as module
from kreinflow.fitting.fit_unknown import NoRelativeFit
from kreinflow.fitting.reject_threshold import Promise
from kreinflow.fitting.strangers import STRANGERS, made_strange
from kreinflow.krein.landmark_kernel import landmark_kernel
from kreinflow.sequences.payload import digest
from kreinflow.views.seeds import NUCLEOTIDE
from plain_seeds import plain_nearest
from sequence_pairs import rectangle
from small_inputs import (
    DNA,
    PROTEIN,
    configuration,
    families,
    fasta_source,
    trained_recipe,
    turned,
    write_fasta,
)

CLASSES = "abcd"
ALPHA = 0.1
LIFTED = {"views": {"words": [1, 2]}, "lift": {"kernel": "gaussian"}, "learner": "sf-lsm"}
LEARNERS = {"sf-lsm": {"method": "sf_lsm", "ridge": "inner"}}


def drawn(seed, classes=CLASSES, each=60, changed=0.5, **more):
    """Records of families, and as many for tests."""
    records = families(seed, classes, 2 * each, changed=changed, **more)
    return records[::2], [(f"t{id}", label, s) for id, label, s in records[1::2]]


def trained_on(folder, records, unknown=ALPHA, recipe=None, levels=None, **more):
    """A recipe with relatives, trained on records."""
    write_fasta(folder / "x.fasta", records)
    wanted = {"false_alarms": unknown} if isinstance(unknown, float) else unknown
    config = configuration(
        fasta_source(**more),
        recipe=recipe,
        levels=levels,
        unknown=wanted,
        reject_error=0.2,
        inner_folds=5,
    )
    config["learners"] |= LEARNERS
    return trained_recipe(config, folder)


def fit_of(it):
    """What tells of relatives, of all that a recipe was trained on."""
    t = it.training
    objects = t.liftings({"views": {}, "lift": {}}).objects
    return NoRelativeFit(t.landmarks, t.part, objects, t.evidence, t.strangers, t.cache)


def table_of(it, folder, records):
    return classify_file(it.model, write_fasta(folder / "new.fasta", records))


def without_relatives(rng, records):
    """Shuffled and reversed records, and random ones of other lengths."""
    letters = [np.frombuffer(s.encode(), dtype="S1") for *_, s in records[::4]]
    made = [rng.permutation(s).tobytes().decode() for s in letters]
    made += [s[::-1].tobytes().decode() for s in letters]
    made += ["".join(rng.choice(list(PROTEIN), rng.integers(30, 400))) for _ in range(60)]
    return [(f"n{i}", "", s) for i, s in enumerate(made)]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Of seeds: what is said of members, of unknown families, and of what has no relative."""
    found = []
    for seed in range(3):
        folder = tmp_path_factory.mktemp("seed")
        records, new = drawn(seed)
        recipe = [None, LIFTED, {**LIFTED, "cascade": {"loss": 0.01}}][seed]
        it = trained_on(folder, records, recipe=recipe)
        strangers, _ = drawn(seed + 50, classes="uvw", each=20)
        others = without_relatives(np.random.default_rng(seed), records)
        found.append((it, *(table_of(it, folder, part) for part in (new, strangers, others))))
    return found


def test_true_members_are_rejected_as_often_as_it_is_said(tables):
    """Of 720 members; those that calibrate were held out of models that know a fifth less."""
    shares = [(members["p_value"] <= ALPHA).mean() for _, members, *_ in tables]
    assert 0.06 < np.mean(shares) < 0.13
    for _, members, *_ in tables:
        # Rejected are those, and nobody else.
        assert ((members["reason"] == "unknown") <= (members["p_value"] <= ALPHA)).all()


def test_unknown_families_and_what_has_no_relative_are_rejected(tables):
    for it, _, strangers, others in tables:
        assert (strangers["reject"] == "yes").mean() >= 0.98
        assert (others["reject"] == "yes").mean() >= 0.98
        assert (others["reason"] == "no relative").mean() > 0.9
        told = it.model.classifier.about["unknown"]
        assert told["would_be_found"] > 0.9
        assert told["calibrating"] == 240
        assert told["no_relative"]["shuffled_accepted"] <= 0.02
        assert not told["no_relative"]["off"]


def test_recipes_share_what_they_find_in_one_space(tmp_path, monkeypatch):
    """With the same parts as each would have alone."""
    it = trained_on(tmp_path, drawn(4, each=20)[0])
    own, made = module._in_front, []
    monkeypatch.setattr(module, "_in_front", lambda *given: made.append(1) or own(*given))
    kernel = landmark_kernel(it.training.landmarks, it.training.part, it.model.classifier.transform)
    recipe, together = it.model.classifier.about["recipe"] | {"lift": None}, replace(it.training)

    def parts(training, settings):
        classifier = training.train(recipe, settings, None, kernel).classifier
        assert classifier.relatives.strangeness is not None
        assert not classifier.about["unknown"]["no_relative"]["off"]
        return classifier.about["unknown"], classifier.relatives.to_parts()

    found = []
    for settings in (LEARNERS["sf-lsm"], {"method": "nearest_landmark"}):
        found.append(parts(together, settings))
        np.testing.assert_equal(found[-1], parts(replace(it.training), settings))
    assert len(made) == 3, "of two recipes together, and of each alone"
    own = [arrays["of_landmarks"] for _, (_, arrays) in found]
    assert np.array_equal(own[0][:, :2], own[1][:, :2])
    assert not np.array_equal(own[0][:, 2], own[1][:, 2]), "the probabilities are each recipe's"


def test_the_rule_is_the_second_largest_of_what_reversed_records_have(tmp_path):
    """By the dense scores of all with all: of 80 records everybody asks all."""
    records, _ = drawn(9, each=20)
    it = trained_on(tmp_path, records, unknown=None)
    classifier = fit_of(it).fit(it.model.classifier)
    made = it.training.strangers.sequences[:STRANGERS]
    sequences = [*made, *it.dataset.sequences]
    rows = np.arange(STRANGERS)
    S = rectangle(sequences, rows, np.arange(STRANGERS, len(sequences)), it.model.scheme)
    constants = classifier.relatives.evidence.constants
    gains = constants["lambda"] * S - np.log(constants["K"] * 60 * 60)
    _, second = np.sort(np.sort(gains, axis=1)[:, :-4:-1].mean(axis=1))[:-3:-1]
    told = classifier.about["unknown"]["no_relative"]
    assert told["far"] == pytest.approx(second, rel=1e-12)
    assert 0 < told["near"] <= told["far"]
    assert classifier.relatives.null == module.NoRelative(told["near"], told["far"])


def test_nothing_is_learned_where_nothing_is_told(tmp_path):
    """Records without relatives: the rule would reject them all, so it is off."""
    rng = np.random.default_rng(3)
    records = [(f"r{i}", "ab"[i % 2], "".join(rng.choice(list(PROTEIN), 40))) for i in range(60)]
    it = trained_on(tmp_path, records, unknown=None)
    classifier = fit_of(it).fit(it.model.classifier)
    assert classifier.relatives is None
    told = classifier.about["unknown"]["no_relative"]
    assert told["off"]
    assert told["known_rejected"] > 0.5


def test_the_letters_of_the_matrix_say_what_seeds_are_made_of(tmp_path):
    it = trained_on(tmp_path, drawn(16, each=10)[0], unknown=None)
    rule = replace(fit_of(it), letters=DNA)
    lifting = replace(it.training.liftings({"views": {}, "lift": {}}), letters=DNA)
    found = [rule.asked(it.model.classifier, 9).seeds.groups, lifting.seeds.groups]
    assert found == [NUCLEOTIDE, NUCLEOTIDE]


def test_a_rule_of_very_many_scores_has_fewer_records(tmp_path, monkeypatch):
    records, new = drawn(15, each=20)
    it = trained_on(tmp_path, records, unknown=None)
    monkeypatch.setattr(module, "LARGEST_INDEX", 30 * len(it.rows) + 1)
    classifier = fit_of(it).fit(it.model.classifier)
    kept = classifier.relatives.records
    assert len(kept) == 30
    assert np.bincount(kept.classes).tolist() == [8, 7, 8, 7]
    ids = tuple(it.dataset.ids[row] for row in kept.rows)
    model = replace(it.model, classifier=classifier, record_ids=ids)
    table = classify_file(model, write_fasta(tmp_path / "new.fasta", new))
    assert (table["reason"] == "no relative").mean() <= 0.05


def test_a_group_says_nothing_of_its_own_members(tmp_path):
    """Two copies of each record are no relatives of each other."""
    records, _ = drawn(11, each=20)
    it = trained_on(tmp_path, records, unknown=None)
    of = fit_of(it)
    lone = replace(of.part, groups=of.part.labels)  # a class is a group
    told = [
        replace(of, part=part).fit(it.model.classifier).about["unknown"]["no_relative"]
        for part in (of.part, lone)
    ]
    assert told[0]["known_rejected"] <= 0.05
    assert told[1]["known_rejected"] > 0.9
    assert [part["off"] for part in told] == [False, True]


def test_the_rule_is_measured_as_it_answers(tmp_path, monkeypatch):
    """What has one overwhelming hit has a relative, whatever the rest; here any hit is one."""
    monkeypatch.setattr(relatives, "_OVERWHELMING", -np.inf)
    rng = np.random.default_rng(3)
    records = [(f"r{i}", "ab"[i % 2], "".join(rng.choice(list(PROTEIN), 40))) for i in range(60)]
    it = trained_on(tmp_path, records, unknown=None)
    told = fit_of(it).fit(it.model.classifier).about["unknown"]["no_relative"]
    assert (told["known_rejected"], told["off"]) == (0.0, False)


def test_nucleotides_of_both_strands(tmp_path):
    """Members are known on either strand, and what has no relative on none."""
    records, new = drawn(14, each=25, letters=DNA, length=150, changed=0.25)
    it = trained_on(tmp_path, records, molecule="nucleotide")
    members = write_fasta(tmp_path / "new.fasta", [*new[::2], *map(turned, new[1::2])])
    table = classify_file(it.model, members, Options(strand="both"))
    assert (table["strand"] == "-").sum() >= 45
    assert (table["reason"] != "no relative").mean() > 0.95
    rng = np.random.default_rng(0)
    letters = [list(s) for *_, s in records]
    others = [(f"s{i}", "", "".join(rng.permutation(s))) for i, s in enumerate(letters)]
    table = classify_file(
        it.model, write_fasta(tmp_path / "s.fasta", others), Options(strand="both")
    )
    assert (table["reject"] == "yes").mean() >= 0.98


def sequences_of(count, seed=0):
    return [s.encode() for *_, s in families(seed, "a", count)]


def test_strangers_are_made_of_records_by_what_these_are():
    sequences = sequences_of(250)
    digests = [digest(s) for s in sequences]
    sources, made = made_strange(sequences, digests, np.arange(250), 1)
    assert len(made) == 2 * STRANGERS
    for number in range(STRANGERS):
        assert made[number] == sequences[sources[number]][::-1]
    for number in range(STRANGERS, 2 * STRANGERS):
        assert sorted(made[number]) == sorted(sequences[sources[number]])
        assert made[number] != sequences[sources[number]]
    assert len(set(sources[:STRANGERS].tolist())) == STRANGERS
    order = np.random.default_rng(0).permutation(250)
    again = made_strange(
        [sequences[i] for i in order], [digests[i] for i in order], np.arange(250), 1
    )
    assert again[1] == made
    assert made_strange(sequences, digests, np.arange(250), 2)[1] != made


def test_too_few_records_reject_nobody(tmp_path):
    """A share of 1 % takes 99 records; the p-value is still told."""
    records, new = drawn(13, each=15)
    it = trained_on(tmp_path, records, unknown=0.01)
    told = it.model.classifier.about["unknown"]
    assert told["calibrating"] == 60
    assert told["would_be_found"] == 0
    table = table_of(it, tmp_path, new)
    assert not (table["reason"] == "unknown").any()
    assert (table["p_value"] >= 1 / 61).all()


def test_a_class_that_is_left_out_is_found_as_often_as_one_that_is_unknown(tmp_path):
    """Related families: the share that would be found is that which is found."""
    shares = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        ancestor = rng.choice(list(PROTEIN), 60)
        records = []
        for label in "abcdefgh":
            own = np.where(rng.random(60) < 0.3, rng.choice(list(PROTEIN), 60), ancestor)
            for i in range(80):
                changed = rng.random(60) < 0.5
                child = np.where(changed, rng.choice(list(PROTEIN), 60), own)
                records.append((f"{label}{i}", label, "".join(child)))
        known = [r for i, r in enumerate(records) if r[1] < "g" and i % 2]
        unknown = [r for r in records if r[1] >= "g"]
        (tmp_path / str(seed)).mkdir()
        it = trained_on(tmp_path / str(seed), known, unknown=0.05, recipe=LIFTED)
        table = table_of(it, tmp_path / str(seed), unknown)
        found = (table["p_value"] <= 0.05).mean()
        shares.append((it.model.classifier.about["unknown"]["would_be_found"], found))
    said, found = np.mean(shares, axis=0)
    assert 0.2 < found < 0.98, "too easy, or too hard, to tell"
    assert abs(said - found) < 0.12


def test_records_calibrate_in_front_of_all_others(tmp_path):
    records, _ = drawn(13, each=15)
    it = trained_on(tmp_path, records)
    relatives, t = it.model.classifier.relatives, it.training
    known = relatives.records
    n, rows = len(known), known.rows
    near = known.index.nearest(
        it.model.classifier.landmark_rows(
            Query(np.asarray(t.landmarks.scores[rows]), known.self_scores, known.lengths)
        ),
        None,
        n,
    )
    sequences = known.index.objects.sequences
    alone = [[i] for i in range(n)]
    by_seeds = [order for order, _ in plain_nearest(known.seeds, sequences, sequences, alone)]
    scores = t.cache(rows, np.tile(rows, (n, 1)))
    normalised = scores / np.sqrt(np.outer(known.self_scores, known.self_scores))
    gains = -relatives.evidence.log_evalues(scores, known.lengths[:, None], known.lengths)
    landmarks = set(known.landmarks[known.landmarks >= 0].tolist())
    wanted = []
    for i in range(n):
        orders = ([j for j in order if j != i] for order in (by_seeds[i], near[i].tolist()))
        around = landmarks | set(candidates(*orders)[:NEAREST])
        mine = list(around - {i})
        wanted.append([-np.sort(part[i, mine])[-5:].mean() for part in (normalised, gains)])
    found = relatives.strangeness.of_nearest[:, :2]
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(wanted, axis=0), rtol=1e-9)


@pytest.mark.parametrize(
    ("own", "before", "more", "taken"),
    [
        (0.05, 0.05, 1, True),
        (0.05, 0.05, 0, True),
        (0.05, 0.05, -1, False),
        (0.05, 0.2, -1, True),  # half is accepted without hits
        (0.2, 0.05, 1, False),
        (None, 0.2, 1, False),
        (None, None, 1, True),  # a coverage
    ],
)
def test_the_threshold_with_the_smaller_promised_error_stays_then_that_which_accepts_more(
    own, before, more, taken
):
    probabilities = np.linspace(0.5, 1.0, 50)[:, None]
    about = {"promise": {"error": before, "curve": []}}
    classifier = SimpleNamespace(cascade=None, reject_threshold=probabilities[30, 0], about=about)
    promise = Promise(probabilities[30 - more, 0] / 2, own)
    found, told = module._better(classifier, probabilities, promise, probabilities / 2)
    assert found == (promise.threshold if taken else None)
    assert told == (promise.told if taken else about["promise"])
