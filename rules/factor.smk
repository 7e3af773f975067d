# Makes the Krein factor of each transform and rank that the recipes of a selector learn from, its
# eigenpairs, and the corrections.
# needs: columns, landmarks, folds, race
# makes: factors/SELECTOR/FOLD.safetensors (the corrected maps), FOLD.tsv (rank, misfit, signature),
#        FOLD.spectrum.tsv (eigenvalues, as they are and corrected)


rule make_factor:
    input:
        unpack(column_files),
        landmarks=f"{HERE}/landmarks/{{selector}}/{{fold}}.tsv",
        race=lambda wildcards: plan(wildcards).race(wildcards.fold),
    output:
        factors=f"{HERE}/factors/{{selector}}/{{fold}}.safetensors",
        table=f"{HERE}/factors/{{selector}}/{{fold}}.tsv",
        spectrum=f"{HERE}/factors/{{selector}}/{{fold}}.spectrum.tsv",
    log:
        f"{HERE}/logs/factor.{{selector}}.{{fold}}.log",
    benchmark:
        f"{HERE}/times/factor.{{selector}}.{{fold}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["learning"]["threads"]
    resources:
        learning_memory_mb=rows_memory,
        mem_mb=megabytes(learning_mb),
        runtime=minutes("make_factor", factor_seconds),
    params:
        recipes=lambda wildcards: plan(wildcards).factored(wildcards.selector),
        transforms=CONFIG["transforms"],
        scoring=setting("scoring"),
        data=str(DATA),
        code=code("factor.py"),
    script:
        "../scripts/factor.py"
