"""Makes the table of the landmark map: objects in two dimensions of the final model's factor."""

from pathlib import Path

import numpy as np

from kreinflow.artifacts import write_json, write_table
from kreinflow.classify.model_file import Model
from kreinflow.console import logged
from kreinflow.krein.landmark_kernel import landmark_kernel
from kreinflow.models.factor_file import load_leading, load_transforms
from kreinflow.models.landmark_map import map_points, similar_classes
from kreinflow.models.run import open_run, read_landmark_table
from kreinflow.numerics import limited
from kreinflow.sequences.partition import ALL

memory_mb = snakemake.resources.learning_memory_mb
with logged(snakemake.log[0]) as console, limited(snakemake.threads, memory_mb):
    files = snakemake.input
    recipe = Model.load(files.model).classifier.about["recipe"]
    selector, transform = recipe["selector"], recipe["transform"]
    paths = zip(files.landmarks, files.factors, strict=True)
    table, factors = {Path(pair[0]).parent.name: pair for pair in paths}[selector]
    run = open_run(files)
    part = run.training_part(ALL)
    landmarks = run.landmarks(read_landmark_table(table, run.dataset))
    kernel = landmark_kernel(landmarks, part, load_transforms(factors)[transform])
    embedding, total = load_leading(factors, transform, recipe["rank"], 2)
    trained = np.flatnonzero(run.partition.training(ALL))
    ids = [run.dataset.ids[i] for i in trained]
    points = map_points(kernel, part, ids, landmarks.rows, embedding, snakemake.params.seed)
    write_table(snakemake.output.points, points)
    summary = {
        "recipe": recipe["name"],
        "selector": selector,
        "transform": transform,
        "eigenvalues": embedding.values.tolist(),
        "all_eigenvalues": total,
        "distinct": len(np.unique(part.rows)),
        "landmarks": len(landmarks.rows),
        "shown_objects": int((~points["landmark"]).sum()),
        "shown_landmarks": int(points["landmark"].sum()),
        "similar_classes": similar_classes(kernel.C, part.labels, part.classes),
    }
    write_json(snakemake.output.summary, summary)
    console.say(f"{len(points)} of {summary['distinct']} objects")
