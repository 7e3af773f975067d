# Puts each record into a fold; identical sequences share one.


rule assign_folds:
    input:
        unpack(dataset_files),
        table=lambda wildcards: plan(wildcards).fold_tables,
    output:
        table=f"{HERE}/folds.tsv",
        summary=f"{HERE}/folds.json",
    log:
        f"{HERE}/logs/folds.log",
    benchmark:
        f"{HERE}/times/folds.tsv"
    conda:
        "../envs/alignment.yaml"
    resources:
        **asks("assign_folds", folds_cost),
    params:
        **given("folds source data seed"),
        code=code("folds.py"),
    script:
        "../scripts/folds.py"
