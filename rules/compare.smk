# What people run today, on the folds of the run: `snakemake --cores all compare`.
# Each data set of sequences has both random and homology-aware folds here: for the kind that the
# config does not have, the whole run is made once more, in RESULTS/DATASET+KIND.

from kreinflow.compare.methods import COMPETITORS, OURS, version_or_reason

KINDS = {
    name: {twin: kind_of_folds(PLANS[twin].settings["folds"]) for twin in [name, *twins]}
    for name, twins in TWINS.items()
}


rule run_competitor:
    input:
        unpack(dataset_files),
        folds=f"{HERE}/folds.tsv",
    output:
        figures=f"{HERE}/compare/{{competitor}}/{{fold}}.tsv",
        predictions=f"{HERE}/compare/{{competitor}}/{{fold}}.predictions.tsv.gz",
    log:
        f"{HERE}/logs/compare.{{competitor}}.{{fold}}.log",
    benchmark:
        f"{HERE}/times/compare.{{competitor}}.{{fold}}.tsv"
    wildcard_constraints:
        competitor=one_of(COMPETITORS),
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        **asks("run_competitor", lambda w, _: costs(w).comparing()),
    params:
        **given("scoring data"),
        molecule=lambda wildcards: plan(wildcards).settings["source"].get("molecule", "protein"),
        version=lambda wildcards: version_or_reason(wildcards.competitor),
        code=code("compare_competitor.py"),
    script:
        "../scripts/compare_competitor.py"


rule measure_ours:
    input:
        unpack(dataset_files),
        folds=f"{HERE}/folds.tsv",
        predictions=f"{HERE}/evaluation/predictions.tsv.gz",
        models=f"{HERE}/evaluation/models.tsv",
        landmarks=of_fold("landmarks", "tsv"),
        fold_models=of_fold("models", "safetensors"),
    output:
        figures=f"{HERE}/compare/{OURS}/{{fold}}.tsv",
        predictions=f"{HERE}/compare/{OURS}/{{fold}}.predictions.tsv.gz",
    log:
        f"{HERE}/logs/compare.{OURS}.{{fold}}.log",
    benchmark:
        f"{HERE}/times/compare.{OURS}.{{fold}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        **asks("measure_ours", lambda w, _: costs(w).comparing()),
    params:
        **given("scoring source data prefer selectors"),
        landmark_job=lambda wildcards: plan(wildcards).landmark_job(wildcards.fold),
        model_jobs=lambda wildcards: {
            name: plan(wildcards).model_job(name, wildcards.fold)
            for name in plan(wildcards).trained_selectors
        },
        order=lambda wildcards: [r["name"] for r in plan(wildcards).recipes()],
        code=code("compare_ours.py"),
    script:
        "../scripts/compare_ours.py"


rule write_comparison:
    input:
        methods=of_all_methods("tsv"),
        predictions=of_all_methods("predictions.tsv.gz"),
        folds=of_compared("folds.tsv"),
        models=of_compared("evaluation/models.tsv"),
        metrics=of_compared("evaluation/metrics.tsv"),
    output:
        page=f"{RESULTS}/compare.html",
        folds=[f"{RESULTS}/{dataset}/compare/folds.tsv" for dataset in KINDS],
        summaries=[f"{RESULTS}/{dataset}/compare/compare.tsv" for dataset in KINDS],
        budgets=[f"{RESULTS}/{dataset}/compare/budgets.tsv" for dataset in KINDS],
    log:
        f"{RESULTS}/logs/compare.log",
    benchmark:
        f"{RESULTS}/times/compare.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **asks("write_comparison", mb=30, seconds=0.7),
    params:
        kinds=KINDS,
        orders={name: [recipe["name"] for recipe in PLANS[name].recipes()] for name in KINDS},
        threads=CONFIG["alignment"]["threads"],
        files=[file_sha256(f"{LIBRARY}/kreinflow/compare/data/page.html.j2")],
        code=code("compare.py"),
    script:
        "../scripts/compare.py"
