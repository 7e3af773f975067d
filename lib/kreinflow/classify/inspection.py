"""What a model file says of itself, and its landmarks as a file."""

import io
import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.answering.query_and_answers import NOTHING_ACCEPTED
from kreinflow.base.errors import InputError
from kreinflow.base.wording import plural
from kreinflow.classify.model_file import Model
from kreinflow.files.tables import table_text
from kreinflow.files.text_files import name_endings
from kreinflow.fitting.recipe_choice import PREFERENCES
from kreinflow.views.lift import Lift


def kind_of_objects(model: Model) -> str:
    """Return what a model compares: sequences, vectors, strings or rows of a matrix."""
    if model.scheme is not None:
        return "sequences"
    if isinstance(model.landmarks, np.ndarray):
        return "vectors" if model.landmarks.ndim == 2 else "strings"
    return "matrix"


def describe_model(model: Model) -> dict[str, Any]:
    """Return what a model is and how it was made, as an object that JSON can hold."""
    classifier, about, scheme = model.classifier, model.about, model.scheme
    training = dict(about.get("training") or {})
    worth, choice = training.pop("views", ""), None
    if "prefer" in training:  # what the recipe was chosen for, and what others would have chosen
        choice = {"prefer": training.pop("prefer")}
        for preference in PREFERENCES:
            other = training.pop(f"if_{preference}", None)
            if other not in (None, training.get("recipe")):
                choice[f"with_prefer_{preference}"] = other
    owned = Counter(model.landmark_labels.tolist())
    reject = dict(classifier.about.get("reject") or {})
    promise = classifier.about.get("promise") or {}
    if (promised := classifier.promised_error) is not None:
        reject["promised"] = promised
    elif (classifier.cascade or classifier).reject_threshold >= NOTHING_ACCEPTED:
        reject["promised"] = "nothing, so all predictions are rejected"
    of_first = "" if classifier.cascade is None else "first_stage_"
    scoring = recipe = several = None
    if scheme is not None:
        scoring = {"matrix": scheme.matrix.name, "gap_open": scheme.gap_open}
        scoring |= {"gap_extend": scheme.gap_extend, "mode": scheme.mode}
    if (given := classifier.about.get("recipe")) is not None:
        views = {name: view for name, view in (given.get("views") or {}).items() if view}
        recipe = {key: value for key, value in given.items() if key != "views"}
        recipe |= {"views": views} if views else {}
    if (own := classifier.several) is not None:
        columns = own.slopes.tolist(), own.intercepts.tolist(), own.thresholds.tolist()
        several = {
            label: dict(zip(("slope", "intercept", "threshold"), numbers, strict=True))
            for label, numbers in zip(classifier.classes, zip(*columns, strict=True), strict=True)
        }
    of_parts: dict[str, Any] = {}
    for part in classifier.parts.values():
        of_parts |= part.inspected(classifier.about)
    of_parts.setdefault("unknown", classifier.about.get("unknown"))
    return {
        "objects": kind_of_objects(model),
        "molecule": model.molecule,
        "records": about.get("records"),
        "landmarks": classifier.n_landmarks,
        "classes": {label: owned[label] for label in classifier.classes},
        "scoring": scoring,
        "kernel": dict(model.kernel) if model.kernel else None,
        "matrix_kind": model.matrix_kind,
        "transform": classifier.transform.to_dict(),
        "lift": None if classifier.lift is None else _describe_lift(classifier.lift, worth),
        **of_parts,
        "several": several,
        "recipe": recipe,
        "choice": choice,
        "learner": classifier.about.get("learner"),
        "decision": classifier.decision.kind,
        "factor": about.get("factor") or None,
        "training": training or None,
        f"{of_first}temperature": classifier.temperature,
        f"{of_first}reject_threshold": classifier.reject_threshold,
        "reject": reject or None,
        "promises": {_share(point): _bounded(point) for point in promise.get("curve", [])} or None,
        "updates": about.get("updates"),
        "versions": about.get("versions"),
    }


def _share(point: Mapping[str, float]) -> str:
    return f"accept the surest {100 * point['share']:g} %"


def _bounded(point: Mapping[str, float]) -> str:
    """Return what is known of the errors if a share is accepted."""
    wrong, most, threshold = 100 * point["wrong"], 100 * point["at_most"], point["threshold"]
    return f"{wrong:.1f} % wrong on inner folds, at most {most:.1f} %, from {threshold:.4g}"


def _describe_lift(lift: Lift, worth: str) -> dict[str, Any]:
    """Return what a lift is; ``worth`` is what the training said of each view."""
    found: dict[str, Any] = {"kernel": lift.form, "inducing_points": len(lift)}
    found |= {"rates": dict(lift.rates), "accuracy_lost_without": worth or None}
    if "words" in lift.rates and lift.words is not None:
        found["word_lengths"] = list(lift.words.lengths)
    if "vectors" in lift.rates and lift.objects.vectors is not None:
        found["vector_numbers"] = int(lift.objects.vectors.shape[1])
    return found


_SPACED = ("lift", "choice", "cascade", "unknown")  # keys whose entries are shown as words


def description_text(description: Mapping[str, Any]) -> str:
    """Return :func:`describe_model` as plain text; what a model lacks is left out."""
    lines = []
    for key, value in description.items():
        name = key.replace("_", " ")
        if value is None:
            continue
        if key == "classes":
            lines.append(f"classes: {len(value)}, with their landmarks")
            width = max(map(len, value))
            lines += [f"  {label:<{width}}  {count}" for label, count in value.items()]
        elif isinstance(value, Mapping):
            lines.append(f"{name}:")
            for inner, entry in value.items():
                if entry is not None:
                    told = inner.replace("_", " ") if key in _SPACED else inner
                    lines.append(f"  {told}: {_shown(entry)}")
        else:
            lines.append(f"{name}: {_shown(value)}")
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if isinstance(value, str) and value.startswith("{"):  # figures of a training, or any text
        with suppress(ValueError):
            return _shown(json.loads(value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        shown = [
            f"{key} ({_shown(own)})" if isinstance(own, list | Mapping) else f"{key} {_shown(own)}"
            for key, own in value.items()
            if own is not None
        ]
        return ", ".join(shown) or "none"
    if isinstance(value, list):
        separator = "; " if any(isinstance(entry, Mapping) for entry in value) else ", "
        return separator.join(map(_shown, value)) or "none"
    return str(value)


def exported_landmarks(model: Model, name: str) -> str | bytes:
    """Return the landmarks as a file has them: FASTA, vectors, or strings one a line.

    The ending of the file's ``name`` says how vectors are written: ``.npy``, or ``.csv`` or
    ``.tsv`` with the ids in the first column. Without an ending, as for a pipe, it is TSV.
    """
    ending = name_endings(Path(name))[1]
    kind, landmarks = kind_of_objects(model), model.landmarks
    if landmarks is None:
        raise InputError(
            "export: a model of a matrix has the ids of its landmarks only; "
            "`kreinflow classify MODEL --landmarks` lists them."
        )
    if isinstance(landmarks, tuple):
        records = zip(model.landmark_ids, model.landmark_labels, landmarks, strict=True)
        return "".join(f">{id} class={c}\n{s.decode()}\n" for id, c, s in records)
    if kind == "strings":
        return "".join(f"{string}\n" for string in landmarks)
    if ending == ".npy":
        file = io.BytesIO()
        np.save(file, landmarks, allow_pickle=False)
        return file.getvalue()
    if ending in (".csv", ".tsv", ""):
        table = pd.DataFrame(landmarks, columns=[f"x{i + 1}" for i in range(landmarks.shape[1])])
        table.insert(0, "id", list(model.landmark_ids))
        return table_text(table, separator="," if ending == ".csv" else "\t")
    raise InputError(
        f"{name}: the landmarks are vectors ({plural(landmarks.shape[1], 'feature')}). Name a "
        ".npy, .csv or .tsv file."
    )
