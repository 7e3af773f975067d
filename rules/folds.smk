# Puts each record into a fold; identical sequences share one.
# needs: dataset, the user's table of folds, or of labels with a column of groups, if there is one
# makes: folds.tsv (id, group, repeat, fold), folds.json (how groups were made, and how many)


rule assign_folds:
    input:
        unpack(dataset_files),
        table=lambda wildcards: fold_table(wildcards.dataset),
    output:
        table=f"{RESULTS}/{{dataset}}/folds.tsv",
        summary=f"{RESULTS}/{{dataset}}/folds.json",
    log:
        f"{RESULTS}/{{dataset}}/logs/folds.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/folds.tsv"
    conda:
        "../envs/alignment.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 40),
        runtime=scale(10, 1),
    params:
        settings=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["folds"],
        source=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["source"],
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("folds.py"),
    script:
        "../scripts/folds.py"
