# Chooses the landmarks of a fold from its training part.
# needs: dataset, folds, candidates, class scores
# makes: landmarks/SELECTOR/FOLD.tsv (row, class, weight, radius, reached)


def landmarks_to_match(wildcards):
    """The landmarks of the selector whose number this one takes."""
    budget = CONFIG["selectors"][wildcards.selector].get("budget")
    if not isinstance(budget, str):
        return []
    return f"{plan(wildcards).folder}/landmarks/{budget}/{wildcards.fold}.tsv"


rule select_landmarks:
    input:
        unpack(dataset_files),
        folds=f"{HERE}/folds.tsv",
        candidates=f"{HERE}/candidates.tsv",
        class_scores=class_scores,
        match=landmarks_to_match,
        given=lambda wildcards: given_tables([wildcards.selector]),
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
        mem_mb=scale(BASE_MB, 100),
        runtime=scale(10, 2),
    params:
        selector=lambda wildcards: CONFIG["selectors"][wildcards.selector],
        transforms=CONFIG["transforms"],
        scoring=setting("scoring"),
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("landmarks.py"),
    script:
        "../scripts/landmarks.py"
