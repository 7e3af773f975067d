"""Predicts the records held out as unknown by the models of the outer folds, and measures."""

from pathlib import Path

import numpy as np
import pandas as pd

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.evaluation.inner_choice import with_inner_choice
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS
from kreinflow.evaluation.unknown import (
    known_confidences,
    rejected_families,
    rejection,
    rejection_curve,
    rejection_summary,
)
from kreinflow.files.arrays import open_array
from kreinflow.files.console import logged
from kreinflow.files.tables import read_table, write_listed
from kreinflow.fitting.asked_pairs import asked_pairs
from kreinflow.fitting.fold_models import load_fold_model
from kreinflow.fitting.predictions import UnknownRecords
from kreinflow.fitting.recipe_choice import read_figures
from kreinflow.fitting.run import objects_of, pair_scores, read_landmark_table
from kreinflow.landmarks.stage import read_union
from kreinflow.sequences.dataset import is_unknown, read_dataset
from kreinflow.sequences.partition import fold_numbers
from kreinflow.sequences.scores import read_scheme

memory_mb = snakemake.resources.learning_memory_mb
with logged(snakemake.log[0]) as console, limited(snakemake.threads, memory_mb):
    files, output, order = snakemake.input, snakemake.output, snakemake.params.recipes
    whole = read_dataset(Path(files.unknown_records).parent)
    held = np.unique(whole.rows[is_unknown(whole, snakemake.params.unknown)])
    objects = objects_of(whole).take(held)
    dataset = read_dataset(Path(files.summary).parent)
    text = ["id", "label"]
    records = read_table(files.records, text, text, ["row", "length"], ["self_score"])
    scores, union = open_array(files.scores, 2), read_union([files.union], dataset)
    if not records["row"].between(0, len(scores) - 1).all():
        raise InputError(f"{files.records}: not the rows of {files.scores}. Delete it, run again.")
    names, prefer = [recipe["name"] for recipe in order], snakemake.params.prefer
    models = read_figures([files.models], names)
    scheme = read_scheme(dataset, snakemake.params.scoring, snakemake.params.data)
    cache = None
    tested = snakemake.params.tested is not None
    params, asks = snakemake.params, tested or any(recipe["cascade"] for recipe in order)
    if scheme is not None and asks:
        sequences = [*(whole.sequences[row] for row in held), *dataset.sequences]
        asked = cache = pair_scores(sequences, scheme, params.backend, snakemake.threads)
    elif params.asked is not None and asks:
        folder = Path(files.summary).parents[1] / "scores"
        asked = asked_pairs(whole, params.asked, params.data, folder)
        cache = asked.among([*(whole.digests[row] for row in held), *dataset.digests])
    unknown_records = UnknownRecords(records, scores, union, objects, cache)
    predictions, told = [], []
    for path, landmarks in zip(files.fold_models, files.landmarks, strict=True):
        fold, selector = Path(path).stem, Path(path).parent.name
        rows = read_landmark_table(landmarks, dataset)["row"].to_numpy()
        repeat, number = fold_numbers(fold)
        fitted = models[(models["repeat"] == repeat) & (models["fold"] == number)]
        for recipe in fitted.loc[fitted["selector"] == selector, "recipe"]:
            classifier = load_fold_model(path, recipe)
            predictions.append(unknown_records.predict(rows, fold, recipe, classifier))
            expected = classifier.about.get("unknown", {}).get("would_be_found", np.nan)
            told.append((recipe, repeat, number, expected))
    if cache is not None:
        console.say(asked.said())
    columns = ["recipe", "repeat", "fold", "would_be_found"]
    unknown, expected = (
        with_inner_choice(table, models, names, prefer)
        for table in (pd.concat(predictions), pd.DataFrame(told, columns=columns))
    )
    text = [*PREDICTION_COLUMNS, "reason"]
    known = read_table(files.predictions, [*text, "unknown_p"], set(text) - {"repeat", "fold"})
    known = known_confidences(known)
    folds = rejection(known, unknown, expected)
    tables = {
        output.predictions: unknown,
        output.folds: folds,
        output.summary: rejection_summary(folds),
        output.families: rejected_families(unknown),
        output.curve: rejection_curve(known, unknown),
    }
    write_listed(output.checksums, tables)
    console.say("\n" + rejection_summary(folds).to_string())
