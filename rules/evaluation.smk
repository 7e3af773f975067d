# Measures the predictions of the outer folds, which nothing else has looked at.

MEASURED = [
    *("metrics", "summary", "comparison", "per_class", "confusion", "reject_curve"),
    *("calibration", "coverage", "errors", "accepted", "rejected", "best_hit", "identity"),
    "ranking",
]


rule evaluate:
    input:
        summary=f"{HERE}/dataset/summary.json",
        folds=f"{HERE}/folds.tsv",
        predictions=lambda wildcards: plan(wildcards).of_folds("predictions", "tsv.gz"),
        models=lambda wildcards: plan(wildcards).of_folds("models", "tsv"),
    output:
        **{name: f"{HERE}/evaluation/{name}.tsv" for name in MEASURED},
        predictions=f"{HERE}/evaluation/predictions.tsv.gz",
        models=f"{HERE}/evaluation/models.tsv",
        checksums=f"{HERE}/evaluation/checksums.json",
    log:
        f"{HERE}/logs/evaluation.log",
    benchmark:
        f"{HERE}/times/evaluation.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **asks("evaluate", mb=30, seconds=0.7),
    params:
        **given("recipes prefer"),
        code=code("evaluation.py"),
    script:
        "../scripts/evaluation.py"
