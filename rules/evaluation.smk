# Measures the predictions of the outer folds, which nothing else has looked at.
# needs: the summary of the data set, folds, predictions, model tables
# makes: evaluation/*.tsv (see docs/files.md), evaluation/predictions.tsv.gz, evaluation/models.tsv


rule evaluate:
    input:
        summary=f"{HERE}/dataset/summary.json",
        folds=f"{HERE}/folds.tsv",
        predictions=lambda wildcards: plan(wildcards).of_folds("predictions", "tsv.gz"),
        models=lambda wildcards: plan(wildcards).of_folds("models", "tsv"),
    output:
        predictions=f"{HERE}/evaluation/predictions.tsv.gz",
        models=f"{HERE}/evaluation/models.tsv",
        metrics=f"{HERE}/evaluation/metrics.tsv",
        summary=f"{HERE}/evaluation/summary.tsv",
        comparison=f"{HERE}/evaluation/comparison.tsv",
        per_class=f"{HERE}/evaluation/per_class.tsv",
        confusion=f"{HERE}/evaluation/confusion.tsv",
        reject_curve=f"{HERE}/evaluation/reject_curve.tsv",
        calibration=f"{HERE}/evaluation/calibration.tsv",
        coverage=f"{HERE}/evaluation/coverage.tsv",
        errors=f"{HERE}/evaluation/errors.tsv",
        accepted=f"{HERE}/evaluation/accepted.tsv",
        rejected=f"{HERE}/evaluation/rejected.tsv",
        best_hit=f"{HERE}/evaluation/best_hit.tsv",
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
