# Takes one recipe, that of the inner folds or the one asked for, as the final model: it was trained
# in the fold 'all', whose training part is everything.


rule choose_final_model:
    input:
        unpack(column_files),
        tables=of_fold("models", "tsv"),
        models=of_fold("models", "safetensors"),
        landmarks=of_fold("landmarks", "tsv"),
        factors=of_fold("factors", "tsv"),
        race=lambda wildcards: plan(wildcards).race(ALL),
    output:
        model=f"{HERE}/model.safetensors",
        learned=f"{HERE}/model.learned.safetensors",
    log:
        f"{HERE}/logs/final_model.log",
    benchmark:
        f"{HERE}/times/final_model.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        **asks("choose_final_model", lambda w, _: costs(w).finishing()),
    params:
        **given("final prefer source scoring data folds transforms backend inner_folds seed"),
        recipes=lambda wildcards: plan(wildcards).recipes(),
        code=code("final_model.py"),
    script:
        "../scripts/final_model.py"
