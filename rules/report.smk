# Collects what the jobs of a data set took, draws the figures, and writes the page.

from kreinflow.report.texts import FIGURES


rule map_landmarks:
    input:
        unpack(column_files),
        landmarks=of_fold("landmarks", "tsv"),
        model=f"{HERE}/model.safetensors",
    output:
        points=f"{HERE}/map.tsv",
        summary=f"{HERE}/map.json",
    log:
        f"{HERE}/logs/map.log",
    benchmark:
        f"{HERE}/times/map.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["learning"]["threads"]
    resources:
        **asks("map_landmarks", lambda w, _: costs(w).finishing()),
    params:
        seed=CONFIG["seed"],
        code=code("landmark_map.py"),
    script:
        "../scripts/landmark_map.py"


rule draw_figures:
    input:
        unpack(dataset_files),
        timed=lambda wildcards: plan(wildcards).timed_products(),
        alignments=f"{HERE}/columns/alignments.json",
        landmarks=lambda wildcards: plan(wildcards).of_folds("landmarks", "tsv", lenders=True),
        spectra=lambda wildcards: plan(wildcards).of_folds("factors", "spectrum.tsv"),
        curves=lambda wildcards: plan(wildcards).of_folds("cascade", "tsv"),
        evaluation=rules.evaluate.output,
        points=f"{HERE}/map.tsv",
        map=f"{HERE}/map.json",
    output:
        times=f"{HERE}/times.tsv",
        figures=[drawn(name) for name in FIGURES],
    log:
        f"{HERE}/logs/figures.log",
    benchmark:
        f"{HERE}/times/figures.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **asks("draw_figures", seconds=1, jobs=len(DATASETS)),
    params:
        config=shown,
        jobs=lambda wildcards: plan(wildcards).timed_jobs(),
        code=code("figures.py"),
    script:
        "../scripts/figures.py"


use rule draw_figures as draw_optional with:
    input:
        summary=f"{HERE}/evaluation/summary.tsv",
        tables=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/{{table}}.tsv",
            table=(
                ["evaluation/levels"]
                if wildcards.figure == "levels"
                else ["unknown/curve", "unknown/summary", "unknown/families"]
            ),
        ),
    output:
        figures=[drawn("{figure}")],
    log:
        f"{HERE}/logs/figures.{{figure}}.log",
    benchmark:
        f"{HERE}/times/figures.{{figure}}.tsv"
    wildcard_constraints:
        figure="unknown|levels",
    resources:
        **asks("draw_optional", seconds=1),


rule write_report:
    input:
        of_datasets("times.tsv"),
        aligned=[
            path
            for dataset in DATASETS
            for stage in ("class_scores", *PLANS[dataset].column_stages)
            for path in PLANS[dataset].blocks(stage)
        ],
        factors=of_folds("factors", "tsv"),
        curves=of_folds("cascade", "tsv"),
        figures=lambda wildcards: [
            f"{RESULTS}/{dataset}/figures/{name}.svg" for dataset in DATASETS for name in FIGURES
        ],
        unlabelled=UNLABELLED_TABLES,
        unknown=[f"{RESULTS}/{dataset}/figures/unknown.svg" for dataset in WITH_UNKNOWN],
        levels=[f"{RESULTS}/{dataset}/figures/levels.svg" for dataset in WITH_LEVELS],
    output:
        page=report(
            f"{RESULTS}/report.html",
            caption="../report/report.rst",
            category="all",
            labels={"figure": "page"},
        ),
        text=f"{RESULTS}/report.txt",
        multiqc=f"{RESULTS}/kreinflow_mqc.json",
        config=f"{RESULTS}/config.yaml",
        workflow=f"{RESULTS}/workflow.smk",
        crate=f"{RESULTS}/ro-crate-metadata.json",
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../envs/report.yaml"
    resources:
        **asks("write_report", seconds=1),
    params:
        config=ASKED,
        code=code("report.py"),
    script:
        "../scripts/report.py"
