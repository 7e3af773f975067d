# Measures the predictions of the outer folds, which nothing else has looked at.
# needs: predictions, model tables
# makes: evaluation/*.tsv (see docs/files.md), evaluation/predictions.tsv.gz, evaluation/models.tsv


rule evaluate:
    input:
        records=f"{RESULTS}/{{dataset}}/dataset/records.tsv",
        folds=f"{RESULTS}/{{dataset}}/folds.tsv",
        predictions=lambda wildcards: of_dataset(wildcards.dataset, "predictions", "tsv.gz"),
        models=lambda wildcards: of_dataset(wildcards.dataset, "models", "tsv"),
    output:
        predictions=f"{RESULTS}/{{dataset}}/evaluation/predictions.tsv.gz",
        models=f"{RESULTS}/{{dataset}}/evaluation/models.tsv",
        metrics=f"{RESULTS}/{{dataset}}/evaluation/metrics.tsv",
        summary=f"{RESULTS}/{{dataset}}/evaluation/summary.tsv",
        comparison=f"{RESULTS}/{{dataset}}/evaluation/comparison.tsv",
        per_class=f"{RESULTS}/{{dataset}}/evaluation/per_class.tsv",
        confusion=f"{RESULTS}/{{dataset}}/evaluation/confusion.tsv",
        reject_curve=f"{RESULTS}/{{dataset}}/evaluation/reject_curve.tsv",
        calibration=f"{RESULTS}/{{dataset}}/evaluation/calibration.tsv",
    log:
        f"{RESULTS}/{{dataset}}/logs/evaluation.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/evaluation.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 60),
        runtime=scale(10, 1),
    params:
        recipes=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["recipes"],
        code=code("evaluation.py"),
    script:
        "../scripts/evaluation.py"
