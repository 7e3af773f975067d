# Chooses the landmarks of a fold from its training part.
# needs: dataset, folds, candidates, class scores
# makes: landmarks/SELECTOR/FOLD.tsv (row, class, weight, radius, reached)


rule select_landmarks:
    input:
        unpack(dataset_files),
        folds=f"{RESULTS}/{{dataset}}/folds.tsv",
        candidates=f"{RESULTS}/{{dataset}}/candidates.tsv",
        class_scores=class_scores,
        match=landmarks_to_match,
        given=lambda wildcards: given_table([wildcards.selector]),
    output:
        f"{RESULTS}/{{dataset}}/landmarks/{{selector}}/{{fold}}.tsv",
    log:
        f"{RESULTS}/{{dataset}}/logs/landmarks.{{selector}}.{{fold}}.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/landmarks.{{selector}}.{{fold}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 100),
        runtime=scale(10, 2),
    params:
        selector=lambda wildcards: CONFIG["selectors"][wildcards.selector],
        transforms=CONFIG["transforms"],
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("landmarks.py"),
    script:
        "../scripts/landmarks.py"
