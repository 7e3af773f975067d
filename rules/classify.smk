# Classifies new objects with the final model, as `kreinflow classify` does: those that the config
# asks for, and the sequences of the data set that have no label. A request of several parts has a
# job for each of them (`--shard`), and one that joins their tables.

CLASSIFIED = [path for dataset in DATASETS for path in PLANS[dataset].classified]
UNLABELLED_TABLES = [path for path in CLASSIFIED if Path(path).stem == UNLABELLED]


rule classify_new:
    input:
        unpack(records_apart),
        model=f"{HERE}/model.safetensors",
        new=requested("input"),
        vectors=requested("vectors"),
    output:
        f"{HERE}/classified/{{name}}.tsv",
    log:
        f"{HERE}/logs/classify.{{name}}.log",
    benchmark:
        f"{HERE}/times/classify.{{name}}.tsv"
    wildcard_constraints:
        name=r"[^/]+",
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        **asks("classify_new", classification_cost),
    params:
        backend=CONFIG["alignment"]["backend"],
        asked=lambda wildcards: plan(wildcards).source.asked,
        data=str(DATA),
        strand=requested("strand"),
        part=lambda wildcards: wildcards.get("part", "1-of-1"),
        code=code("classify.py"),
    script:
        "../scripts/classify.py"


use rule classify_new as classify_part with:
    output:
        temp(f"{HERE}/classified/{{name}}/{{part}}.tsv"),
    log:
        f"{HERE}/logs/classify.{{name}}/{{part}}.log",
    benchmark:
        f"{HERE}/times/classify.{{name}}/{{part}}.tsv"
    resources:
        **asks("classify_part", classification_cost),


rule join_parts:
    input:
        lambda wildcards: plan(wildcards).parts(wildcards.name),
    output:
        f"{HERE}/classified/{{name}}.tsv",
    log:
        f"{HERE}/logs/classify.{{name}}.log",
    benchmark:
        f"{HERE}/times/classify.{{name}}.tsv"
    wildcard_constraints:
        name=one_of(name for name, request in CONFIG["classify"].items() if request["parts"] > 1),
    conda:
        "../envs/report.yaml"
    resources:
        **asks("join_parts", mb=0, seconds=0.02),
    params:
        code=code("join_parts.py"),
    script:
        "../scripts/join_parts.py"


ruleorder: join_parts > classify_new
