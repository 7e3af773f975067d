# Classifies new objects with the final model, as `kreinflow classify` does: those that the config
# asks for, and the sequences of the data set that have no label.

CLASSIFIED = [path for dataset in DATASETS for path in PLANS[dataset].classified]
UNLABELLED_TABLES = [path for path in CLASSIFIED if Path(path).stem == UNLABELLED]


rule classify_new:
    input:
        unpack(records_apart),
        model=f"{HERE}/model.safetensors",
        new=lambda wildcards: plan(wildcards).to_classify(wildcards.name),
        vectors=lambda wildcards: plan(wildcards).vectors_to_classify(wildcards.name),
    output:
        f"{HERE}/classified/{{name}}.tsv",
    log:
        f"{HERE}/logs/classify.{{name}}.log",
    benchmark:
        f"{HERE}/times/classify.{{name}}.tsv"
    conda:
        "../envs/learning.yaml"
    threads: CONFIG["alignment"]["threads"]
    resources:
        **asks("classify_new", classification_cost),
    params:
        backend=CONFIG["alignment"]["backend"],
        asked=lambda wildcards: plan(wildcards).source.asked,
        data=str(DATA),
        strand=lambda wildcards: CONFIG["classify"].get(wildcards.name, {}).get("strand", "auto"),
        code=code("classify.py"),
    script:
        "../scripts/classify.py"
