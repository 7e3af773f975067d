"""Makes the table of the landmark map: objects in two dimensions of the final model's factor."""

from pathlib import Path

import numpy as np

from kreinflow.base.numerics import limited
from kreinflow.base.random_streams import hash_keys
from kreinflow.classify.model_file import Model
from kreinflow.evaluation.map_points import leading, map_points, similar_classes, some_landmarks
from kreinflow.files.console import logged
from kreinflow.files.tables import write_listed
from kreinflow.fitting.factors import factor_figures
from kreinflow.fitting.run import open_run, read_landmark_table
from kreinflow.krein.landmark_kernel import factor_of, landmark_kernel
from kreinflow.sequences.partition import ALL

memory_mb = snakemake.resources.learning_memory_mb
with logged(snakemake.log[0]) as console, limited(snakemake.threads, memory_mb):
    files = snakemake.input
    classifier = Model.load(files.model).classifier
    recipe, seed = classifier.about["recipe"], snakemake.params.seed
    (table,) = (path for path in files.landmarks if Path(path).parent.name == recipe["selector"])
    run = open_run(files)
    part = run.training_part(ALL)
    chosen = run.landmarks(read_landmark_table(table, run.dataset))
    digests = [run.dataset.digests[row] for row in chosen.rows]
    landmarks = some_landmarks(chosen, hash_keys(seed, "map", digests))
    kernel = landmark_kernel(landmarks, part, classifier.transform)
    factor, pairs = factor_of(kernel, recipe["rank"])
    embedding, total = leading(factor, pairs, 2)
    trained = np.flatnonzero(run.partition.training(ALL))
    ids = [run.dataset.ids[i] for i in trained]
    labels = part.labels if part.memberships is None else part.memberships
    points = map_points(kernel, part, ids, chosen.rows, embedding, seed)
    summary = {
        "recipe": recipe["name"],
        "selector": recipe["selector"],
        "transform": recipe["transform"],
        "rank_wanted": str(recipe["rank"]),
        "eigenvalues": embedding.values.tolist(),
        "all_eigenvalues": total,
        "distinct": len(np.unique(part.rows)),
        "landmarks": len(chosen.rows),
        "shown_objects": int((~points["landmark"]).sum()),
        "shown_landmarks": int(points["landmark"].sum()),
        "factor": factor_figures(factor, pairs),
        "spectrum": pairs.values.tolist(),
        "similar_classes": similar_classes(kernel.C, labels, part.classes),
    }
    write_listed(snakemake.output.summary, {snakemake.output.points: points}, summary)
    console.say(f"{len(points)} of {summary['distinct']} objects")
