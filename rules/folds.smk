# Puts each record into a fold; identical sequences share one.
# needs: dataset, the user's table if there is one
# makes: folds.tsv (id, group, repeat, fold)


rule assign_folds:
    input:
        unpack(dataset_files),
        table=lambda wildcards: fold_table(wildcards.dataset),
    output:
        f"{RESULTS}/{{dataset}}/folds.tsv",
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
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("folds.py"),
    script:
        "../scripts/folds.py"
