# Trains all recipes of a selector on the training part of a fold, and predicts the rest; then the
# final model from the fold 'all', whose training part is everything.
# needs: columns, factors, folds
# makes: models/SELECTOR/FOLD.safetensors, FOLD.tsv; predictions/SELECTOR/FOLD.tsv.gz;
#        model.safetensors


rule train_models:
    input:
        unpack(dataset_files),
        folds=f"{RESULTS}/{{dataset}}/folds.tsv",
        columns=f"{RESULTS}/{{dataset}}/columns/scores.npy",
        union=f"{RESULTS}/{{dataset}}/columns/landmarks.tsv",
        self_scores=f"{RESULTS}/{{dataset}}/columns/self_scores.npy",
        landmarks=f"{RESULTS}/{{dataset}}/landmarks/{{selector}}/{{fold}}.tsv",
        factors=f"{RESULTS}/{{dataset}}/factors/{{selector}}/{{fold}}.safetensors",
        landmarks_of_all=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/landmarks/{{selector}}/{wildcards.fold}.tsv",
            selector=trained_selectors_of(wildcards.dataset),
        ),
    output:
        models=f"{RESULTS}/{{dataset}}/models/{{selector}}/{{fold}}.safetensors",
        table=f"{RESULTS}/{{dataset}}/models/{{selector}}/{{fold}}.tsv",
        predictions=f"{RESULTS}/{{dataset}}/predictions/{{selector}}/{{fold}}.tsv.gz",
    log:
        f"{RESULTS}/{{dataset}}/logs/model.{{selector}}.{{fold}}.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/model.{{selector}}.{{fold}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["learning"]["threads"]
    resources:
        mem_mb=learning_memory(tiled=learns_by_tiles),
        runtime=scale(10, 1),
    params:
        recipes=lambda wildcards: recipes_of(wildcards.dataset, wildcards.selector),
        learners=lambda wildcards: {
            recipe["learner"]: CONFIG["learners"][recipe["learner"]]
            for recipe in recipes_of(wildcards.dataset, wildcards.selector)
        },
        inner_folds=CONFIG["inner_folds"],
        reject_error=CONFIG["reject_error"],
        reject_coverage=CONFIG["reject_coverage"],
        seed=CONFIG["seed"],
        base_mb=BASE_MB,
        code=code("model.py"),
    script:
        "../scripts/model.py"


rule choose_final_model:
    input:
        unpack(dataset_files),
        tables=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/models/{{selector}}/all.tsv",
            selector=trained_selectors_of(wildcards.dataset),
        ),
        models=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/models/{{selector}}/all.safetensors",
            selector=trained_selectors_of(wildcards.dataset),
        ),
        landmarks=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/landmarks/{{selector}}/all.tsv",
            selector=trained_selectors_of(wildcards.dataset),
        ),
        factors=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/factors/{{selector}}/all.tsv",
            selector=trained_selectors_of(wildcards.dataset),
        ),
    output:
        model=f"{RESULTS}/{{dataset}}/model.safetensors",
    log:
        f"{RESULTS}/{{dataset}}/logs/final_model.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/final_model.tsv"
    conda:
        "../envs/learning.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 10),
        runtime=scale(5, 0.1),
    params:
        recipe=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["final"],
        order=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["recipes"],
        source=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["source"],
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        data=str(DATA),
        code=code("final_model.py"),
    script:
        "../scripts/final_model.py"
