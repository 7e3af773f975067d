# The race of the recipes of `auto`: those that the inner folds of the first training part show to be
# behind are fitted on no other part.


rule race:
    input:
        tables=lambda wildcards: plan(wildcards).of_folds("models", "tsv", plan(wildcards).folds[0]),
    output:
        f"{HERE}/race.tsv",
    log:
        f"{HERE}/logs/race.log",
    benchmark:
        f"{HERE}/times/race.tsv"
    conda:
        "../envs/learning.yaml"
    resources:
        **asks("race"),
    params:
        **given("prefer final"),
        order=setting("recipes"),
        code=code("race.py"),
    script:
        "../scripts/race.py"
