# Chooses the landmarks of a fold from its training part.
# needs: dataset, folds, candidates, class scores
# makes: landmarks/SELECTOR/FOLD.tsv (row, class, weight, radius, reached)


rule select_landmarks:
    input:
        unpack(dataset_files),
        folds=f"{HERE}/folds.tsv",
        candidates=f"{HERE}/candidates.tsv",
        class_scores=lambda wildcards: plan(wildcards).blocks("class_scores"),
        match=lambda wildcards: plan(wildcards).of_lender(wildcards.selector, wildcards.fold),
        given=lambda wildcards: plan(wildcards).tables_of([wildcards.selector]),
    output:
        f"{HERE}/landmarks/{{selector}}/{{fold}}.tsv",
    log:
        f"{HERE}/logs/landmarks.{{selector}}.{{fold}}.log",
    benchmark:
        f"{HERE}/times/landmarks.{{selector}}.{{fold}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(
            lambda wildcards, input: costs.selection_mb(statistics_of(input), class_pairs(input))
        ),
        runtime=minutes("select_landmarks", selection_seconds, jobs=len(CONFIG["selectors"])),
    params:
        selector=lambda wildcards: CONFIG["selectors"][wildcards.selector],
        transforms=CONFIG["transforms"],
        scoring=setting("scoring"),
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("landmarks.py"),
    script:
        "../scripts/landmarks.py"
