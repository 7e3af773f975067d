"""Trains all recipes of some selectors on the training part of some folds, and predicts the rest.

Before that it makes the Krein factors that they learn from, and their corrections.
"""

from itertools import product
from pathlib import Path
from time import perf_counter

import pandas as pd

from kreinflow.answering.label_sets import SET_COLUMNS
from kreinflow.base.numerics import limited
from kreinflow.evaluation.metrics import (
    COST_COLUMNS,
    PREDICTION_COLUMNS,
    REASON_COLUMNS,
)
from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.fitting.best_hits import HIT_COLUMNS
from kreinflow.fitting.cascade_choice import CURVE_COLUMNS
from kreinflow.fitting.factors import (
    factor_table,
    make_factors,
    spectrum_table,
)
from kreinflow.fitting.fold_models import save_fold_models
from kreinflow.fitting.pipeline import fold_training
from kreinflow.fitting.predictions import FoldRecords
from kreinflow.fitting.recipe_choice import (
    BITS,
    FIGURES_COLUMNS,
    going_on,
    unbeatable,
)
from kreinflow.fitting.run import open_run, read_landmark_table
from kreinflow.learners.registry import factored
from kreinflow.sequences.partition import fold_numbers
from kreinflow.sequences.scores import read_scheme, transforms_of

memory_mb = snakemake.resources.learning_memory_mb
with logged(snakemake.log[0]) as console, limited(snakemake.threads, memory_mb):
    files, out, params = snakemake.input, snakemake.output, snakemake.params
    folder = Path(files.records).parent.parent
    run, going = open_run(files), going_on(params.recipes, files.race)
    scheme = read_scheme(run.dataset, params.scoring, params.data)
    found = []
    for of, (fold, selector) in enumerate(product(params.folds, params.selectors)):
        start = perf_counter()
        fitted = [recipe for recipe in going if recipe["selector"] == selector]
        table = read_landmark_table(files.landmarks[of], run.dataset)
        if not fitted:
            console.say(f"{selector}: no recipe is fitted; {', '.join(files.race)} says why")
        elif params.stops and (winner := unbeatable(found, len(table))):
            fitted = []
            console.say(
                f"{selector}: no recipe is fitted, for none could be chosen before {winner}"
            )
        # Of a selector without a recipe the columns may be missing.
        landmarks = run.landmarks(table if fitted else table[:0])
        transforms = transforms_of([r["transform"] for r in fitted], params.transforms, scheme)
        needing = factored(fitted, params.learners)
        entries = make_factors(landmarks, run.training_part(fold), transforms, needing)
        table = factor_table(entries)
        write_table(out.factor_table[of], table)
        write_table(out.spectrum[of], spectrum_table(entries))
        if entries:
            console.say("\n" + table.to_string())
        settings = params.selectors[selector]
        training = fold_training(run, fold, landmarks, settings, fitted, params, folder)
        recipes = training.train_recipes(fitted, params.learners, transforms, entries)
        repeat, number = fold_numbers(fold)
        truth, models, figures = run.testing_part(fold).labels, {}, []
        probabilities = (f"p_{label}" for label in run.dataset.classes)
        head = [*PREDICTION_COLUMNS, *REASON_COLUMNS, *COST_COLUMNS, *HIT_COLUMNS]
        nothing = pd.DataFrame(columns=[*head, *probabilities, *SET_COLUMNS])
        predictions, curves = [], [pd.DataFrame(columns=list(CURVE_COLUMNS))]
        for recipe, trained in recipes:
            name, classifier = recipe["name"], trained.classifier
            shown = {key: value for key, value in trained.figures.items() if key not in BITS}
            console.say(f"{name}: {shown}")
            kept = trained.figures["reject_threshold"], trained.figures["promised_error"]
            if warning := training.reject.unkept(*kept):
                console.say(f"{name}: {warning}.")
            if classifier.levels is not None and (warning := classifier.levels.unkept()):
                console.say(f"{name}: {warning}.")
            models[name] = trained
            labels = {
                key: recipe[key] for key in ("selector", "transform", "correction", "learner")
            }
            place = {"recipe": name, "repeat": repeat, "fold": number}
            figures.append(place | labels | trained.figures)
            tested = FoldRecords(run, landmarks, fold, classifier, training.cache, scheme)
            if classifier.cascade is not None and len(truth):
                curves.append(tested.curve().table(truth).assign(**place))
            predictions.append(tested.predictions(name))
        if (cache := training.cache) is not None:
            console.say(cache.said())
        found = found or figures
        save_fold_models(out.models[of], models)
        write_table(out.table[of], pd.DataFrame(figures, columns=list(FIGURES_COLUMNS)))
        write_table(out.predictions[of], pd.concat(predictions or [nothing], ignore_index=True))
        curve = pd.concat(curves[1:] or curves, ignore_index=True)
        write_table(out.curves[of], curve[list(CURVE_COLUMNS)])
        console.seconds[f"{selector}.{fold}"] = perf_counter() - start
