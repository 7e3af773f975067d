# Puts each record into a fold; identical sequences share one.
# needs: dataset, the user's table of folds, or of labels with a column of groups, if there is one
# makes: folds.tsv (id, group, repeat, fold), folds.json (how groups were made, and how many)


def grouped(wildcards):
    """Whether near-identical sequences are looked for."""
    folds = plan(wildcards).settings["folds"]
    return folds["method"] == "grouped" and folds["column"] is None


def folds_seconds(wildcards, input):
    estimate = costs.grouping_seconds if grouped(wildcards) else costs.dataset_seconds
    return estimate(statistics_of(input))


def folds_mb(wildcards, input):
    words = costs.grouping_mb(statistics_of(input)) if grouped(wildcards) else 0
    return dataset_mb(wildcards, input) + words


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
    threads: 1
    resources:
        mem_mb=megabytes(folds_mb),
        runtime=minutes("assign_folds", folds_seconds),
    params:
        settings=setting("folds"),
        source=setting("source"),
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("folds.py"),
    script:
        "../scripts/folds.py"
