# Reads and checks the input.
# needs: the user's files (one that the config gives a URL for is downloaded), or nothing
#        (simulated, generated)
# makes: dataset/records.tsv (id, label, distinct row), dataset/distinct.tsv, dataset/summary.json;
#        for a matrix also dataset/matrix.npy, for vectors dataset/vectors.npy; where records
#        without a label are to be classified dataset/unlabelled.fasta; where classes are held out
#        as unknown the same files of the data set with them in unknown/dataset/


# Downloads what the config names and is not there, on the machine that has the network. No digest
# of code is a parameter: a changed module is no reason to download again.
rule download:
    output:
        "{file}",
    log:
        f"{RESULTS}/logs/download/{{file}}.log",
    wildcard_constraints:
        file="|".join(map(re.escape, DOWNLOADS)) or "(?!)",
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


# Outputs cannot depend on a wildcard, so each set of them has a rule.
for _name, _datasets in READERS.items():

    rule:
        name:
            _name
        input:
            lambda wildcards: source_files(wildcards.dataset),
        output:
            **made_by_reading(_datasets[0]),
        log:
            f"{RESULTS}/{{dataset}}/logs/dataset.log",
        benchmark:
            f"{RESULTS}/{{dataset}}/times/dataset.tsv"
        wildcard_constraints:
            dataset="|".join(map(re.escape, _datasets)),
        conda:
            "../envs/alignment.yaml"
        threads: 1
        resources:
            mem_mb=reading_memory,
            runtime=scale(10, 0.1),
        params:
            settings=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["source"],
            unknown=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["unknown"],
            scoring=lambda wildcards: CONFIG["datasets"][wildcards.dataset]["scoring"],
            data=str(DATA),
            seed=CONFIG["seed"],
            code=code("dataset.py"),
        script:
            "../scripts/dataset.py"
