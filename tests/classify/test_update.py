"""Updates: the new fit is that of training on all records, and few pairs are aligned for it."""

import numpy as np
import pytest

from kreinflow.classify.new_records import read_new
from kreinflow.classify.update import update
from small_inputs import (
    configuration,
    families,
    fasta_source,
    learned_of,
    trained_recipe,
    write_fasta,
    write_labels,
)

CLASSES = ("b", "d", "a", "c")  # the last one comes with the update, and is in the middle
LEARNERS = {
    "ikfd": {"method": "ny_ikfd", "scatter": "pooled", "bias": "least_squares", "ridge": "inner"},
    "sf_lsm": {"method": "sf_lsm", "ridge": "inner"},
    "pcvm": {"method": "ny_pcvm", "max_iter": 50},
    "krein_lsm": {"method": "krein_lsm", "lambda_plus": "inner", "lambda_minus": "inner"},
    "nearest": {"method": "nearest_landmark"},
}
LIFTED = {"views": {"words": [1, 2]}, "lift": {"kernel": "gaussian", "inducing": 20}}


def records(each=16, length=60):
    return families(3, CLASSES, each=each, length=length, changed=0.5)


def old_and_new(each=16, old=11):
    """Of each class but the last some records are old; the last class is new."""
    everyone = records(each)
    number = [int(id[1:]) for id, _, _ in everyone]
    is_old = [n < old and label != "c" for n, (_, label, _) in zip(number, everyone, strict=True)]
    return (
        [r for r, known in zip(everyone, is_old, strict=True) if known],
        [r for r, known in zip(everyone, is_old, strict=True) if not known],
    )


def config_of(learner, recipe=None, **more):
    made = configuration(fasta_source(), learner=learner, recipe=recipe, **more)
    made["learners"] = LEARNERS
    return made


def trained_on(folder, records, config):
    write_fasta(folder / "x.fasta", records)
    return trained_recipe(config, folder)


def updated_of(folder, it, new, learned=None, model=None, **more):
    fasta = write_fasta(folder / "new.fasta", new)
    labels = write_labels(folder / "new.tsv", new)
    model, learned = model or it.model, learned or learned_of(it)
    return update(model, learned, read_new(model, learned, fasta, labels), **more)


def probabilities(model, learned):
    """Of all training records, by their ids."""
    rows = learned.dataset.rows
    scores = np.asarray(learned.scores)[rows]
    lengths = learned.dataset.lengths[rows].astype(float)
    from kreinflow.models.run import objects_of

    objects = objects_of(learned.dataset).take(rows)
    found = model.classifier.predict_proba(scores, learned.self_scores[rows], lengths, objects)
    return dict(zip(learned.dataset.ids, found, strict=True))


def with_given(folder, records, config, ids):
    """The recipe trained on all records with these landmarks."""
    (folder / "given.tsv").write_text("id\n" + "".join(f"{id}\n" for id in ids))
    selectors = {"meb": {"method": "given", "table": "given.tsv"}}
    return trained_on(folder, records, config | {"selectors": selectors, "data": str(folder)})


@pytest.mark.parametrize(
    ("learner", "recipe"),
    [*((name, None) for name in LEARNERS), ("sf_lsm", LIFTED), ("ikfd", {"correction": "flip"})],
)
def test_an_update_is_the_training_on_all_records_with_these_landmarks(tmp_path, learner, recipe):
    old, new = old_and_new()
    config = config_of(learner, recipe)
    it = trained_on(tmp_path, old, config)
    done = updated_of(tmp_path, it, new)
    assert done.new_classes == ("c",)
    assert done.model.classifier.classes == ("a", "b", "c", "d")
    assert done.model.landmark_ids[: len(it.rows)] == it.model.landmark_ids
    assert 1 <= done.landmarks <= 3
    whole = with_given(tmp_path, [*old, *new], config, done.model.landmark_ids)
    assert whole.model.landmark_ids == done.model.landmark_ids
    assert whole.model.classifier.classes == done.model.classifier.classes
    ours, theirs = (
        probabilities(done.model, done.learned),
        probabilities(whole.model, learned_of(whole)),
    )
    for id, expected in theirs.items():
        np.testing.assert_allclose(ours[id], expected, atol=1e-8, rtol=0)
    np.testing.assert_array_equal(done.learned.held_out, whole.trained.held_out)
    assert done.model.classifier.reject_threshold == pytest.approx(
        whole.model.classifier.reject_threshold, abs=1e-8
    )
    said, wanted = done.model.about["training"], whole.model.about["training"]
    assert said["inner_accuracy"] == wanted["inner_accuracy"]
    assert said["hyper_parameters"] == wanted["hyper_parameters"]
