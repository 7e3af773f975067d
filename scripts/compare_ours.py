"""Measures the run's own classifier of one fold, the choice of its inner folds."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.classify.model_file import final_model
from kreinflow.compare.competitor import ComparedFold
from kreinflow.compare.ours import Ours, TrainedFold, run_ours
from kreinflow.files.console import logged
from kreinflow.files.json_files import read_json
from kreinflow.files.tables import read_table, write_table
from kreinflow.fitting.fold_models import load_fold_model
from kreinflow.fitting.recipe_choice import choose_recipe, read_figures
from kreinflow.fitting.run import read_landmark_table
from kreinflow.sequences.dataset import read_dataset
from kreinflow.sequences.partition import fold_numbers, read_partition
from kreinflow.sequences.scores import read_scheme

with logged(snakemake.log[0]) as console, limited(snakemake.threads):
    files, params, fold = snakemake.input, snakemake.params, snakemake.wildcards.fold
    dataset = read_dataset(Path(files.records).parent)
    repeat, number = fold_numbers(fold)
    models = read_figures([files.models], params.order)
    rows = models[(models["repeat"] == repeat) & (models["fold"] == number)].to_dict("records")
    recipe = choose_recipe(rows, params.order, prefer=params.prefer)
    (chosen,) = (row for row in rows if row["recipe"] == recipe)
    selector = chosen["selector"]
    (landmarks,) = (p for p in files.landmarks if Path(p).parent.name == selector)
    (fitted,) = (p for p in files.fold_models if Path(p).parent.name == selector)
    classifier = load_fold_model(fitted, recipe)
    if cascade := classifier.about["recipe"]["cascade"]:
        cascade["records"] = "model"  # queries are to ask them, wherever users keep theirs
    model = final_model(
        dataset,
        classifier,
        read_scheme(dataset, params.scoring, params.data),
        params.source,
        {},
        {},
        read_landmark_table(landmarks, dataset)["row"].tolist(),
    )
    table = read_table(files.predictions, ["recipe", "id", "predicted"], ["id", "predicted"])
    own = table[
        (table["recipe"] == recipe) & (table["repeat"] == repeat) & (table["fold"] == number)
    ]
    logs = Path(files.folds).parent / "logs"
    jobs = {fold: params.landmark_job, f"{selector}.{fold}": params.model_jobs[selector]}
    times = {of: logs / f"{job}.json" for of, job in jobs.items()}
    for path in times.values():
        if not path.exists():
            why = "is not there, and had the seconds of training"
            raise InputError(f"{path}: {why}. Train again: --forcerun select_landmarks.")
    seconds = sum(read_json(path)["seconds"][of] for of, path in times.items())
    vectors = None
    if dataset.vectors is not None:
        vectors = dict(zip(dataset.sequences, dataset.vectors, strict=True))
    trained = TrainedFold(
        dict(zip(own["id"], own["predicted"], strict=True)),
        params.selectors[selector],
        int(chosen["cascade_pairs"]),
        seconds,
    )
    compared = ComparedFold(dataset, read_partition(files.folds, dataset), fold)
    with TemporaryDirectory() as folder:
        figures, predictions = run_ours(
            Ours(model, vectors), compared, trained, Path(folder), snakemake.threads
        )
    console.say(f"{figures}")
    write_table(snakemake.output.figures, pd.DataFrame([figures]))
    write_table(snakemake.output.predictions, predictions)
