# Trains all recipes of a selector on the training part of a fold, and predicts the rest. First it makes
# the Krein factor of each transform and rank that the recipes learn from, its eigenpairs, and the
# corrections: in the same process, which takes less time to make them than to start.


rule train_models:
    input:
        unpack(column_files),
        landmarks=f"{HERE}/landmarks/{{selector}}/{{fold}}.tsv",
        race=lambda wildcards: plan(wildcards).race(wildcards.fold),
    output:
        factors=f"{HERE}/factors/{{selector}}/{{fold}}.safetensors",
        factor_table=f"{HERE}/factors/{{selector}}/{{fold}}.tsv",
        spectrum=f"{HERE}/factors/{{selector}}/{{fold}}.spectrum.tsv",
        models=f"{HERE}/models/{{selector}}/{{fold}}.safetensors",
        table=f"{HERE}/models/{{selector}}/{{fold}}.tsv",
        predictions=f"{HERE}/predictions/{{selector}}/{{fold}}.tsv.gz",
        curves=f"{HERE}/cascade/{{selector}}/{{fold}}.tsv",
    log:
        f"{HERE}/logs/model.{{selector}}.{{fold}}.log",
    benchmark:
        f"{HERE}/times/model.{{selector}}.{{fold}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["learning"]["threads"]
    resources:
        **asks("train_models", lambda w, _: costs(w).training(w.selector)),
    params:
        **given("transforms scoring levels data backend inner_folds seed"),
        reject={key: value for key, value in CONFIG.items() if key.startswith("reject_")},
        recipes=lambda wildcards: plan(wildcards).recipes(wildcards.selector),
        learners=lambda wildcards: {
            recipe["learner"]: CONFIG["learners"][recipe["learner"]]
            for recipe in plan(wildcards).recipes(wildcards.selector)
        },
        selector=lambda wildcards: CONFIG["selectors"][wildcards.selector],
        unknown=CONFIG["unknown"],
        asked=lambda wildcards: plan(wildcards).source.asked_of_records,
        code=code("model.py"),
    script:
        "../scripts/model.py"
