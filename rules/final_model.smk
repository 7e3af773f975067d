# Takes one recipe, that of the inner folds or the one asked for, as the final model: it was trained
# in the fold 'all', whose training part is everything.
# needs: models, landmarks and factors of 'all', race
# makes: model.safetensors


rule choose_final_model:
    input:
        unpack(dataset_files),
        tables=of_all("models", "tsv"),
        models=of_all("models", "safetensors"),
        landmarks=of_all("landmarks", "tsv"),
        factors=of_all("factors", "tsv"),
        race=lambda wildcards: plan(wildcards).race(ALL),
    output:
        model=f"{HERE}/model.safetensors",
    log:
        f"{HERE}/logs/final_model.log",
    benchmark:
        f"{HERE}/times/final_model.tsv"
    conda:
        "../envs/learning.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 10),
        runtime=minutes("choose_final_model", dataset_seconds),
    params:
        final=setting("final"),
        recipes=lambda wildcards: plan(wildcards).recipes(),
        prefer=CONFIG["prefer"],
        source=setting("source"),
        scoring=setting("scoring"),
        data=str(DATA),
        code=code("final_model.py"),
    script:
        "../scripts/final_model.py"
