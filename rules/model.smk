# Trains all recipes of a selector on the training part of a fold, and predicts the rest.
# needs: data set, columns, factors, folds, landmarks, race
# makes: models/SELECTOR/FOLD.safetensors, FOLD.tsv; predictions/SELECTOR/FOLD.tsv.gz;
#        cascade/SELECTOR/FOLD.tsv (recipe, repeat, fold, threshold, alignments, records, right, chosen)


rule train_models:
    input:
        unpack(column_files),
        landmarks=f"{HERE}/landmarks/{{selector}}/{{fold}}.tsv",
        factors=lambda wildcards: [
            path
            for path in plan(wildcards).of_fold("factors", wildcards.fold, "safetensors")
            if Path(path).parent.name == wildcards.selector
        ],
        race=lambda wildcards: plan(wildcards).race(wildcards.fold),
    output:
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
        learning_memory_mb=rows_memory,
        mem_mb=megabytes(training_mb),
        runtime=minutes("train_models", training_seconds),
    params:
        recipes=lambda wildcards: plan(wildcards).recipes(wildcards.selector),
        learners=lambda wildcards: {
            recipe["learner"]: CONFIG["learners"][recipe["learner"]]
            for recipe in plan(wildcards).recipes(wildcards.selector)
        },
        selector=lambda wildcards: CONFIG["selectors"][wildcards.selector],
        transforms=CONFIG["transforms"],
        scoring=setting("scoring"),
        levels=setting("levels"),
        data=str(DATA),
        backend=CONFIG["alignment"]["backend"],
        inner_folds=CONFIG["inner_folds"],
        reject_error=CONFIG["reject_error"],
        reject_coverage=CONFIG["reject_coverage"],
        reject_confidence=CONFIG["reject_confidence"],
        unknown=CONFIG["unknown"],
        seed=CONFIG["seed"],
        code=code("model.py"),
    script:
        "../scripts/model.py"
