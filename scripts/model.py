"""Trains all recipes of one selector on the training part of a fold, and predicts the rest."""

import pandas as pd

from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.costs import rows_mb
from kreinflow.landmarks.selector import count_landmarks
from kreinflow.landmarks.stage import read_union
from kreinflow.models.factor_file import load_embedding, load_transforms
from kreinflow.models.fold_models import save_fold_models
from kreinflow.models.inner_folds import inner_partition
from kreinflow.models.reject_threshold import RejectRule
from kreinflow.models.run import open_run, predict_fold, read_landmark_table
from kreinflow.models.training import Training
from kreinflow.numerics import limited
from kreinflow.sequences.partition import fold_numbers

landmarks_read = count_landmarks(snakemake.input.landmarks)
memory_mb = rows_mb(snakemake.resources.mem_mb, landmarks_read)
with logged(snakemake.log[0]) as console, limited(snakemake.threads, memory_mb):
    files, params, fold = snakemake.input, snakemake.params, snakemake.wildcards.fold
    run = open_run(files)
    landmarks = run.landmarks(read_landmark_table(files.landmarks))
    part = run.training_part(fold)
    inner = inner_partition(
        run.alike(read_union(files.landmarks_of_all)), part, params.inner_folds, params.seed, fold
    )
    reject = RejectRule(params.reject_error, params.reject_coverage, params.reject_confidence)
    recipes = Training(landmarks, part, inner, reject, params.seed).train_recipes(
        params.recipes,
        params.learners,
        load_transforms(files.factors),
        lambda r: load_embedding(files.factors, r["transform"], r["rank"], r["correction"]),
    )
    repeat, number = fold_numbers(fold)
    classifiers, figures, predictions = {}, [], []
    for recipe, trained in recipes:
        name = recipe["name"]
        console.say(f"{name}: {trained.figures}")
        if warning := reject.unkept(trained.figures["reject_threshold"]):
            console.say(f"{name}: {warning}.")
        classifiers[name] = trained.classifier
        labels = {key: recipe[key] for key in ("selector", "transform", "correction", "learner")}
        place = {"recipe": name, "repeat": repeat, "fold": number}
        figures.append(place | labels | trained.figures)
        predictions.append(predict_fold(run, landmarks, fold, name, trained.classifier))
    save_fold_models(snakemake.output.models, classifiers)
    write_table(snakemake.output.table, pd.DataFrame(figures))
    write_table(snakemake.output.predictions, pd.concat(predictions, ignore_index=True))
