# Reads and checks the input.

# Outputs cannot depend on a wildcard, so each set of them has a rule.
READERS = {}
for _dataset, _plan in PLANS.items():
    _name, _files = _plan.files_read(learned_alone=_dataset not in DATASETS)
    READERS.setdefault(_name, (_files, []))[1].append(_dataset)


# Downloads what the config names and is not there, on the machine that has the network. No digest
# of code is a parameter: a changed module is no reason to download again.
rule download:
    output:
        f"{DATA.anchor}{{file}}",
    log:
        f"{RESULTS}/logs/download/{{file}}.log",
    wildcard_constraints:
        file=one_of(DOWNLOADS),
    localrule: True
    conda:
        "../envs/alignment.yaml"
    resources:
        **asks("download", lambda w, _: Cost(4 * 3600)),
    params:
        download=lambda wildcards: DOWNLOADS[wildcards.file],
    script:
        "../scripts/download.py"


for _name, (_files, _datasets) in READERS.items():

    rule:
        name:
            _name
        input:
            lambda wildcards: [*map(str, plan(wildcards).source.files()), *plan(wildcards).vectors],
        output:
            **{name: f"{HERE}/{file}" for name, file in _files.items()},
        log:
            f"{HERE}/logs/dataset.log",
        benchmark:
            f"{HERE}/times/dataset.tsv"
        wildcard_constraints:
            dataset=one_of(_datasets),
        conda:
            "../envs/alignment.yaml"
        resources:
            **asks(_name, reading_cost),
        params:
            **given("source unknown scoring data seed"),
            separator=lambda wildcards: plan(wildcards).separator,
            small=lambda wildcards: plan(wildcards).small,
            vectors=lambda wildcards: plan(wildcards).vectors,
            code=code("dataset.py"),
        script:
            "../scripts/dataset.py"
