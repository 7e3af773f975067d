# Puts each record into a fold; identical sequences share one.
# needs: dataset, the user's table of folds, or of labels with a column of groups, if there is one
# makes: folds.tsv (id, group, repeat, fold), folds.json (how groups were made, and how many)


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
        **given("source data seed"),
        settings=setting("folds"),
        code=code("folds.py"),
    script:
        "../scripts/folds.py"
