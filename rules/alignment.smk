# Aligns: first the class scores and the sketch that selectors ask for, then all sequences with the
# union of the landmarks. Scores live in one store a data set, RESULTS/DATASET/scores, in which no pair of
# sequences is ever aligned twice; a block of rows has one writer. A matrix is only sliced;
# a kernel of vectors is computed where its columns are asked for.
# needs: dataset, folds, landmark tables
# makes: candidates.tsv (class, row; rows of the sketch have no class), scores/ (the store),
#        alignment/*.json (what a block was asked for), columns/scores.npy (distinct rows x
#        landmarks), columns/landmarks.tsv, columns/self_scores.npy, columns/alignments.json


rule list_candidates:
    input:
        unpack(dataset_files),
        folds=f"{RESULTS}/{{dataset}}/folds.tsv",
        given=lambda wildcards: given_table(selectors_of(wildcards.dataset)),
    output:
        f"{RESULTS}/{{dataset}}/candidates.tsv",
    log:
        f"{RESULTS}/{{dataset}}/logs/candidates.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/candidates.tsv"
    conda:
        "../envs/alignment.yaml"
    threads: 1
    resources:
        mem_mb=scale(BASE_MB, 40),
        runtime=scale(10, 0.1),
    params:
        candidates=lambda wildcards: most_wanted(wildcards.dataset, "candidates"),
        sketch=lambda wildcards: most_wanted(wildcards.dataset, "sketch"),
        selectors=lambda wildcards: {
            name: CONFIG["selectors"][name] for name in selectors_of(wildcards.dataset)
        },
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        data=str(DATA),
        transforms=CONFIG["transforms"],
        transform_names=lambda wildcards: transforms_wanted(wildcards.dataset),
        seed=CONFIG["seed"],
        code=code("candidates.py"),
    script:
        "../scripts/candidates.py"


rule align_class_scores:
    input:
        unpack(dataset_files),
        candidates=f"{RESULTS}/{{dataset}}/candidates.tsv",
    output:
        f"{RESULTS}/{{dataset}}/alignment/class_scores.{{block}}.json",
    log:
        f"{RESULTS}/{{dataset}}/logs/class_scores.{{block}}.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/class_scores.{{block}}.tsv"
    conda:
        "../envs/alignment.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        alignment_memory_mb=CONFIG["alignment"]["memory_mb"],
        mem_mb=scale(BASE_MB + CONFIG["alignment"]["memory_mb"], 40),
        runtime=alignment_minutes(class_pairs),
    params:
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        data=str(DATA),
        blocks=len(BLOCKS),
        backend=CONFIG["alignment"]["backend"],
        code=code("alignment.py"),
    script:
        "../scripts/alignment.py"


rule align_columns:
    input:
        unpack(dataset_files),
        class_scores=class_scores,
        landmarks=landmark_tables,
    output:
        f"{RESULTS}/{{dataset}}/alignment/columns.{{block}}.json",
    log:
        f"{RESULTS}/{{dataset}}/logs/columns.{{block}}.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/columns.{{block}}.tsv"
    conda:
        "../envs/alignment.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        alignment_memory_mb=CONFIG["alignment"]["memory_mb"],
        mem_mb=scale(BASE_MB + CONFIG["alignment"]["memory_mb"], 40),
        runtime=alignment_minutes(column_pairs),
    params:
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        data=str(DATA),
        blocks=len(BLOCKS),
        backend=CONFIG["alignment"]["backend"],
        code=code("alignment.py"),
    script:
        "../scripts/alignment.py"


rule gather_columns:
    input:
        unpack(dataset_files),
        candidates=f"{RESULTS}/{{dataset}}/candidates.tsv",
        aligned=columns_aligned,
        landmarks=landmark_tables,
    output:
        scores=f"{RESULTS}/{{dataset}}/columns/scores.npy",
        landmarks=f"{RESULTS}/{{dataset}}/columns/landmarks.tsv",
        self_scores=f"{RESULTS}/{{dataset}}/columns/self_scores.npy",
        alignments=f"{RESULTS}/{{dataset}}/columns/alignments.json",
    log:
        f"{RESULTS}/{{dataset}}/logs/columns.log",
    benchmark:
        f"{RESULTS}/{{dataset}}/times/columns.tsv"
    conda:
        "../envs/alignment.yaml"
    threads: 1
    resources:
        alignment_memory_mb=CONFIG["alignment"]["memory_mb"],
        mem_mb=scale(BASE_MB + CONFIG["alignment"]["memory_mb"], 40),
        runtime=scale(10, 0.5),
    params:
        scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
        data=str(DATA),
        code=code("columns.py"),
    script:
        "../scripts/columns.py"
