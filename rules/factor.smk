# Makes the Krein factor of each transform and rank that the recipes of a selector use, its
# eigenpairs, and the corrections.
# needs: columns, landmarks, folds
# makes: factors/SELECTOR/FOLD.safetensors, FOLD.tsv (rank, misfit, signature),
#        FOLD.spectrum.tsv (eigenvalues, as they are and corrected)


rule make_factor:
    input:
        unpack(dataset_files),
        folds=f"{RESULTS}/{{dataset}}/folds.tsv",
        columns=f"{RESULTS}/{{dataset}}/columns/scores.npy",
        union=f"{RESULTS}/{{dataset}}/columns/landmarks.tsv",
        self_scores=f"{RESULTS}/{{dataset}}/columns/self_scores.npy",
        landmarks=f"{RESULTS}/{{dataset}}/landmarks/{{selector}}/{{fold}}.tsv",
    output:
        factors=f"{RESULTS}/{{dataset}}/factors/{{selector}}/{{fold}}.safetensors",
        table=f"{RESULTS}/{{dataset}}/factors/{{selector}}/{{fold}}.tsv",
        spectrum=f"{RESULTS}/{{dataset}}/factors/{{selector}}/{{fold}}.spectrum.tsv",
    log:
        f"{RESULTS}/{{dataset}}/logs/factor.{{selector}}.{{fold}}.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/factor.{{selector}}.{{fold}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["learning"]["threads"]
    resources:
        mem_mb=learning_memory(tiled=lambda wildcards: True),
        runtime=scale(10, 0.2),
    params:
        recipes=lambda wildcards: recipes_of(wildcards.dataset, wildcards.selector),
        transforms=CONFIG["transforms"],
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        data=str(DATA),
        base_mb=BASE_MB,
        code=code("factor.py"),
    script:
        "../scripts/factor.py"
