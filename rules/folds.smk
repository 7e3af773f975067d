# Puts each record into a fold; identical sequences share one.
# needs: dataset, the user's table of folds, or of labels with a column of groups, if there is one
# makes: folds.tsv (id, group, repeat, fold), folds.json (how groups were made, and how many)


def fold_table(wildcards):
    """The user's table of folds, or of labels with a column of groups, if there is one."""
    settings = plan(wildcards).settings
    folds = settings["folds"]
    table = folds["table"] if folds["method"] == "table" else None
    if folds["method"] == "grouped" and folds["column"] is not None:
        table = settings["source"].get("labels", {}).get("table")
    return [str(DATA / table)] if table else []


rule assign_folds:
    input:
        unpack(dataset_files),
        table=fold_table,
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
        mem_mb=scale(BASE_MB, 40),
        runtime=scale(10, 1),
    params:
        settings=setting("folds"),
        source=setting("source"),
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("folds.py"),
    script:
        "../scripts/folds.py"
