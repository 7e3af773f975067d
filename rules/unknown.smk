# Classes held out as unknown: no rule before this one sees their records. The models of the outer
# folds predict them, and what they reject is measured beside what they reject of the known.

WITH_UNKNOWN = [dataset for dataset in DATASETS if PLANS[dataset].settings["unknown"]]


rule score_unknown:
    input:
        unpack(unknown_files),
        summary=f"{HERE}/dataset/summary.json",
        landmarks=f"{HERE}/columns/landmarks.tsv",
    output:
        records=f"{HERE}/unknown/records.tsv",
        scores=f"{HERE}/unknown/scores.npy",
    log:
        f"{HERE}/logs/unknown_scores.log",
    benchmark:
        f"{HERE}/times/unknown_scores.tsv"
    conda:
        "../envs/alignment.yaml"
    threads: scoring_threads
    resources:
        **asks("score_unknown", lambda w, _: costs(w).unknown()),
    params:
        **given("unknown scoring data backend seed transforms"),
        asked=lambda wildcards: plan(wildcards).source.asked,
        transform_names=lambda wildcards: plan(wildcards).transforms,
        code=code("unknown_scores.py"),
    script:
        "../scripts/unknown_scores.py"


rule measure_unknown:
    input:
        unpack(unknown_files),
        records=f"{HERE}/unknown/records.tsv",
        scores=f"{HERE}/unknown/scores.npy",
        summary=f"{HERE}/dataset/summary.json",
        union=f"{HERE}/columns/landmarks.tsv",
        predictions=f"{HERE}/evaluation/predictions.tsv.gz",
        models=f"{HERE}/evaluation/models.tsv",
        fold_models=lambda wildcards: plan(wildcards).of_folds(
            "models", "safetensors", *plan(wildcards).folds[:-1]
        ),
        landmarks=lambda wildcards: plan(wildcards).of_folds(
            "landmarks", "tsv", *plan(wildcards).folds[:-1]
        ),
    output:
        predictions=f"{HERE}/unknown/predictions.tsv.gz",
        folds=f"{HERE}/unknown/folds.tsv",
        summary=f"{HERE}/unknown/summary.tsv",
        families=f"{HERE}/unknown/families.tsv",
        curve=f"{HERE}/unknown/curve.tsv",
        checksums=f"{HERE}/unknown/checksums.json",
    log:
        f"{HERE}/logs/unknown.log",
    benchmark:
        f"{HERE}/times/unknown.tsv"
    conda:
        "../envs/learning.yaml"
    threads: lambda wildcards: CONFIG["alignment"]["threads"] if plan(wildcards).cascades() else 1
    resources:
        **asks("measure_unknown", lambda w, _: costs(w).unknown()),
    params:
        **given("unknown prefer scoring data backend"),
        recipes=lambda wildcards: plan(wildcards).recipes(),
        tested=CONFIG["unknown"],
        asked=lambda wildcards: plan(wildcards).source.asked_of_records,
        code=code("unknown.py"),
    script:
        "../scripts/unknown.py"
