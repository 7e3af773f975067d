# Draws the figures and writes the page.
# needs: everything above          makes: figures/*.svg, times.tsv, report.html

FIGURES = [
    "classes",
    "landmarks",
    "spectrum",
    "comparison",
    "confusion",
    "alignments",
    "reject",
    "calibration",
    "times",
]


rule collect_times:
    input:
        lambda wildcards: f"{RESULTS}/{wildcards.dataset}/evaluation/summary.tsv",
        f"{RESULTS}/{{dataset}}/model.safetensors",
    output:
        f"{RESULTS}/{{dataset}}/times.tsv",
    log:
        f"{RESULTS}/{{dataset}}/logs/times.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 0),
        runtime=scale(5, 0),
    params:
        times=lambda wildcards: f"{RESULTS}/{wildcards.dataset}/times",
        logs=lambda wildcards: f"{RESULTS}/{wildcards.dataset}/logs",
        jobs=lambda wildcards: timed_jobs(wildcards.dataset),
        code=code("times.py"),
    script:
        "../scripts/times.py"


rule draw_figures:
    input:
        summary=f"{RESULTS}/{{dataset}}/dataset/summary.json",
        distinct=f"{RESULTS}/{{dataset}}/dataset/distinct.tsv",
        alignments=f"{RESULTS}/{{dataset}}/columns/alignments.json",
        landmarks=lambda wildcards: of_dataset(wildcards.dataset, "landmarks", "tsv", selectors_of),
        spectra=lambda wildcards: of_dataset(wildcards.dataset, "factors", "spectrum.tsv"),
        evaluation=expand(
            f"{RESULTS}/{{{{dataset}}}}/evaluation/{{table}}.tsv",
            table=["models", "summary", "comparison", "confusion", "reject_curve", "calibration"],
        ),
        times=f"{RESULTS}/{{dataset}}/times.tsv",
    output:
        [
            report(
                f"{RESULTS}/{{dataset}}/figures/{name}.svg",
                caption=f"../report/{name}.rst",
                category="{dataset}",
                labels={"figure": name},
            )
            for name in FIGURES
        ],
    log:
        f"{RESULTS}/{{dataset}}/logs/figures.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/figures.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 40),
        runtime=scale(10, 1),
    params:
        code=code("figures.py"),
    script:
        "../scripts/figures.py"


rule write_report:
    input:
        of_datasets("times.tsv"),
        figures=lambda wildcards: [
            f"{RESULTS}/{dataset}/figures/{name}.svg" for dataset in DATASETS for name in FIGURES
        ],
    output:
        report(
            f"{RESULTS}/report.html",
            caption="../report/report.rst",
            category="all",
            labels={"figure": "page"},
        ),
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 40),
        runtime=scale(10, 1),
    params:
        config=ASKED,
        code=code("report.py"),
    script:
        "../scripts/report.py"
