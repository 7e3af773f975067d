# Reads and checks the input.
# needs: the user's files (one that the config gives a URL for is downloaded), or nothing
#        (simulated, generated)
# makes: dataset/records.tsv (id, label, distinct row), dataset/distinct.tsv, dataset/summary.json;
#        for a matrix also dataset/matrix.npy, for vectors dataset/vectors.npy


PATHS = ("fasta", "swissprot", "matrix", "vectors")
"""The keys of a source that name its files."""


def source_files(dataset):
    """The user's files of a data set, as inputs of the rule that reads them."""
    source = SOURCES[dataset]
    paths = next((source[key] for key in PATHS if key in source), [])
    paths = [paths] if isinstance(paths, str) else list(paths)
    labels = source.get("labels", {})
    paths += [p for p in (labels.get("table"), labels.get("lines")) if p]
    files = [DATA / p for p in paths]
    return [
        str(file)
        for path in files
        for file in (sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path])
    ]


def reading_memory(wildcards, input, attempt):
    """A flat file is read entry by entry, packed tightly, and little of it is kept."""
    per_mb = 6 if SOURCES[wildcards.dataset]["type"] == "swissprot" else 40
    return int((BASE_MB + per_mb * present_mb(input)) * attempt)


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
