# kreinflow: from labelled sequences, or a matrix, to a report and a model.
#   snakemake --cores all                                   the demonstration of config.yaml
#   snakemake --cores all --configfile mine.yaml            your own data
#   snakemake landmarks --cores all                         one stage: see the names below
from snakemake.utils import min_version

min_version("9.27")


# A config file from the command line stands alone: merged with config.yaml, its
# demonstration would run too.
if not workflow.configfiles:

    configfile: f"{workflow.current_basedir}/config.yaml"


include: "rules/common.smk"
include: "rules/resources.smk"
include: "rules/dataset.smk"
include: "rules/folds.smk"
include: "rules/alignment.smk"
include: "rules/landmarks.smk"
include: "rules/model.smk"
include: "rules/race.smk"
include: "rules/final_model.smk"
include: "rules/evaluation.smk"
include: "rules/unknown.smk"
include: "rules/levels.smk"
include: "rules/classify.smk"
include: "rules/report.smk"
include: "rules/compare.smk"


if READING:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TARGETS = {
    "all": [rules.write_report.output, of_datasets("model.safetensors"), CLASSIFIED],
    "dataset": of_datasets("dataset/records.tsv"),
    "folds": of_datasets("folds.tsv"),
    "alignment": of_datasets("columns/scores.npy"),
    "landmarks": of_folds("landmarks", "tsv"),
    "factor": of_folds("factors", "tsv"),
    "correction": of_folds("factors", "spectrum.tsv"),
    "model": of_folds("models", "safetensors"),
    "evaluation": of_datasets("evaluation/summary.tsv"),
    "final_model": of_datasets("model.safetensors"),
    "classify": CLASSIFIED,
    "compare": f"{RESULTS}/compare.html",
}

for _name, _files in TARGETS.items():

    rule:
        name:
            _name
        input:
            _files,
