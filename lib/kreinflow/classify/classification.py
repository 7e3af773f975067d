"""Classifying new objects with a model file."""

import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.engine import in_threads
from kreinflow.alignment.traceback import aligned_identity
from kreinflow.answering.label_sets import accepted
from kreinflow.answering.query_and_answers import REASONS, STAGES, Answers
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray, ahead, ordered_map, single_threaded
from kreinflow.classify.evidence import SHOWN, Witnesses, nearest_landmarks
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import DEFAULTS, Batch, Options, score_new
from kreinflow.files.tables import table_text
from kreinflow.sequences.labels import SEPARATOR

RECORD_COLUMNS = ("nearest_record", "record_label", "record_evalue", "record_identity")

COLUMNS = (
    *("id", "label", "probability", "runner_up", "runner_up_probability"),
    *("reject", "reason", "promised_error", "p_value", "beyond", "margin"),
    *("nearest_landmark", "landmark_label", "landmark_score", "stage", "alignments"),
    *RECORD_COLUMNS,
    "problem",
)
"""Columns of the table; of a record with a ``problem`` all others but the id are empty. Before it
stand :data:`PROMISES` that were asked for, :data:`LABELS_COLUMNS` of objects that may have several
labels, :data:`LEVEL_COLUMNS` of a model with levels, and ``strand`` or ``frame`` if
others were tried."""

LEVEL_COLUMNS = ("node", "level", "node_probability")  #: the root is empty
PROMISES = ("set", "set_size", "error_p", "accepted")  #: of joined_labels and accepting
LABELS_COLUMNS = ("labels", "label_probabilities")  #: from thresholds on, likeliest first


_TRACED = 32  # alignments that a thread traces back at once
_COUNTED = ("accepted", "accepted", "yes"), ("beyond", "beyond", "yes"), ("turned", "strand", "-")
"""What is counted of a table: its name, the column, and the cell."""


def classify_file(model: Model, path: Path, options: Options = DEFAULTS) -> pd.DataFrame:
    """Return the pieces of :func:`classify_batches` as one table."""
    batches = classify_batches(model, path, options)
    if options.errors is not None:
        batches = accepting(batches, options.errors)
    return pd.concat(batches, ignore_index=True)


def classify_batches(
    model: Model, path: Path, options: Options = DEFAULTS
) -> Iterator[pd.DataFrame]:
    """Classify the sequences of a FASTA file, the rows of a matrix, vectors or strings, in order.

    The table, one row an object with the columns :data:`COLUMNS`, comes in pieces as the input is
    read. Of a model whose records are apart and were not given the first stage answers.

    ``path`` is a FASTA file or :data:`~kreinflow.files.text_files.STANDARD_INPUT`; for a model
    that was trained on a matrix, a matrix of the new objects (rows) and the landmarks: columns
    named by a header, in any order, those that are no landmark left out; without a header, in the
    order of ``model.landmark_ids``; for a model of vectors or strings, a file of them as for
    training.

    ``options.on_evidence`` gets the :data:`~kreinflow.classify.evidence.SHOWN` nearest members of
    the predicted class, or of all labels, and of the runner-up of each object, and the member of
    another class that its answer names. That costs
    :data:`~kreinflow.classify.evidence.CANDIDATES` alignments for each of these classes at most;
    the table stays as it is without.

    An InputError says that the file cannot be read or does not fit the model, or that the model
    cannot promise what is asked for.
    """
    _check_promises(model, options)
    witnesses = None if options.on_evidence is None else Witnesses(model)

    def answered(batch: Batch) -> tuple[Batch, Answers, pd.DataFrame]:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told by its name
            answers = model.classifier.answer(batch)
            return batch, answers, _table(model, batch, answers, options)

    with single_threaded(), np.errstate(over="ignore", invalid="ignore"):
        scored = score_new(model, path, options)
        told: Iterator[tuple[Batch, Answers, pd.DataFrame]] = map(answered, scored)
        if model.scheme is not None:  # a user's function has one thread
            scored = ahead(scored)
            first = map(answered, itertools.islice(scored, 1))  # makes what is kept for the others
            told = itertools.chain(first, ordered_map(answered, scored))
        for batch, answers, table in told:
            for place, fault in sorted(batch.faults.items()):
                message = f"{batch.place(place)}: {fault}"
                if options.on_fault is None:
                    raise InputError(message)
                options.on_fault(message)
            if witnesses is not None and options.on_evidence is not None:
                options.on_evidence(witnesses.evidence(batch, answers, SHOWN, options.threads))
            yield table


def _check_promises(model: Model, options: Options) -> None:
    for name, share in (("confidence", options.confidence), ("errors", options.errors)):
        if share is not None and not 0 < share < 1:
            raise InputError(f"{name}: {share:g} is not between 0 and 1. Give a share, as 0.95.")
    if options.confidence is None and options.errors is None:
        return
    calibration = model.classifier.calibration
    if calibration is None:
        raise InputError(
            "the model has no records to make sets or to control errors with, as those of several "
            "labels. Leave out confidence and errors."
        )
    if model.lacks_records:
        raise InputError(
            "sets and the control of errors rest on the answers of the cascade, and the model has "
            "no records to align with. Give its training records (--records)."
        )
    if options.confidence is not None:
        calibration.limits(options.confidence)
    if options.errors is not None:
        calibration.check_errors(options.errors)


def accepting(
    tables: Iterable[pd.DataFrame], errors: float, progress: Callable[[int], None] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield pieces of the table of :func:`classify_batches` again, with the column ``accepted``.

    It depends on all rows: they wait in a temporary file, and memory has a number for each. What is
    unknown or has no relative is never accepted. See
    :func:`~kreinflow.answering.label_sets.accepted` for the share of ``errors``; ``progress`` is
    called with the number of rows that are read.
    """
    p, strange, sizes = [np.empty(0)], [np.empty(0, dtype=bool)], [0]
    with tempfile.TemporaryFile() as waiting:
        for table in tables:
            columns = [[name, str(own.dtype), own.tolist()] for name, own in table.items()]
            waiting.write(json.dumps(columns).encode() + b"\n")
            strange.append(table["reason"].isin(REASONS[2:]).to_numpy())
            p.append(table["error_p"].to_numpy(np.float64))
            sizes.append(sizes[-1] + len(table))
            if progress is not None:
                progress(sizes[-1])
        every = np.concatenate(p)
        known = ~np.isnan(every)
        yes = np.where(known, "no", "").astype(object)
        yes[known] = np.where(accepted(every[known], errors), "yes", "no")
        yes[known & np.concatenate(strange)] = "no"
        waiting.seek(0)
        for start, end in itertools.pairwise(sizes):
            columns = json.loads(waiting.readline())
            table = pd.DataFrame({name: pd.Series(own, dtype=kind) for name, kind, own in columns})
            table.insert(list(table).index("error_p") + 1, "accepted", yes[start:end])
            yield table


def joined_labels(
    classes: Sequence[str], probabilities: FloatArray, sets: NDArray[np.bool_]
) -> NDArray[Any]:
    r"""Return the labels of each set as one text, joined by ``;``, the likeliest first.

    In a label with a semicolon or a backslash these have a backslash before them.

    Examples
    --------
    >>> p, sets = np.array([[0.2, 0.7, 0.1]]), np.array([[True, True, False]])
    >>> print(*joined_labels(("a;b", "c", "d"), p, sets))
    c;a\;b
    """
    names = [label.replace("\\", "\\\\").replace(";", "\\;") for label in classes]
    order = np.argsort(-probabilities, axis=1, kind="stable")
    texts = [
        ";".join(names[code] for code in codes[inside[codes]])
        for codes, inside in zip(order, sets, strict=True)
    ]
    return np.array(texts, dtype=object)


def write_tables(
    tables: Iterable[pd.DataFrame],
    write: Callable[[str], object],
    progress: Callable[[int], None] | None = None,
    text: Callable[[pd.DataFrame, bool], str] = table_text,
) -> Counter[str]:
    """Write the pieces of :func:`classify_batches` as one ``text``, of a TSV if it is left out.

    ``text`` is called with each piece, and whether it is the first.
    Counted are its ``records``, and those ``classified``, ``rejected``, ``accepted``, ``beyond``,
    ``turned`` and at ``fault``. After each piece ``progress`` is called with the number of rows
    that are written.
    """
    counts: Counter[str] = Counter()
    for number, table in enumerate(tables):
        write(text(table, number == 0))
        faulty = int((table["problem"] != "").sum())
        counts.update(records=len(table), classified=len(table) - faulty, fault=faulty)
        counts["rejected"] += int((table["reject"] == "yes").sum())
        for name, column, value in _COUNTED:
            if column in table:
                counts[name] += int((table[column] == value).sum())
        if progress is not None:
            progress(counts["records"])
    return counts


def promise_text(model: Model) -> str:
    """Return what to say of a model that promises more errors than were asked for, else nothing."""
    promised, rule = model.classifier.promised_error, model.classifier.about.get("reject") or {}
    if promised is None or promised <= rule["error"] or model.lacks_records:
        return ""
    return (
        f"of the accepted at most {100 * promised:.1f} % are wrong, with "
        f"{100 * rule['confidence']:g} % confidence: no threshold that accepts a tenth of the "
        f"training records keeps the {100 * rule['error']:g} % that were asked for"
    )


def first_faults(show: Callable[[str], None], most: int = 20) -> Callable[[str], None]:
    """Return what to call with the fault of each record: it shows the first few, the table has all.

    Examples
    --------
    >>> tell = first_faults(print, most=1)
    >>> for fault in ("a: is empty.", "b: is empty.", "c: is empty."):
    ...     tell(fault)
    kreinflow: not classified: a: is empty.
    kreinflow: more are not classified: see the column 'problem'.
    """
    told = itertools.count()

    def tell(message: str) -> None:
        number = next(told)
        if number < most:
            show(f"kreinflow: not classified: {message}")
        elif number == most:
            show("kreinflow: more are not classified: see the column 'problem'.")

    return tell


def nearest_records(
    model: Model, batch: Batch, answers: Answers, threads: int
) -> dict[str, NDArray[Any]]:
    r"""Return the four columns of the training record that an answer rests on.

    It is the one with the most evidence for the label among those that were aligned with the
    object. Its E-value is NaN if the evidence is none. Its identity is the
    :func:`~kreinflow.alignment.traceback.aligned_identity`.
    """
    nearest = answers.nearest
    rows = np.flatnonzero(nearest >= 0)
    ids, labels = np.full((2, len(nearest)), "", dtype=object)
    evalue, identity = np.full((2, len(nearest)), np.nan)
    classifier, sequences = model.classifier, batch.sequences
    asking, records = classifier.relatives or classifier.cascade, classifier.records
    residues, scheme = model.record_residues, model.scheme
    if records and not model.lacks_records:
        own = nearest[rows]
        ids[rows] = np.array(model.record_ids, dtype=object)[own]
        labels[rows] = np.array(classifier.classes, dtype=object)[records.classes[own]]
    if asking and records and residues is not None and scheme is not None and sequences:
        own = nearest[rows]
        lengths = batch.lengths[rows], records.lengths[own]
        evalue[rows] = asking.evidence.evalues(answers.nearest_score[rows], *lengths)

        def shares(some: list[int]) -> list[float]:
            return [aligned_identity(sequences[i], residues[nearest[i]], scheme) for i in some]

        parts = [rows[i : i + _TRACED].tolist() for i in range(0, len(rows), _TRACED)]
        identity[rows] = [own for part in in_threads(shares, parts, threads) for own in part]
    return dict(zip(RECORD_COLUMNS, (ids, labels, evalue, identity), strict=True))


def first_alignments(model: Model, batch: Batch) -> int:
    """Return the alignments of an object before any record is asked: landmarks and self-score."""
    with_itself = model.scheme is not None and model.classifier.transform.name != "raw"
    return batch.tried * (len(model.landmark_ids) + int(with_itself))


def likeliest_two(probabilities: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the codes of the likeliest class of each object, and of the next; the first of equals.

    ``probabilities`` is written to, and as it was when this returns.
    """
    rows, first = np.arange(len(probabilities)), probabilities.argmax(axis=1)
    top = probabilities[rows, first]
    probabilities[rows, first] = -np.inf
    second = probabilities.argmax(axis=1)
    probabilities[rows, first] = top
    return first, second


def _promised(model: Model, answers: Answers) -> FloatArray:
    """Return the promised share of errors of each accepted answer, NaN of others."""
    error = None if model.lacks_records else model.classifier.promised_error
    return np.where(answers.rejected | (error is None), np.nan, error or 0.0)


def _beyond(model: Model, answers: Answers) -> NDArray[Any]:
    """Return whether objects are farther than the promises were measured; empty if unknown."""
    calibration = model.classifier.calibration
    beyond = None if calibration is None else calibration.beyond(answers.closeness)
    told = np.full(len(answers.closeness), "", dtype=object)
    return told if beyond is None else np.where(beyond, "yes", "no").astype(object)


def _told(model: Model, answers: Answers, options: Options) -> dict[str, NDArray[Any]]:
    """Return the columns of sets and p-values that are asked for, of several labels, of levels."""
    classifier, p = model.classifier, answers.probabilities
    calibration, several, classes = classifier.calibration, classifier.several, classifier.classes
    found: dict[str, NDArray[Any]] = {}
    if calibration is not None and options.confidence is not None:
        sets = calibration.sets(p, options.confidence, answers.closeness)
        found["set"] = joined_labels(classes, p, sets)
        found["set_size"] = sets.sum(axis=1).astype(object)
    if calibration is not None and options.errors is not None:
        found["error_p"] = calibration.p_values(p.max(axis=1))
    if several is not None:
        cells = np.full((len(LABELS_COLUMNS), len(p)), "", dtype=object)
        for row in np.flatnonzero(~answers.rejected).tolist():  # what is rejected has no label
            ranked = several.ranked(p[row])
            cells[0, row] = SEPARATOR.join(classes[c] for c in ranked)
            cells[1, row] = SEPARATOR.join(str(float(p[row, c])) for c in ranked)
        found |= dict(zip(LABELS_COLUMNS, cells, strict=True))
    if (levels := classifier.levels) is not None:
        nodes = levels.nodes(p, answers.deepest)
        paths = np.array(levels.tree.nodes, dtype=object)[nodes.node]
        columns = paths, nodes.level.astype(object), nodes.probability
        found |= dict(zip(LEVEL_COLUMNS, columns, strict=True))
    return found


def _table(model: Model, batch: Batch, answers: Answers, options: Options) -> pd.DataFrame:
    """Return the rows of a batch, adding to its faults the decisions that are not finite."""
    n, scored, probabilities = len(batch.ids), batch.scored, answers.probabilities
    finite = np.isfinite(probabilities).all(axis=1)
    for place in scored[~finite].tolist():
        batch.faults[place] = (
            "the model's decision for it is not finite. Its scores are too large, or the model is "
            "damaged."
        )
    classes = np.array(model.classifier.classes, dtype=object)
    landmarks, landmark_scores = nearest_landmarks(model, batch)
    rows, (first, second) = np.arange(len(scored)), likeliest_two(probabilities)
    top, runner_up = probabilities[rows, first], probabilities[rows, second]
    found: dict[str, NDArray[Any]] = {
        "label": classes[first],
        "probability": top,
        "runner_up": classes[second],
        "runner_up_probability": runner_up,
        "reject": np.where(answers.rejected, "yes", "no"),
        "reason": answers.reason.astype(object),
        "promised_error": _promised(model, answers),
        "p_value": answers.p_value,
        "beyond": _beyond(model, answers),
        "margin": top - runner_up,
        "nearest_landmark": np.array(model.landmark_ids, dtype=object)[landmarks],
        "landmark_label": model.landmark_labels[landmarks],
        "landmark_score": landmark_scores,
        "stage": np.array(STAGES, dtype=object)[answers.stage],
        "alignments": (first_alignments(model, batch) + answers.alignments).astype(object),
        **nearest_records(model, batch, answers, options.threads),
        **_told(model, answers, options),
        **batch.turned,
    }
    columns: dict[str, object] = {"id": batch.ids}
    for name, values in found.items():
        number = values.dtype.kind == "f"
        column = np.full(n, np.nan if number else "", dtype=np.float64 if number else object)
        column[scored[finite]] = values[finite]
        columns[name] = column
    columns["problem"] = [batch.faults.get(place, "") for place in range(n)]
    return pd.DataFrame(columns)
