# Classifies new objects with the final model, as `kreinflow classify` does: those that the config
# asks for, and the sequences of the data set that have no label.
# needs: model.safetensors, a FASTA or matrix of the user's
# makes: classified/NAME.tsv (one row an object; its columns are in docs/classify.md),
#        dataset/unlabelled.fasta

CLASSIFIED = [path for dataset in DATASETS for path in PLANS[dataset].classified]
UNLABELLED_TABLES = [path for path in CLASSIFIED if Path(path).stem == UNLABELLED]


rule write_unlabelled:
    input:
        lambda wildcards: source_files(wildcards.dataset),
    output:
        f"{HERE}/dataset/{UNLABELLED}.fasta",
    log:
        f"{HERE}/logs/{UNLABELLED}.log",
    benchmark:
        f"{HERE}/times/{UNLABELLED}.tsv"
    conda:
        "../envs/alignment.yaml"
    threads: 1
    resources:
        mem_mb=reading_memory,
        runtime=scale(10, 0.1),
    params:
        settings=setting("source"),
        scoring=setting("scoring"),
        data=str(DATA),
        seed=CONFIG["seed"],
        code=code("unlabelled.py"),
    script:
        "../scripts/unlabelled.py"


rule classify_new:
    input:
        model=f"{HERE}/model.safetensors",
        new=lambda wildcards: plan(wildcards).to_classify(wildcards.name),
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
        mem_mb=scale(BASE_MB, 40),
        runtime=scale(10, 10),
    params:
        backend=CONFIG["alignment"]["backend"],
        strand=lambda wildcards: CONFIG["classify"].get(wildcards.name, {}).get("strand", "given"),
        code=code("classify.py"),
    script:
        "../scripts/classify.py"
