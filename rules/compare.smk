# What people run today, on the folds of the run: `snakemake --cores all compare`.
# Each data set of sequences has both random and homology-aware folds here: for the kind that the
# config does not have, the whole run is made once more, in RESULTS/DATASET+KIND.

from kreinflow.compare.methods import COMPETITORS, OURS, version_or_reason

KINDS = {
    name: {twin: kind_of_folds(PLANS[twin].settings["folds"]) for twin in [name, *twins]}
    for name, twins in TWINS.items()
}
HOMOLOGY_TWINS = [f"{name}+{HOMOLOGY}" for name in TWINS if f"{name}+{HOMOLOGY}" in TWINS[name]]


rule assign_homology_folds:
    input:
        unpack(dataset_files),
    output:
        table=f"{HERE}/folds.tsv",
    log:
        f"{HERE}/logs/homology_folds.log",
    benchmark:
        f"{HERE}/times/homology_folds.tsv"
    wildcard_constraints:
        dataset=one_of(HOMOLOGY_TWINS),
    conda:
        "../envs/alignment.yaml"
    resources:
        **asks("assign_homology_folds", lambda w, _: costs(w).comparing()),
    params:
        settings=setting("folds"),
        seed=CONFIG["seed"],
        code=code("compare_folds.py"),
    script:
        "../scripts/compare_folds.py"


ruleorder: assign_homology_folds > assign_folds


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
        landmarks=of_this_fold("landmarks", "tsv"),
        fold_models=of_this_fold("models", "safetensors"),
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


rule tabulate_comparison:
    input:
        methods=of_all_methods("tsv"),
        predictions=of_all_methods("predictions.tsv.gz"),
        folds=of_compared("folds.tsv"),
        models=of_compared("evaluation/models.tsv"),
        metrics=of_compared("evaluation/metrics.tsv"),
    output:
        folds=f"{HERE}/compare/folds.tsv",
        summary=f"{HERE}/compare/compare.tsv",
        budgets=f"{HERE}/compare/budgets.tsv",
    log:
        f"{HERE}/logs/compare.log",
    benchmark:
        f"{HERE}/times/compare.tsv"
    wildcard_constraints:
        dataset=one_of(KINDS),
    conda:
        "../envs/report.yaml"
    resources:
        **asks("tabulate_comparison", mb=30, seconds=0.7, jobs=len(KINDS)),
    params:
        kinds=lambda wildcards: KINDS[wildcards.dataset],
        order=lambda wildcards: [r["name"] for r in plan(wildcards).recipes()],
        code=code("compare_table.py"),
    script:
        "../scripts/compare_table.py"


rule write_comparison_page:
    input:
        summaries=[f"{RESULTS}/{dataset}/compare/compare.tsv" for dataset in KINDS],
        budgets=[f"{RESULTS}/{dataset}/compare/budgets.tsv" for dataset in KINDS],
    output:
        f"{RESULTS}/compare.html",
    log:
        f"{RESULTS}/logs/compare_page.log",
    benchmark:
        f"{RESULTS}/times/compare_page.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **asks("write_comparison_page"),
    params:
        threads=CONFIG["alignment"]["threads"],
        files=[file_sha256(f"{LIBRARY}/kreinflow/compare/data/page.html.j2")],
        code=code("compare_page.py"),
    script:
        "../scripts/compare_page.py"
