"""Makes the model file of the chosen recipe, trained on everything."""

from pathlib import Path

from kreinflow.classify.model_file import final_model
from kreinflow.console import logged
from kreinflow.models.choice import choose_recipe, read_figures
from kreinflow.models.factor_file import factor_row
from kreinflow.models.fold_models import load_fold_model
from kreinflow.models.run import read_landmark_table
from kreinflow.scores import read_scheme
from kreinflow.sequences.dataset import read_dataset

with logged(snakemake.log[0]) as console:
    params = snakemake.params
    dataset = read_dataset(Path(snakemake.input.records).parent)
    figures = read_figures(snakemake.input.tables, params.order).to_dict("records")
    recipe = choose_recipe(figures, params.order, params.recipe)
    (chosen,) = (row for row in figures if row["recipe"] == recipe)
    paths = {
        Path(files[0]).parent.name: files
        for files in zip(
            snakemake.input.models,
            snakemake.input.landmarks,
            snakemake.input.factors,
            strict=True,
        )
    }
    path, landmarks, factors = paths[chosen["selector"]]
    classifier = load_fold_model(path, recipe)
    model = final_model(
        dataset,
        classifier,
        read_scheme(dataset, params.scoring, params.data),
        params.source,
        chosen,
        factor_row(factors, classifier.about["recipe"]),
        read_landmark_table(landmarks, dataset)["row"].tolist(),
    )
    model.save(snakemake.output.model)
    console.say(f"{recipe}: {len(model.landmark_ids)} landmarks")
