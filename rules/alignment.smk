# Aligns: first the class scores and the sketch that selectors ask for, then all sequences with the
# union of the landmarks; with `auto` in stages, see column_stages in kreinflow/config/plan.py. Scores
# live in one store a data set, RESULTS/DATASET/scores, in which no pair of sequences is ever aligned
# twice; a block of rows has one writer. So do those of the user's own score, which is asked where
# sequences are aligned. A matrix is only sliced; a kernel of vectors is computed where its columns are
# asked for.


rule list_candidates:
    input:
        unpack(dataset_files),
        folds=f"{HERE}/folds.tsv",
        given=lambda wildcards: plan(wildcards).tables_of(plan(wildcards).selectors),
    output:
        f"{HERE}/candidates.tsv",
    log:
        f"{HERE}/logs/candidates.log",
    benchmark:
        f"{HERE}/times/candidates.tsv"
    conda:
        "../envs/alignment.yaml"
    resources:
        **asks("list_candidates"),
    params:
        **given("scoring data transforms seed"),
        candidates=lambda wildcards: plan(wildcards).most_wanted("candidates"),
        sketch=lambda wildcards: plan(wildcards).most_wanted("sketch"),
        selectors=lambda wildcards: plan(wildcards).selectors,
        transform_names=lambda wildcards: plan(wildcards).transforms,
        code=code("candidates.py"),
    script:
        "../scripts/candidates.py"


COLUMNS = list(dict.fromkeys(stage for plan_ in PLANS.values() for stage in plan_.column_stages))

# What is aligned for each stage, and what says so.
ALIGNED = {"class_scores": ("candidates", {"candidates": f"{HERE}/candidates.tsv"})}
for _stage in COLUMNS:
    _before = lambda wildcards: plan(wildcards).blocks("class_scores")
    _union = lambda wildcards, stage=_stage: plan(wildcards).column_stages[stage]
    ALIGNED[_stage] = "landmarks", {"class_scores": _before, "landmarks": _union}

for _stage, (_columns, _files) in ALIGNED.items():

    rule:
        name:
            f"align_{_stage}"
        input:
            unpack(dataset_files),
            **_files,
        output:
            f"{HERE}/alignment/{_stage}.{{block}}.json",
        log:
            f"{HERE}/logs/{_stage}.{{block}}.log",
        benchmark:
            f"{HERE}/times/{_stage}.{{block}}.tsv"
        conda:
            "../envs/alignment.yaml"
        threads: scoring_threads
        resources:
            **asks(f"align_{_stage}", lambda w, _, stage=_stage: costs(w).block(stage)),
        params:
            **given("scoring data backend seed"),
            asked=lambda wildcards: plan(wildcards).source.asked,
            blocks=lambda wildcards, stage=_stage: len(plan(wildcards).blocks(stage)),
            columns=_columns,
            code=code("alignment.py"),
        script:
            "../scripts/alignment.py"


for _stage in COLUMNS:

    rule:
        name:
            f"gather_{_stage}"
        input:
            unpack(dataset_files),
            candidates=f"{HERE}/candidates.tsv",
            aligned=lambda wildcards, stage=_stage: plan(wildcards).blocks(stage),
            landmarks=ALIGNED[_stage][1]["landmarks"],
        output:
            scores=f"{HERE}/{_stage}/scores.npy",
            landmarks=f"{HERE}/{_stage}/landmarks.tsv",
            self_scores=f"{HERE}/{_stage}/self_scores.npy",
            alignments=f"{HERE}/{_stage}/alignments.json",
        log:
            f"{HERE}/logs/{_stage}.log",
        benchmark:
            f"{HERE}/times/{_stage}.tsv"
        conda:
            "../envs/alignment.yaml"
        resources:
            **asks(f"gather_{_stage}", lambda w, _: costs(w).gathering()),
        params:
            **given("scoring data"),
            code=code("columns.py"),
        script:
            "../scripts/columns.py"
