# Reads and checks the input.
# needs: the user's files (one that the config gives a URL for is downloaded), or nothing
#        (simulated, generated)
# makes: dataset/records.tsv (id, label, distinct row), dataset/distinct.tsv, dataset/summary.json;
#        for a matrix also dataset/matrix.npy, for vectors dataset/vectors.npy


# Downloads what the config names and is not there, on the machine that has the network. No digest
# of code is a parameter: a changed module is no reason to download again.
rule download:
    output:
        "{file}",
    log:
        f"{RESULTS}/logs/download/{{file}}.log",
    wildcard_constraints:
        file=one_of(DOWNLOADS),
    localrule: True
    conda:
        "../envs/alignment.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=720,
    params:
        download=lambda wildcards: DOWNLOADS[wildcards.file],
    script:
        "../scripts/download.py"


rule read_dataset:
    input:
        lambda wildcards: source_files(wildcards.dataset),
    output:
        records=f"{HERE}/dataset/records.tsv",
        distinct=f"{HERE}/dataset/distinct.tsv",
        summary=f"{HERE}/dataset/summary.json",
    log:
        f"{HERE}/logs/dataset.log",
    benchmark:
        f"{HERE}/times/dataset.tsv"
    wildcard_constraints:
        dataset=one_of([d for d in SOURCES if d not in MATRICES + VECTORS]),
    conda:
        "../envs/alignment.yaml"
    threads: 1
    resources:
        mem_mb=reading_memory,
        runtime=scale(10, 0.1),
    params:
        settings=setting("source"),
        unknown=setting("unknown"),
        scoring=setting("scoring"),
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("dataset.py"),
    script:
        "../scripts/dataset.py"


use rule read_dataset as read_matrix with:
    output:
        records=f"{HERE}/dataset/records.tsv",
        distinct=f"{HERE}/dataset/distinct.tsv",
        summary=f"{HERE}/dataset/summary.json",
        matrix=f"{HERE}/dataset/matrix.npy",
    wildcard_constraints:
        dataset=one_of(MATRICES),


use rule read_dataset as read_vectors with:
    output:
        records=f"{HERE}/dataset/records.tsv",
        distinct=f"{HERE}/dataset/distinct.tsv",
        summary=f"{HERE}/dataset/summary.json",
        vectors=f"{HERE}/dataset/vectors.npy",
    wildcard_constraints:
        dataset=one_of(VECTORS),
