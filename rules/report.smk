# Draws the figures and writes the page.
# needs: everything above
# makes: map.tsv, map.json (the plane of the landmark map), figures/*.svg, times.tsv, report.html

FIGURES = [
    "classes",
    "landmarks",
    "spectrum",
    "map",
    "comparison",
    "confusion",
    "alignments",
    "reject",
    "calibration",
    "times",
]


rule collect_times:
    input:
        timed_products,
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


rule map_landmarks:
    input:
        unpack(dataset_files),
        folds=f"{RESULTS}/{{dataset}}/folds.tsv",
        columns=f"{RESULTS}/{{dataset}}/columns/scores.npy",
        union=f"{RESULTS}/{{dataset}}/columns/landmarks.tsv",
        self_scores=f"{RESULTS}/{{dataset}}/columns/self_scores.npy",
        landmarks=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/landmarks/{{selector}}/all.tsv",
            selector=trained_selectors_of(wildcards.dataset),
        ),
        factors=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/factors/{{selector}}/all.safetensors",
            selector=trained_selectors_of(wildcards.dataset),
        ),
        model=f"{RESULTS}/{{dataset}}/model.safetensors",
    output:
        points=f"{RESULTS}/{{dataset}}/map.tsv",
        summary=f"{RESULTS}/{{dataset}}/map.json",
    log:
        f"{RESULTS}/{{dataset}}/logs/map.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/map.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["learning"]["threads"]
    resources:
        mem_mb=learning_memory(tiled=lambda wildcards: True),
        runtime=scale(5, 0.1),
    params:
        seed=CONFIG["seed"],
        base_mb=BASE_MB,
        code=code("landmark_map.py"),
    script:
        "../scripts/landmark_map.py"


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
        points=f"{RESULTS}/{{dataset}}/map.tsv",
        map=f"{RESULTS}/{{dataset}}/map.json",
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
        unlabelled=unlabelled(),
        unknown=[f"{RESULTS}/{dataset}/figures/unknown.svg" for dataset in WITH_UNKNOWN],
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
