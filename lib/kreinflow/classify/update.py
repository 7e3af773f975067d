"""A model learns more records: the rows that it learned from, and new ones.

The landmarks stay, and a new class gets some of its own. The new fit is the training of the
workflow on all rows, so it is the one that training on all records with these landmarks gives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.backends import Backend, backend_named, checked
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import IntArray, tiles
from kreinflow.base.tiled_matrix import new_rows, release
from kreinflow.base.wording import abridged, plural
from kreinflow.classify.learned_file import Learned
from kreinflow.classify.model_file import Model, final_model
from kreinflow.classify.new_objects import unusable_rows
from kreinflow.classify.new_records import NewRecords, with_new
from kreinflow.fitting.factors import factor_table, make_factors
from kreinflow.fitting.pipeline import LiftSource, Settings, training
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.run import Run
from kreinflow.fitting.training import Trained
from kreinflow.krein.landmark_kernel import Landmarks, landmark_kernel
from kreinflow.landmarks.balls import EnclosingBalls
from kreinflow.landmarks.selector import CANDIDATES
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.learners.decisions import SiblingsDecision
from kreinflow.learners.registry import factored
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import own_groups
from kreinflow.sequences.partition import ALL, NEVER_TESTED, Partition
from kreinflow.sequences.payload import Compared
from kreinflow.sequences.scores import AlignedScores, Scores, scores_in_memory

MOST_LANDMARKS = 3  #: of a new class, which has as many as the others on the mean, or fewer

_OF_LEVELS = (
    *("inner_accuracy", "inner_log_loss", "inner_records", "alignments_per_query"),
    *("temperature", "reject_threshold", "promised_error", "cascade", "cascade_pairs"),
)
"""Figures of a training that rest on the levels of a cascade, which stay."""


@dataclass(frozen=True, eq=False)
class Updated:
    """A model that has learned more records, and what that changed.

    ``changes`` has a line for each record, the old ones first: ``id``, ``label``, ``added`` (yes or
    no), and what the first stage says of it when an inner fold holds it out, ``before`` and
    ``after`` the update. Both are empty for a record that is always learned from, and ``before``
    for new ones.
    """

    model: Model
    learned: Learned
    changes: pd.DataFrame
    new_classes: tuple[str, ...]
    landmarks: int  # added for the new classes
    alignments: int  # those of sequences with themselves included; 0 if nothing is aligned


def update(
    model: Model,
    learned: Learned,
    new: NewRecords,
    threads: int = 1,
    backend: Backend | None = None,
) -> Updated:
    """Train a model again, on the records that it was learned from and on new ones.

    New records are aligned with the landmarks. A class that is new gets landmarks by its enclosing
    ball, and these are aligned with all records. Hyper-parameters, calibration and threshold are
    found on inner folds, as in :meth:`~kreinflow.fitting.training.Training.train`.

    The result does not depend on the threads, nor on the backend ("auto" if it is left out): 1,000
    pairs of each call are held against parasail. An InputError as of :func:`with_new`, or if a
    record cannot be compared.
    """
    dataset, new_classes = with_new(learned, new)
    scores: Scores
    if isinstance(new.payload, Compared):
        asked = model.asked or new.payload.kernel
        scores = scores_in_memory(dataset, asked, learned.self_scores)
    else:
        aligner = checked(backend or backend_named("auto"))
        scheme, own = model.scheme, learned.self_scores
        assert scheme is not None, "sequences, and nothing that scores them"
        scores = AlignedScores(dataset.sequences, scheme, threads, aligner, own)
    columns, added = _columns(model, learned, dataset, scores, new_classes)
    rows = np.concatenate([learned.landmark_rows, added])
    names = [str(label) for label in model.landmark_labels]
    names += [dataset.row_labels[row] for row in added.tolist()]
    groups = own_groups(learned.settings["folds"], dataset)
    never = np.full((1, len(dataset.ids)), NEVER_TESTED)
    run = Run(dataset, Partition(groups, never), columns, rows, scores.self_scores())
    landmarks = run.landmarks(pd.DataFrame({"row": rows, "class": names}))
    trained, factor = _train(model, learned, run, landmarks)
    before, after = (np.array([*of.classes, ""], dtype=object) for of in (learned.dataset, dataset))
    said, n_new = before[learned.held_out], len(new.ids)
    return Updated(
        model=_model(model, learned, dataset, trained, factor, rows),
        learned=replace(
            learned,
            dataset=dataset,
            scores=columns,
            self_scores=run.self_scores,
            landmark_rows=rows,
            held_out=trained.held_out,
        ),
        changes=pd.DataFrame(
            {
                "id": dataset.ids,
                "label": after[dataset.labels],
                "added": ["no"] * len(said) + ["yes"] * n_new,
                "before": [*said, *[""] * n_new],
                "after": after[trained.held_out],
            }
        ),
        new_classes=new_classes,
        landmarks=len(added),
        alignments=scores.aligned if isinstance(scores, AlignedScores) else 0,
    )


def _columns(
    model: Model, learned: Learned, dataset: Dataset, scores: Scores, new_classes: Sequence[str]
) -> tuple[NDArray[Any], IntArray]:
    """Return the scores of all rows with all landmarks, and the landmarks of the new classes."""
    known, every = len(learned.dataset.payload), np.arange(len(dataset.payload))
    m, fresh = len(learned.landmark_rows), every[known:]

    def refuse_unusable(given: NDArray[Any]) -> None:
        lengths = dataset.lengths[known:].astype(np.float64)
        found = unusable_rows(model, given, scores.self_scores()[known:], lengths)
        for row, fault in sorted(found.items()):
            raise InputError(f"{dataset.first_id(known + row)}: {fault}")

    refuse_unusable(np.empty((len(fresh), 0)))
    sizes = pd.Series(dataset.row_labels).value_counts()
    share = max(1, min(MOST_LANDMARKS, round(m / len(model.classifier.classes))))
    counts = {label: min(share, int(sizes[label])) for label in new_classes}
    dtype = np.dtype(learned.scores.dtype)
    if model.scheme is not None:  # what holds all scores, as that of the columns of a run
        small = model.scheme.score_bound(dataset.sequences) <= np.iinfo(np.int16).max
        dtype = np.result_type(dtype, np.int16 if small else np.int32)
    columns = new_rows((len(every), m + sum(counts.values())), dtype)
    for part in tiles(known):
        columns[part, :m] = learned.scores[part]
    scores.into(columns[known:, :m], fresh, learned.landmark_rows)
    refuse_unusable(columns[known:, :m])
    transform = model.classifier.transform
    stage = LandmarkStage(dataset, scores, {transform.name: transform}, learned.settings["seed"])
    added = [np.empty(0, dtype=np.int64)]
    for label, count in counts.items():
        members = dataset.labels == dataset.classes.index(label)
        settings = {"transform": transform.name, "candidates": CANDIDATES["default"], "grow": True}
        settings |= {"epsilon": EnclosingBalls.settings_schema["epsilon"]["default"]}
        selector = EnclosingBalls({**settings, "budget": count})
        added.append(replace(stage, training=members).select(selector)["row"].to_numpy(np.int64))
    rows = np.sort(np.concatenate(added))
    scores.into(columns[:, m:], every, rows)
    release(columns)
    return columns, rows


def _train(
    model: Model, learned: Learned, run: Run, landmarks: Landmarks
) -> tuple[Trained, dict[str, Any]]:
    """Train the recipe of a model on all records; return what it gave and its factor's figures."""
    classifier, settings = model.classifier, learned.settings
    recipe, learner = classifier.about["recipe"], classifier.about["learner"]
    transform, part = classifier.transform, run.training_part(ALL)
    kernel = landmark_kernel(landmarks, part, transform)
    embedding, figures = None, {}
    if factored([recipe], {recipe["learner"]: learner}) and not recipe.get("lift"):
        (entry,) = make_factors(landmarks, part, {recipe["transform"]: transform}, [recipe])
        embedding = entry.corrected[recipe["correction"]]
        (row,) = factor_table([entry]).to_dict("records")
        figures = {str(key): value for key, value in row.items()}
    levels, reject = classifier.levels, RejectRule(**classifier.about["reject"])
    again = training(
        landmarks,
        part,
        Settings(ALL, settings["seed"], settings["inner_folds"], reject),
        LiftSource.of(run, model.scheme),
        levels=None if levels is None else levels.of_more_classes(part.classes),
        learn="siblings" if isinstance(classifier.decision, SiblingsDecision) else "leaves",
    )
    return again.train(recipe, learner, embedding, kernel, classifier), figures


def _model(
    model: Model,
    learned: Learned,
    dataset: Dataset,
    trained: Trained,
    factor: Mapping[str, Any],
    rows: IntArray,
) -> Model:
    before = dict(model.about.get("training") or {})
    more = len(rows) - len(learned.landmark_rows)
    figures = before | trained.figures
    if model.classifier.cascade is not None:
        figures |= {name: before[name] for name in _OF_LEVELS if name in before}
        figures["alignments_per_query"] += more
    source = {"kind": model.matrix_kind, "molecule": model.molecule}
    classifier, updates = trained.classifier, model.about.get("updates", [])
    if (unknown := model.classifier.about.get("unknown")) is not None:
        told = {"before_update": len(updates) + 1, **unknown}  # it may be from longer ago
        classifier = replace(classifier, about={**classifier.about, "unknown": told})
    made = final_model(dataset, classifier, model.scheme, source, figures, factor, rows.tolist())
    done = {
        "records": len(dataset.ids) - len(learned.dataset.ids),
        "landmarks": more,
        "classes": [label for label in dataset.classes if label not in learned.dataset.classes],
    }
    return replace(
        made,
        landmark_ids=(*model.landmark_ids, *made.landmark_ids[len(model.landmark_ids) :]),
        about={**made.about, "updates": [*updates, done]},
        probe_pairs=model.probe_pairs,  # the first landmarks are those of before
        probe_scores=model.probe_scores,
    )


def update_text(updated: Updated) -> str:
    """Return what a person wants to know of an update, as lines of text."""
    changes = updated.changes
    new = changes["added"] == "yes"
    lines = [f"{plural(int(new.sum()), 'record')} added"]
    if updated.new_classes:
        classes = plural(len(updated.new_classes), "new class", "new classes")
        lines[0] += f", of {classes} ({abridged(list(updated.new_classes))})"
        lines[0] += f" with {plural(updated.landmarks, 'landmark')}"
    if updated.alignments:
        lines[0] += f"; {updated.alignments:,} alignments"
    if (paths := updated.learned.dataset.paths) is not None:
        path = pd.Series(paths)
        up, now = path != changes["label"], path.isin(updated.new_classes)
        lines.append(
            f"{plural(int((up & new).sum()), 'record')} of them learned at a parent; "
            f"{plural(int((up & now & ~new).sum()), 'old record')} with the label of a new class "
            "learned at a parent before, and still: a new training has them in that class"
        )
    held = changes[~new & (changes["before"] != "") & (changes["after"] != "")]
    before, after = held["before"] == held["label"], held["after"] == held["label"]
    changed = held["before"] != held["after"]
    measured = changes[changes["after"] != ""]
    right = measured["after"] == measured["label"]
    lines += [
        f"of {plural(len(held), 'old record')} that inner folds hold out the first stage labels "
        f"{int(changed.sum())} otherwise: {int((~before & after).sum())} are right now, "
        f"{int((before & ~after).sum())} are wrong now; accuracy {before.mean():.4f} before, "
        f"{after.mean():.4f} after",
        f"with the new ones: {plural(len(measured), 'record')}, accuracy {right.mean():.4f}",
    ]
    return "".join(f"{line}\n" for line in lines)
