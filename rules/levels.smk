# Measures the predictions of the outer folds at each level of classes that are paths.

WITH_LEVELS = [dataset for dataset in DATASETS if PLANS[dataset].levels]


rule measure_levels:
    input:
        predictions=f"{HERE}/evaluation/predictions.tsv.gz",
    output:
        levels=f"{HERE}/evaluation/levels.tsv",
        hierarchy=f"{HERE}/evaluation/hierarchy.tsv",
        nodes=f"{HERE}/evaluation/nodes.tsv",
        checksums=f"{HERE}/evaluation/levels.json",
    log:
        f"{HERE}/logs/levels.log",
    benchmark:
        f"{HERE}/times/levels.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **asks("measure_levels", mb=30, seconds=0.7),
    params:
        **given("levels"),
        code=code("levels.py"),
    script:
        "../scripts/levels.py"
