# What people run today, on the folds of the run: `snakemake --cores all compare`.
# Each data set of sequences has both random and homology-aware folds here: for the kind that the
# config does not have, the whole run is made once more, in RESULTS/DATASET+KIND.
# needs: dataset, folds; for the row of ours the models, predictions and landmarks
# makes: compare/METHOD/FOLD.tsv and FOLD.predictions.tsv.gz, compare/folds.tsv (fold by fold),
#        compare/compare.tsv (means), compare/budgets.tsv (our selectors one by one),
#        RESULTS/compare.html

from kreinflow.competitors.registry import COMPETITORS, OURS


rule assign_homology_folds:
    input:
        unpack(dataset_files),
    output:
        table=f"{RESULTS}/{{dataset}}/folds.tsv",
    log:
        f"{RESULTS}/{{dataset}}/logs/homology_folds.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/homology_folds.tsv"
    wildcard_constraints:
        dataset="|".join(map(re.escape, HOMOLOGY_TWINS)) or "(?!)",
    conda:
        "../envs/alignment.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 40),
        runtime=clustering_minutes,
    params:
        settings=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["folds"],
        seed=CONFIG["seed"],
        code=code("compare_folds.py"),
    script:
        "../scripts/compare_folds.py"


ruleorder: assign_homology_folds > assign_folds


rule run_competitor:
    input:
        unpack(dataset_files),
        folds=f"{RESULTS}/{{dataset}}/folds.tsv",
    output:
        figures=f"{RESULTS}/{{dataset}}/compare/{{competitor}}/{{fold}}.tsv",
        predictions=f"{RESULTS}/{{dataset}}/compare/{{competitor}}/{{fold}}.predictions.tsv.gz",
    log:
        f"{RESULTS}/{{dataset}}/logs/compare.{{competitor}}.{{fold}}.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/compare.{{competitor}}.{{fold}}.tsv"
    wildcard_constraints:
        competitor="|".join(map(re.escape, COMPETITORS)),
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        mem_mb=scale(2 * BASE_MB, 100),
        runtime=scale(30, 60),
    params:
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        molecule=lambda wildcards: SOURCES[wildcards.dataset].get("molecule", "protein"),
        data=str(DATA),
        version=tool_version,
        code=code("compare_competitor.py"),
    script:
        "../scripts/compare_competitor.py"


rule measure_ours:
    input:
        unpack(dataset_files),
        folds=f"{RESULTS}/{{dataset}}/folds.tsv",
        predictions=f"{RESULTS}/{{dataset}}/evaluation/predictions.tsv.gz",
        models=f"{RESULTS}/{{dataset}}/evaluation/models.tsv",
        landmarks=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/landmarks/{{selector}}/{wildcards.fold}.tsv",
            selector=trained_selectors_of(wildcards.dataset),
        ),
        fold_models=lambda wildcards: expand(
            f"{RESULTS}/{wildcards.dataset}/models/{{selector}}/{wildcards.fold}.safetensors",
            selector=trained_selectors_of(wildcards.dataset),
        ),
    output:
        figures=f"{RESULTS}/{{dataset}}/compare/{OURS}/{{fold}}.tsv",
        predictions=f"{RESULTS}/{{dataset}}/compare/{OURS}/{{fold}}.predictions.tsv.gz",
    log:
        f"{RESULTS}/{{dataset}}/logs/compare.{OURS}.{{fold}}.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/compare.{OURS}.{{fold}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        mem_mb=scale(2 * BASE_MB, 40),
        runtime=scale(10, 10),
    params:
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        source=lambda wildcards: SOURCES[wildcards.dataset],
        data=str(DATA),
        order=lambda wildcards: [r["name"] for r in recipes_of(wildcards.dataset)],
        selectors=CONFIG["selectors"],
        times=lambda wildcards: f"{RESULTS}/{wildcards.dataset}/times",
        stages=["landmarks", "factor", "model"],
        code=code("compare_ours.py"),
    script:
        "../scripts/compare_ours.py"


rule tabulate_comparison:
    input:
        methods=lambda wildcards: [
            f"{RESULTS}/{twin}/compare/{method}/{fold}.tsv"
            for twin in KINDS[wildcards.dataset]
            for method in (OURS, *COMPETITORS)
            for fold in FOLDS[twin]
            if fold != ALL
        ],
        records=lambda wildcards: of_kinds(wildcards.dataset, "dataset/records.tsv"),
        models=lambda wildcards: of_kinds(wildcards.dataset, "evaluation/models.tsv"),
        metrics=lambda wildcards: of_kinds(wildcards.dataset, "evaluation/metrics.tsv"),
    output:
        folds=f"{RESULTS}/{{dataset}}/compare/folds.tsv",
        summary=f"{RESULTS}/{{dataset}}/compare/compare.tsv",
        budgets=f"{RESULTS}/{{dataset}}/compare/budgets.tsv",
    log:
        f"{RESULTS}/{{dataset}}/logs/compare.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/compare.tsv"
    wildcard_constraints:
        dataset="|".join(map(re.escape, KINDS)) or "(?!)",
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 0),
        runtime=scale(5, 0),
    params:
        kinds=lambda wildcards: KINDS[wildcards.dataset],
        order=lambda wildcards: [r["name"] for r in recipes_of(wildcards.dataset)],
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
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 0),
        runtime=scale(5, 0),
    params:
        threads=CONFIG["alignment"]["threads"],
        files=[file_sha256(f"{LIBRARY}/kreinflow/competitors/data/page.html.j2")],
        code=code("compare_page.py"),
    script:
        "../scripts/compare_page.py"
