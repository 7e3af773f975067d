# Classes held out as unknown: no rule before this one sees their records. The models of the outer
# folds predict them, and what they reject is measured beside what they reject of the known.
# needs: unknown/dataset, columns, models, evaluation
# makes: unknown/records.tsv (id, label, row, length, self_score), unknown/scores.npy (distinct
#        unknown rows x landmarks), unknown/predictions.tsv.gz, folds.tsv, summary.tsv,
#        families.tsv, curve.tsv, figures/unknown.svg


rule score_unknown:
    input:
        unpack(lambda wildcards: dataset_with_unknown(wildcards.dataset)),
        summary=f"{RESULTS}/{{dataset}}/dataset/summary.json",
        landmarks=f"{RESULTS}/{{dataset}}/columns/landmarks.tsv",
    output:
        records=f"{RESULTS}/{{dataset}}/unknown/records.tsv",
        scores=f"{RESULTS}/{{dataset}}/unknown/scores.npy",
    log:
        f"{RESULTS}/{{dataset}}/logs/unknown_scores.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/unknown_scores.tsv"
    conda:
        "../envs/alignment.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        alignment_memory_mb=CONFIG["alignment"]["memory_mb"],
        mem_mb=lambda wildcards, input, attempt: CONFIG["alignment"]["memory_mb"]
        + reading_memory(wildcards, input, attempt),
        runtime=alignment_minutes(unknown_pairs),
    params:
        unknown=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["unknown"],
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        data=str(DATA),
        backend=CONFIG["alignment"]["backend"],
        transforms=CONFIG["transforms"],
        transform_names=lambda wildcards: transforms_wanted(wildcards.dataset),
        code=code("unknown_scores.py"),
    script:
        "../scripts/unknown_scores.py"


rule measure_unknown:
    input:
        records=f"{RESULTS}/{{dataset}}/unknown/records.tsv",
        scores=f"{RESULTS}/{{dataset}}/unknown/scores.npy",
        union=f"{RESULTS}/{{dataset}}/columns/landmarks.tsv",
        predictions=f"{RESULTS}/{{dataset}}/evaluation/predictions.tsv.gz",
        models=f"{RESULTS}/{{dataset}}/evaluation/models.tsv",
        fold_models=lambda wildcards: of_tested(wildcards.dataset, "models", "safetensors"),
        landmarks=lambda wildcards: of_tested(wildcards.dataset, "landmarks", "tsv"),
    output:
        predictions=f"{RESULTS}/{{dataset}}/unknown/predictions.tsv.gz",
        folds=f"{RESULTS}/{{dataset}}/unknown/folds.tsv",
        summary=f"{RESULTS}/{{dataset}}/unknown/summary.tsv",
        families=f"{RESULTS}/{{dataset}}/unknown/families.tsv",
        curve=f"{RESULTS}/{{dataset}}/unknown/curve.tsv",
    log:
        f"{RESULTS}/{{dataset}}/logs/unknown.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/unknown.tsv"
    conda:
        "../envs/learning.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 60),
        runtime=scale(10, 1),
    params:
        recipes=lambda wildcards: recipes_of(wildcards.dataset),
        code=code("unknown.py"),
    script:
        "../scripts/unknown.py"


rule draw_unknown:
    input:
        comparison=f"{RESULTS}/{{dataset}}/evaluation/comparison.tsv",
        curve=f"{RESULTS}/{{dataset}}/unknown/curve.tsv",
        summary=f"{RESULTS}/{{dataset}}/unknown/summary.tsv",
    output:
        report(
            f"{RESULTS}/{{dataset}}/figures/unknown.svg",
            caption="../report/unknown.rst",
            category="{dataset}",
            labels={"figure": "unknown"},
        ),
    log:
        f"{RESULTS}/{{dataset}}/logs/unknown_figure.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/unknown_figure.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 40),
        runtime=scale(5, 1),
    params:
        code=code("unknown_figure.py"),
    script:
        "../scripts/unknown_figure.py"
