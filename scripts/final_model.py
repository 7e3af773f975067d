"""Makes the model file of the chosen recipe, trained on everything."""

from pathlib import Path

from kreinflow.base.numerics import limited
from kreinflow.classify.inspection import description_text
from kreinflow.classify.learned_file import Learned, no_update, write_refusal
from kreinflow.classify.model_file import final_model
from kreinflow.files.console import logged
from kreinflow.fitting.factors import factor_row
from kreinflow.fitting.fit_unknown import NoRelativeFit
from kreinflow.fitting.fold_models import load_fold_model, load_held_out
from kreinflow.fitting.recipe_choice import choose_recipe, going_on, other_choice, read_figures
from kreinflow.fitting.run import open_run, read_landmark_table
from kreinflow.learners.registry import factored
from kreinflow.sequences.partition import ALL
from kreinflow.sequences.scores import evidence_of, read_scheme

with logged(snakemake.log[0]) as console, limited(snakemake.threads):
    params, files = snakemake.params, snakemake.input
    run = open_run(files)
    dataset = run.dataset
    order = [recipe["name"] for recipe in going_on(params.recipes, files.race)]
    figures = read_figures(files.tables, order).to_dict("records")
    recipe = choose_recipe(figures, order, params.final, params.prefer)
    preferred, reason = {}, "as the config asks"
    if params.final is None:
        other, alternative = other_choice(figures, order, params.prefer)
        preferred = {"prefer": params.prefer, f"if_{other}": alternative}
        reason = f"prefer: {params.prefer}"
        if alternative != recipe:
            reason += f"; it would be {alternative} with prefer: {other}"
    (chosen,) = (row for row in figures if row["recipe"] == recipe)
    models, landmarks, factors = (
        {Path(path).parent.name: path for path in paths}
        for paths in (files.models, files.landmarks, files.factors)
    )
    selector = chosen["selector"]
    classifier = load_fold_model(models[selector], recipe)
    about, learner = classifier.about["recipe"], classifier.about["learner"]
    table = read_landmark_table(landmarks[selector], dataset)
    needs_factor = factored([about], {about["learner"]: learner})
    scheme = read_scheme(dataset, params.scoring, params.data)
    evidence = evidence_of(params.transforms, scheme)
    if evidence is not None and "unknown" not in classifier.about:
        part = run.training_part(ALL)
        strangers = run.strangers(part, scheme, params.seed)
        cache = run.pair_scores(scheme, params.backend, snakemake.threads, strangers)
        of_run = run.landmarks(table), part, run.objects
        rule = NoRelativeFit(*of_run, evidence, strangers, cache, scheme.matrix.alphabet)
        classifier = rule.fit(classifier)
        console.say(f"{cache.aligned:,} pairs were aligned to tell what has no relative")
    if "unknown" in classifier.about:
        console.say(description_text({"unknown": classifier.about["unknown"]}).rstrip())
    model = final_model(
        dataset,
        classifier,
        scheme,
        params.source,
        chosen | preferred,
        factor_row(factors[selector], about) if needs_factor else {},
        table["row"].tolist(),
    )
    model = model.with_probe(run.landmarks(table))
    model.save(snakemake.output.model)
    learned = snakemake.output.learned
    if (cannot := no_update(dataset, params.folds)) is not None:
        write_refusal(learned, snakemake.output.model, cannot)
    else:
        of_recipe, labels = run.landmarks(table), params.source.get("labels", {})
        columns = [labels.get(f"{name}_column") or name for name in ("id", "label")]
        Learned(
            dataset,
            of_recipe.scores,
            of_recipe.self_scores,
            table["row"].to_numpy(),
            load_held_out(models[selector], recipe),
            {
                "seed": params.seed,
                "inner_folds": params.inner_folds,
                "min_class_size": params.source.get("min_class_size", 2),
                "folds": params.folds,
                "columns": columns if labels.get("table") else ["id", "label"],
            },
        ).save(learned, snakemake.output.model)
    console.say(f"{recipe}: {len(model.landmark_ids)} landmarks ({reason})")
