# What all stages share: the checked configuration, names of folds and files, digests of code.
# needs: config          makes: nothing
import fcntl
import json
import os
import shutil
import sys
from pathlib import Path

LIBRARY = str(Path(workflow.basedir) / "lib")
# Scripts import the very tree whose digest is in their params, whatever pip or conda installed.
_before = [dict(os.environ)["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []
os.environ.update(PYTHONPATH=os.pathsep.join([LIBRARY, *filter(None, _before)]))
sys.path.insert(0, LIBRARY)

from kreinflow.competitors.kinds import HOMOLOGY, kind_of_folds, twins_of
from kreinflow.configuration import UNLABELLED, complete_configuration, read_configuration
from kreinflow.errors import InputError
from kreinflow.landmarks.selector import count_landmarks
from kreinflow.learners.registry import make_learner
from kreinflow.numerics import square_mb
from kreinflow.provenance import code_digest, file_sha256
from kreinflow.sequences.files import check_file, check_results
from kreinflow.sequences.folds import check_groups, count_folds
from kreinflow.sequences.partition import ALL, fold_name
from kreinflow.sequences.sources.registry import make_source


def refuse(error):
    """End with exit code 2 and one message: the user's fault, found before any job."""
    sys.stdout.flush()
    print(f"kreinflow input error: {error}", file=sys.stderr, flush=True)
    os._exit(2)


try:
    for _path in workflow.configfiles:
        read_configuration(_path)  # refuses keys that stand twice; Snakemake keeps the last one
    CONFIG = complete_configuration(config, ", ".join(map(str, workflow.configfiles)))
    DATA = Path(CONFIG["data"])
    check_results(Path(CONFIG["results"]))
    ASKED = dict(CONFIG)  # as the user has it: nothing of the target `compare`
    DATASETS = list(CONFIG["datasets"])
    TWINS = twins_of(CONFIG["datasets"])
    CONFIG["datasets"] = CONFIG["datasets"] | {
        twin: part for twins in TWINS.values() for twin, part in twins.items()
    }
    for _dataset in CONFIG["datasets"].values():
        make_source(_dataset["source"], DATA).check()
        check_groups(_dataset["folds"], _dataset["source"], DATA)
        # The content of a user's substitution matrix is a parameter of all rules that score.
        _file = DATA / _dataset["scoring"]["matrix"]
        if _file.is_file():
            _dataset["scoring"]["matrix_sha256"] = file_sha256(_file)
    for _request in CONFIG["classify"].values():
        check_file(DATA / _request["input"])
    for _selector in CONFIG["selectors"].values():
        if "table" in _selector:
            check_file(DATA / _selector["table"])
    FOLDS = {
        name: [*(fold_name(*numbers) for numbers in count_folds(part["folds"], DATA)), ALL]
        for name, part in CONFIG["datasets"].items()
    }
except InputError as error:
    refuse(error)

RESULTS = CONFIG["results"].rstrip("/")
SOURCES = {name: part["source"] for name, part in CONFIG["datasets"].items()}
SEQUENCES = [name for name, source in SOURCES.items() if make_source(source).aligned]
WITH_UNKNOWN = [name for name in DATASETS if CONFIG["datasets"][name]["unknown"]]
BLOCKS = range(CONFIG["alignment"]["blocks"])
DOWNLOADS = {
    str(file): download
    for source in SOURCES.values()
    for file, download in make_source(source, DATA).downloads().items()
}
KINDS = {
    name: {twin: kind_of_folds(CONFIG["datasets"][twin]["folds"]) for twin in [name, *twins]}
    for name, twins in TWINS.items()
}
HOMOLOGY_TWINS = [f"{name}+{HOMOLOGY}" for name in TWINS if f"{name}+{HOMOLOGY}" in TWINS[name]]
RECIPES = {recipe["name"]: recipe for recipe in CONFIG["recipes"]}


wildcard_constraints:
    dataset="|".join(map(re.escape, SOURCES)),
    selector="|".join(map(re.escape, CONFIG["selectors"])),
    fold=r"r\d+f\d+|all",
    block=r"\d+",


def code(script):
    """The digest of a script and of the library modules it imports, as a param: changed content
    reruns a rule, a new time stamp does not."""
    return code_digest(str(Path(workflow.basedir) / "scripts" / script))


def recipes_of(dataset, selector=None):
    names = CONFIG["datasets"][dataset]["recipes"]
    return [RECIPES[n] for n in names if selector in (None, RECIPES[n]["selector"])]


def selectors_of(dataset):
    """The selectors of the data set's recipes, and those whose number of landmarks they take."""
    used = [recipe["selector"] for recipe in recipes_of(dataset)]
    used += [b for s in used if isinstance(b := CONFIG["selectors"][s].get("budget"), str)]
    return list(dict.fromkeys(used))


def trained_selectors_of(dataset):
    return list(dict.fromkeys(recipe["selector"] for recipe in recipes_of(dataset)))


def most_wanted(dataset, key):
    """What the selectors ask for in "candidates" (a class and fold) or "sketch" (a fold): a
    number, None for all, 0 if nobody asks."""
    settings = [CONFIG["selectors"][s] for s in selectors_of(dataset)]
    asked = [selector[key] for selector in settings if key in selector]
    return 0 if not asked else None if None in asked else max(asked)


def scores_to_choose_by(dataset):
    """Whether any selector looks at scores, which are then aligned before the columns."""
    return any(most_wanted(dataset, key) != 0 for key in ("candidates", "sketch"))


def transforms_wanted(dataset):
    """The score transforms of the recipes and of the selectors."""
    wanted = [recipe["transform"] for recipe in recipes_of(dataset)]
    wanted += [CONFIG["selectors"][s].get("transform", "raw") for s in selectors_of(dataset)]
    return sorted(set(wanted))


def class_scores(wildcards):
    """The class blocks, if any selector needs them and they have to be aligned."""
    if wildcards.dataset not in SEQUENCES or not scores_to_choose_by(wildcards.dataset):
        return []
    return expand(
        f"{RESULTS}/{wildcards.dataset}/alignment/class_scores.{{block}}.json", block=BLOCKS
    )


def columns_aligned(wildcards):
    if wildcards.dataset not in SEQUENCES:
        return []
    return expand(f"{RESULTS}/{wildcards.dataset}/alignment/columns.{{block}}.json", block=BLOCKS)


def landmark_tables(wildcards):
    return of_dataset(wildcards.dataset, "landmarks", "tsv", selectors_of)


def landmarks_to_match(wildcards):
    """The landmarks of the selector whose number this one takes."""
    budget = CONFIG["selectors"][wildcards.selector].get("budget")
    if not isinstance(budget, str):
        return []
    return f"{RESULTS}/{wildcards.dataset}/landmarks/{budget}/{wildcards.fold}.tsv"


def given_table(selectors):
    """The user's tables of landmarks, as inputs of the rules that read them."""
    settings = [CONFIG["selectors"][selector] for selector in selectors]
    return [str(DATA / selector["table"]) for selector in settings if "table" in selector]


def of_datasets(file):
    return [f"{RESULTS}/{dataset}/{file}" for dataset in DATASETS]


def of_kinds(dataset, file):
    """A file of a data set with each kind of folds that the comparison has."""
    return [f"{RESULTS}/{twin}/{file}" for twin in KINDS[dataset]]


def of_dataset(dataset, stage, ending, selectors=trained_selectors_of):
    return [
        f"{RESULTS}/{dataset}/{stage}/{selector}/{fold}.{ending}"
        for selector in selectors(dataset)
        for fold in FOLDS[dataset]
    ]


def of_tested(dataset, stage, ending):
    """As of_dataset, of the outer folds alone."""
    return [
        path for path in of_dataset(dataset, stage, ending) if Path(path).name != f"{ALL}.{ending}"
    ]


def of_folds(stage, ending):
    return [path for dataset in DATASETS for path in of_dataset(dataset, stage, ending)]


def timed_jobs(dataset):
    """The names of the benchmarks of a run; the folder may hold those of an earlier config too."""
    blocks = BLOCKS if dataset in SEQUENCES else []
    asked = blocks if scores_to_choose_by(dataset) else []
    folds = [
        f"{stage}.{selector}.{fold}"
        for stage, selectors in {
            "landmarks": selectors_of(dataset),
            "factor": trained_selectors_of(dataset),
            "model": trained_selectors_of(dataset),
        }.items()
        for selector in selectors
        for fold in FOLDS[dataset]
    ]
    return [
        *("dataset", "folds", "candidates"),
        *(f"class_scores.{block}" for block in asked),
        *(f"columns.{block}" for block in blocks),
        *("columns", *folds, "evaluation", "final_model", "map"),
        *(("unknown_scores", "unknown") if dataset in WITH_UNKNOWN else ()),
        *(f"classify.{Path(path).stem}" for path in classified_of(dataset)),
    ]


def timed_products(wildcards):
    """What the last of these jobs make, but for figures and page, which show the times."""
    files = ["evaluation/summary.tsv", "model.safetensors", "map.json"]
    files += ["unknown/summary.tsv"] if wildcards.dataset in WITH_UNKNOWN else []
    folder = f"{RESULTS}/{wildcards.dataset}"
    return [*(f"{folder}/{file}" for file in files), *classified_of(wildcards.dataset)]


def has_unlabelled(dataset):
    return SOURCES[dataset].get("unmatched") == "classify"


def unlabelled():
    """The sequences without a label, classified, of the data sets that ask for it."""
    return [
        f"{RESULTS}/{dataset}/classified/{UNLABELLED}.tsv"
        for dataset in DATASETS
        if has_unlabelled(dataset)
    ]


def classified_of(dataset):
    """All that the final model of a data set classifies."""
    return [path for path in classified() if path.startswith(f"{RESULTS}/{dataset}/")]


def to_classify(wildcards):
    """What a request names, or the sequences of the data set that have no label."""
    if f"{RESULTS}/{wildcards.dataset}/classified/{wildcards.name}.tsv" in unlabelled():
        return f"{RESULTS}/{wildcards.dataset}/dataset/{UNLABELLED}.fasta"
    return str(DATA / CONFIG["classify"][wildcards.name]["input"])


def classified():
    return unlabelled() + [
        f"{RESULTS}/{request['dataset']}/classified/{name}.tsv"
        for name, request in CONFIG["classify"].items()
    ]


def dataset_files(wildcards):
    """The data set as an input. Not the records alone: they stay the same when a residue, or an
    entry of a matrix, changes. The summary has the checksums of the user's files in it."""
    folder = f"{RESULTS}/{wildcards.dataset}/dataset"
    return {
        "records": f"{folder}/records.tsv",
        "distinct": f"{folder}/distinct.tsv",
        "summary": f"{folder}/summary.json",
    }


def source_files(dataset):
    """The user's files of a data set, as inputs of the rule that reads them."""
    return list(map(str, make_source(SOURCES[dataset], DATA).files()))


def tables_of(dataset, folder, key="{}"):
    """The files of a data set in a folder, by the names that inputs and outputs have."""
    files = {"records": "records.tsv", "distinct": "distinct.tsv", "summary": "summary.json"}
    array = make_source(SOURCES[dataset], DATA).array
    files |= {"array": array} if array else {}
    return {
        key.format(name): f"{RESULTS}/{{dataset}}/{folder}/{file}" for name, file in files.items()
    }


def dataset_with_unknown(dataset):
    """The data set with the classes that are held out as unknown; nothing if none are."""
    if dataset not in WITH_UNKNOWN:
        return {}
    return tables_of(dataset, "unknown/dataset", "unknown_{}")


def made_by_reading(dataset):
    """All that one look at the user's files makes."""
    files = tables_of(dataset, "dataset") | dataset_with_unknown(dataset)
    if dataset in DATASETS and has_unlabelled(dataset):
        files["unlabelled"] = f"{RESULTS}/{{dataset}}/dataset/{UNLABELLED}.fasta"
    return files


def rule_that_reads(dataset):
    """The name of the rule, which tells what it makes beside the tables."""
    files = made_by_reading(dataset)
    array = Path(files.get("array", "dataset")).stem
    more = [part for part in ("unlabelled", "unknown_records") if part in files]
    return "_".join(["read", array, *(part.removesuffix("_records") for part in more)])


READERS = {}
"""The data sets by the rule that reads them."""
for _name in SOURCES:
    READERS.setdefault(rule_that_reads(_name), []).append(_name)


def fold_table(dataset):
    """The user's table of folds, or of labels with a column of groups, if there is one."""
    folds, labels = CONFIG["datasets"][dataset]["folds"], SOURCES[dataset].get("labels", {})
    table = folds["table"] if folds["method"] == "table" else None
    if folds["method"] == "grouped" and folds["column"] is not None:
        table = labels.get("table")
    return [str(DATA / table)] if table else []


def tool_version(wildcards):
    """The version of a competitor, or why it cannot run: a tool that is installed later makes its
    rows run again."""
    from kreinflow.competitors.registry import version_or_reason

    return version_or_reason(wildcards.competitor)


def present_mb(input):
    """Megabytes of the inputs, which have N, m and the lengths in them. In a group of rules that
    follow each other some are yet to be made: they count nothing, but do not leave the rule without
    resources, as `input.size_mb` would."""
    return sum(path.stat().st_size for path in map(Path, input) if path.exists()) / 1e6


def scale(base, per_mb):
    """A resource that grows with the size of the inputs and with each attempt."""
    return lambda wildcards, input, attempt: int((base + per_mb * present_mb(input)) * attempt)


BASE_MB = 1000
"""Memory of a job beside its matrices: 200 to 400 MB for the libraries that it imports, and on a
cluster 3 x 200 MB for the Snakemakes that stand around it: those of the batch script, of the
step, and, in a group, of the job itself."""

CELLS = 2e9
"""Cells of alignment a second and thread that run times are asked for by. Less than half of what
benchmarks/alignment.py measures: machines differ, and so do lengths."""


def alignment_minutes(pairs):
    """Run time of a block, for a function of the inputs that counts the pairs of all blocks."""

    def minutes(wildcards, input, attempt, threads):
        # In a dry run the file is not there yet: Snakemake takes that, as FileNotFoundError alone.
        statistics = json.loads(Path(input.summary).read_text())["statistics"]
        cells = pairs(input, statistics) * statistics["lengths"].get("mean", 0) ** 2 / len(BLOCKS)
        return int((10 + cells / (60 * CELLS * threads)) * attempt)

    return minutes


def clustering_minutes(wildcards, input, attempt):
    """Run time of the clusters: all pairs of a class are aligned, some twice more, in one thread."""
    statistics = json.loads(Path(input.summary).read_text())["statistics"]
    pairs = sum(size**2 for size in statistics["class_sizes"].values()) / 2
    cells = statistics["lengths"].get("mean", 0) ** 2
    return int((30 + pairs * (1e-4 + 3 * cells / CELLS) / 60) * attempt)


def class_pairs(input, statistics):
    """Members x candidates of each class, and all x the sketch, which has no class."""
    with open(input.candidates) as table:
        classes = [line.partition("\t")[0] for line in table][1:]
    return sum(statistics["class_sizes"].get(name, statistics["distinct"]) for name in classes)


def column_pairs(input, statistics):
    """All x the union of the landmarks, which is not larger than their sum."""
    landmarks = sum(map(count_landmarks, input.landmarks))
    return statistics["distinct"] * min(landmarks, statistics["distinct"])


def unknown_pairs(input, statistics):
    """Records held out as unknown x all landmarks; one job, whatever the number of blocks."""
    unknown = sum(statistics["unknown"].values())
    return unknown * count_landmarks(input.landmarks) * len(BLOCKS)


def reading_memory(wildcards, input, attempt):
    per_mb = make_source(SOURCES[wildcards.dataset]).memory_per_mb
    return int((BASE_MB + per_mb * present_mb(input)) * attempt)


def learning_memory(tiled):
    """Memory of a learning job. What reads tiles stays below learning.memory_mb, whatever the
    number of sequences; other learners hold all rows, in float64 and a few times. Matrices of
    landmarks with landmarks come on top."""

    def megabytes(wildcards, input, attempt):
        rows = 24 * present_mb(input)
        if tiled(wildcards):
            rows = min(rows, CONFIG["learning"]["memory_mb"])
        tables = [input.landmarks] if isinstance(input.landmarks, str) else input.landmarks
        # They are not there in a dry run, nor in a group that is to choose them.
        known = (count_landmarks(table) for table in tables if Path(table).exists())
        squares = square_mb(max(known, default=0))
        return int((BASE_MB + rows + squares) * attempt)

    return megabytes


def learns_by_tiles(wildcards):
    """Whether all learners of a selector's recipes read the factor tile by tile."""
    names = {recipe["learner"] for recipe in recipes_of(wildcards.dataset, wildcards.selector)}
    return all(make_learner(CONFIG["learners"][name]).by_tiles for name in names)


def _hold_lock():
    """Refuse two runs in one results folder. The kernel drops the lock when the process dies,
    so nothing has to be unlocked after a kill."""
    global _LOCK
    try:
        Path(RESULTS).mkdir(parents=True, exist_ok=True)
        _LOCK = open(f"{RESULTS}/.lock", "w")
    except OSError as error:
        refuse(f"results: {RESULTS}: cannot be written ({error.strerror}). Set other 'results'.")
    try:
        fcntl.flock(_LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        refuse(f"{RESULTS}: another run is writing there. Wait for it, or set other 'results'.")


onstart:
    _hold_lock()


def _name_full_disk():
    """Say it where a disk has no room: Snakemake writes files of its own behind each job, and the
    error of these names no file."""
    for folder in (RESULTS, os.getcwd()):
        free = shutil.disk_usage(folder).free
        if free < 1_000_000:
            print(
                f"kreinflow error: {folder}: only {free / 1000:.0f} kB are left on this disk. Free "
                "some space and run the same command again: it goes on where it was.",
                file=sys.stderr,
                flush=True,
            )
            return


onerror:
    _name_full_disk()
