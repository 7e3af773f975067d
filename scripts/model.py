"""Trains all recipes of one selector on the training part of a fold, and predicts the rest."""

import pandas as pd

from kreinflow.artifacts import write_table
from kreinflow.console import logged
from kreinflow.models.factor_file import load_embedding, load_transforms
from kreinflow.models.factors import landmark_kernel
from kreinflow.models.model_file import save_fold_models
from kreinflow.models.run import open_run, predict_fold, read_landmark_table
from kreinflow.models.training import InnerFactors, inner_partition, train
from kreinflow.numerics import limited
from kreinflow.sequences.partition import fold_numbers
from kreinflow.workspace import read_union

memory_mb = max(snakemake.resources.mem_mb - snakemake.params.base_mb, 64)
with logged(snakemake.log[0]) as console, limited(snakemake.threads, memory_mb):
    files, params, fold = snakemake.input, snakemake.params, snakemake.wildcards.fold
    run = open_run(files)
    landmarks = run.landmarks(read_landmark_table(files.landmarks))
    part = run.training_part(fold)
    inner = inner_partition(
        run.alike(read_union(files.landmarks_of_all)), part, params.inner_folds, params.seed, fold
    )
    transforms = load_transforms(files.factors)
    repeat, number = fold_numbers(fold)
    classifiers, figures, predictions = {}, [], []
    shared = InnerFactors()
    for name in transforms:
        kernel = landmark_kernel(landmarks, part, transforms[name])
        for recipe in (r for r in params.recipes if r["transform"] == name):
            trained = train(
                recipe,
                params.learners[recipe["learner"]],
                load_embedding(files.factors, name, recipe["rank"], recipe["correction"]),
                kernel,
                landmarks,
                part,
                inner,
                params.reject_error,
                params.seed,
                params.reject_coverage,
                shared,
            )
            console.say(f"{recipe['name']}: {trained.figures}")
            classifiers[recipe["name"]] = trained.classifier
            labels = {
                key: recipe[key] for key in ("selector", "transform", "correction", "learner")
            }
            place = {"recipe": recipe["name"], "repeat": repeat, "fold": number}
            figures.append(place | labels | trained.figures)
            predictions.append(
                predict_fold(run, landmarks, fold, recipe["name"], trained.classifier)
            )
    save_fold_models(snakemake.output.models, classifiers)
    write_table(snakemake.output.table, pd.DataFrame(figures))
    write_table(snakemake.output.predictions, pd.concat(predictions, ignore_index=True))
