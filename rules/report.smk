# Collects what the jobs of a data set took, draws the figures, and writes the page.
# needs: everything above
# makes: map.tsv, map.json (the plane of the landmark map, and its factor), figures/*.svg, times.tsv,
#        report.html, report.txt, config.yaml (complete: `kreinflow report` reads it),
#        ro-crate-metadata.json, workflow.smk (the Snakefile, which the crate names)

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
    "sets",
    "times",
]


rule map_landmarks:
    input:
        unpack(column_files),
        landmarks=of_all("landmarks", "tsv"),
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
        learning_memory_mb=rows_memory,
        mem_mb=megabytes(learning_mb),
        runtime=minutes("map_landmarks", map_seconds),
    params:
        seed=CONFIG["seed"],
        code=code("landmark_map.py"),
    script:
        "../scripts/landmark_map.py"


# Outputs cannot depend on a wildcard, so data sets with classes held out as unknown have a rule.
KNOWN = [dataset for dataset in DATASETS if dataset not in WITH_UNKNOWN]
DRAWERS = {
    "draw_figures": (FIGURES, KNOWN),
    "draw_figures_and_unknown": ([*FIGURES, "unknown"], WITH_UNKNOWN),
}

for _name, (_figures, _datasets) in DRAWERS.items():

    rule:
        name:
            _name
        input:
            unpack(dataset_files),
            timed=lambda wildcards: plan(wildcards).timed_products(),
            alignments=f"{HERE}/columns/alignments.json",
            landmarks=landmark_tables,
            spectra=lambda wildcards: plan(wildcards).of_folds("factors", "spectrum.tsv"),
            curves=lambda wildcards: plan(wildcards).of_folds("cascade", "tsv"),
            evaluation=expand(
                f"{RESULTS}/{{{{dataset}}}}/evaluation/{{table}}.tsv",
                table=[
                    *("models", "summary", "comparison", "per_class"),
                    *("confusion", "reject_curve", "calibration", "coverage", "accepted"),
                ],
            ),
            points=f"{HERE}/map.tsv",
            map=f"{HERE}/map.json",
            unknown=unknown_tables,
        output:
            times=f"{HERE}/times.tsv",
            figures=[
                report(
                    f"{HERE}/figures/{name}.svg",
                    caption=f"../report/{name}.rst",
                    category="{dataset}",
                    labels={"figure": name},
                )
                for name in _figures
            ],
        log:
            f"{HERE}/logs/figures.log",
        benchmark:
            f"{HERE}/times/figures.tsv"
        wildcard_constraints:
            dataset=one_of(_datasets),
        conda:
            "../envs/report.yaml"
        threads: 1
        resources:
            mem_mb=scale(BASE_MB, 10),
            runtime=minutes(
                _name, seconds_a_mb(costs.SHOWN_MB), jobs=len(DATASETS), stage="figures"
            ),
        params:
            final=setting("final"),
            recipes=setting("recipes"),
            prefer=CONFIG["prefer"],
            jobs=lambda wildcards: plan(wildcards).timed_jobs(),
            code=code("figures.py"),
        script:
            "../scripts/figures.py"


rule write_report:
    input:
        of_datasets("times.tsv"),
        aligned=[
            path
            for dataset in DATASETS
            for stage in ("class_scores", "columns")
            for path in PLANS[dataset].blocks(stage)
        ],
        factors=of_folds("factors", "tsv"),
        curves=of_folds("cascade", "tsv"),
        figures=[
            f"{RESULTS}/{dataset}/figures/{name}.svg"
            for figures, datasets in DRAWERS.values()
            for dataset in datasets
            for name in figures
        ],
        unlabelled=UNLABELLED_TABLES,
        levels=[f"{RESULTS}/{dataset}/figures/levels.svg" for dataset in WITH_LEVELS],
    output:
        page=report(
            f"{RESULTS}/report.html",
            caption="../report/report.rst",
            category="all",
            labels={"figure": "page"},
        ),
        text=f"{RESULTS}/report.txt",
        config=f"{RESULTS}/config.yaml",
        workflow=f"{RESULTS}/workflow.smk",
        crate=f"{RESULTS}/ro-crate-metadata.json",
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 10),
        runtime=minutes("write_report", seconds_a_mb(costs.SHOWN_MB)),
    params:
        config=ASKED,
        code=code("report.py"),
    script:
        "../scripts/report.py"
