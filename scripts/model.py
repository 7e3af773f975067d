"""Trains all recipes of one selector on the training part of a fold, and predicts the rest.

Before that it makes the Krein factors that they learn from, and their corrections.
"""

from functools import partial
from pathlib import Path

import pandas as pd

from kreinflow.answering.label_sets import SET_COLUMNS
from kreinflow.answering.levels import Levels
from kreinflow.answering.reject_threshold import RejectRule
from kreinflow.base.numerics import limited
from kreinflow.evaluation.metrics import (
    COST_COLUMNS,
    PREDICTION_COLUMNS,
    PROBABILITY_PREFIX,
    REASON_COLUMNS,
)
from kreinflow.files.console import logged
from kreinflow.files.tables import write_table
from kreinflow.fitting.best_hits import HIT_COLUMNS
from kreinflow.fitting.cascade_curve import CURVE_COLUMNS
from kreinflow.fitting.factor_file import (
    factor_table,
    load_embedding,
    save_factors,
    spectrum_table,
)
from kreinflow.fitting.factors import make_factors
from kreinflow.fitting.fold_models import save_fold_models
from kreinflow.fitting.inner_folds import InnerFits, inner_partition
from kreinflow.fitting.recipe_choice import FIGURES_COLUMNS
from kreinflow.fitting.recipe_race import going_on
from kreinflow.fitting.run import climb_fold, open_run, predict_fold, read_landmark_table
from kreinflow.fitting.training import Training
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.learners.registry import factored
from kreinflow.sequences.partition import fold_numbers
from kreinflow.sequences.scores import evidence_of, open_scores, read_scheme, transforms_of

memory_mb = snakemake.resources.learning_memory_mb
with logged(snakemake.log[0]) as console, limited(snakemake.threads, memory_mb):
    files, params, fold = snakemake.input, snakemake.params, snakemake.wildcards.fold
    run, fitted = open_run(files), going_on(params.recipes, files.race)
    if not fitted:
        console.say("no recipe went on after the race")
    scheme = read_scheme(run.dataset, params.scoring, params.data)
    landmarks = run.landmarks(read_landmark_table(files.landmarks, run.dataset))
    part = run.training_part(fold)
    transforms = transforms_of([r["transform"] for r in fitted], params.transforms, scheme)
    entries = make_factors(landmarks, part, transforms, factored(fitted, params.learners))
    factors = snakemake.output.factors
    save_factors(factors, entries)
    table = factor_table(entries)
    write_table(snakemake.output.factor_table, table)
    write_table(snakemake.output.spectrum, spectrum_table(entries))
    if entries:
        console.say("\n" + table.to_string())
    selector = make_selector(params.selector)
    stage = LandmarkStage.of_fold(
        run.dataset,
        open_scores(run.dataset, scheme, Path(files.records).parent.parent / "scores"),
        transforms_of([selector.settings.get("transform", "raw")], params.transforms, scheme),
        params.seed,
        run.partition,
        fold,
    )
    fits = InnerFits(
        inner_partition(part, params.inner_folds, params.seed, fold),
        run.choose_again(stage, selector, len(landmarks.rows)),
    )
    reject = RejectRule(params.reject_error, params.reject_coverage, params.reject_confidence)
    letters = "" if scheme is None else scheme.matrix.alphabet
    asked, strangers, evidence = None, None, evidence_of(params.transforms, scheme)
    if params.unknown is not None and evidence is not None and fitted:
        strangers = run.strangers(part, scheme, params.seed)
    if strangers is not None or any(recipe["cascade"] for recipe in fitted):
        asked = run.asking(scheme, params.backend, snakemake.threads, strangers)
    training = Training(
        landmarks,
        part,
        fits,
        reject,
        params.seed,
        partial(run.lifting, part, letters, params.seed),
        asked,
        evidence,
        levels=Levels.of_settings(part.classes, params.levels),
        learn=params.levels["learn"] if params.levels else "leaves",
        false_alarms=None if params.unknown is None else params.unknown["false_alarms"],
        strangers=strangers,
    )
    recipes = training.train_recipes(
        fitted,
        params.learners,
        transforms,
        lambda r: load_embedding(factors, r["transform"], r["rank"], r["correction"]),
    )
    repeat, number = fold_numbers(fold)
    classifiers, held_out, figures = {}, {}, []
    probabilities = (f"{PROBABILITY_PREFIX}{label}" for label in run.dataset.classes)
    head = [*PREDICTION_COLUMNS, *REASON_COLUMNS, *COST_COLUMNS, *HIT_COLUMNS]
    columns = [*head, *probabilities, *SET_COLUMNS]
    nothing = pd.DataFrame(columns=columns)
    predictions, curves = [], [pd.DataFrame(columns=list(CURVE_COLUMNS))]
    truth = run.testing_part(fold).labels
    for recipe, trained in recipes:
        name = recipe["name"]
        console.say(f"{name}: {trained.figures}")
        if warning := reject.unkept(trained.figures["reject_threshold"]):
            console.say(f"{name}: {warning}.")
        levels = trained.classifier.levels
        if levels is not None and (warning := levels.unkept()):
            console.say(f"{name}: {warning}.")
        classifiers[name], held_out[name] = trained.classifier, trained.held_out
        labels = {key: recipe[key] for key in ("selector", "transform", "correction", "learner")}
        place = {"recipe": name, "repeat": repeat, "fold": number}
        figures.append(place | labels | trained.figures)
        hits = None
        if trained.classifier.cascade is not None and len(truth):
            climbed = climb_fold(run, landmarks, fold, trained.classifier, asked)
            curves.append(climbed.curve(truth).assign(**place))
            hits = climbed.hits
        predicted = predict_fold(run, landmarks, fold, name, trained.classifier, asked, hits)
        predictions.append(predicted)
    if asked is not None:
        console.say(f"{asked.aligned:,} pairs of records were aligned because they were asked for")
    save_fold_models(snakemake.output.models, classifiers, held_out)
    write_table(snakemake.output.table, pd.DataFrame(figures, columns=list(FIGURES_COLUMNS)))
    made = pd.concat(predictions or [nothing], ignore_index=True)
    write_table(snakemake.output.predictions, made)
    curve = pd.concat(curves[1:] or curves, ignore_index=True)
    write_table(snakemake.output.curves, curve[list(CURVE_COLUMNS)])
