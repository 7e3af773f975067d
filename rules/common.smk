# What all stages share: the checked configuration, the plan of each data set, names of files,
# digests of code.
import fcntl
import math
import os
import shlex
import signal
import sys
import threading
from copy import deepcopy
from pathlib import Path

# Until all rules are read nothing has begun: Ctrl-C ends Snakemake at once, without a traceback.
READING = (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
)
if READING:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def refuse(error):
    """End with exit code 2 and one message: the user's fault, found before any job."""
    sys.stdout.flush()
    print(f"kreinflow input error: {error}", file=sys.stderr, flush=True)
    if workflow.scheduler:  # Snakemake holds its own lock by now, and would not release it
        workflow.persistence.unlock()
    os._exit(2)


if os.path.isfile(sys.executable):  # Snakemake writes it into commands as it is
    sys.executable = shlex.quote(sys.executable)

VERSION = "0.12.0"  # of these rules and scripts, which go with a library of the same version

# The library of a clone is beside its rules. An installed workflow, or one from a server, has none:
# there it is the installed one, which the scripts find too. Snakemake puts its own site-packages
# behind those of the script's environment.
_RULES = str(workflow.current_basedir)
_clone = os.path.abspath(f"{_RULES}/../lib")
if os.path.isdir(f"{_clone}/kreinflow"):
    sys.path.insert(0, _clone)
os.environ.pop("KREINFLOW_JOB", None)  # that of the run which started this one

try:
    import kreinflow

    _installed = kreinflow.__version__
except ModuleNotFoundError:
    _installed = "none"
if _installed != VERSION:
    refuse(
        f"this workflow is of kreinflow {VERSION}, and the Python of Snakemake ({sys.executable}) has "
        f"{_installed}. Run: {sys.executable} -m pip install kreinflow=={VERSION}"
    )

from kreinflow.compare.kinds import HOMOLOGY, kind_of_folds, twins_of
from kreinflow.config.configuration import complete_configuration, read_configuration
from kreinflow.base.errors import InputError
from kreinflow.files.failures import FAILURES
from kreinflow.config.plan import UNLABELLED, DatasetPlan
from kreinflow.config.paths import check_files
from kreinflow.files.provenance import code_digest, file_sha256
from kreinflow.sequences.partition import ALL

os.environ.update(KREINFLOW_JOB="yes")  # for scripts: see lib/kreinflow/__init__.py
LIBRARY = str(Path(kreinflow.__file__).parents[1])
if LIBRARY == _clone:
    # Scripts import the very tree whose digest is in their params, whatever pip or conda installed.
    _before = dict(os.environ).get("PYTHONPATH", "")
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [LIBRARY, _before])))


# Used as a module: see docs/module.md.
MODULE = None if workflow.modifier.is_main_snakefile() else workflow.modifier.namespace


def on_disk(folder):
    """Where Snakemake has a folder that rules name: below the prefix of a module, if it has one."""
    return workflow.modifier.path_modifier.replace_prefix(f"{folder}/").rstrip("/")


# The image of all rules, also where this is a module of another workflow; docs/environments.md.
container: f"docker://kreinflow/kreinflow:{VERSION}"


try:
    for _path in [] if MODULE else workflow.configfiles:
        read_configuration(_path)  # refuses keys that stand twice; Snakemake keeps the last one
    CONFIG = complete_configuration(
        config, f"module {MODULE}" if MODULE else ", ".join(map(str, workflow.configfiles))
    )
    ASKED = deepcopy(CONFIG)  # as the user has it: what follows here is not in it
    RESULTS = CONFIG["results"].rstrip("/")
    WRITTEN = on_disk(RESULTS)
    if on_disk(CONFIG["data"]) != CONFIG["data"].rstrip("/"):
        # The prefix of a module is for what it writes: Snakemake leaves absolute paths alone.
        CONFIG["data"] = os.path.abspath(CONFIG["data"])
    DATA = Path(CONFIG["data"])
    TWINS = twins_of(CONFIG["datasets"])
    CONFIG["datasets"] = CONFIG["datasets"] | {
        twin: part for twins in TWINS.values() for twin, part in twins.items()
    }
    PLANS = {name: DatasetPlan(CONFIG, name) for name in CONFIG["datasets"]}
    # A file that is not there may be made by another rule of the workflow that has this module.
    if not MODULE or all(path.exists() for p in PLANS.values() for path in p.source.files()):
        check_files(CONFIG | {"results": WRITTEN}, DATA)
    for _dataset in CONFIG["datasets"].values():
        # The content of a user's substitution matrix is a parameter of all rules that score.
        _file = DATA / _dataset["scoring"]["matrix"]
        if _file.is_file():
            _dataset["scoring"]["matrix_sha256"] = file_sha256(_file)
    for _plan in PLANS.values():
        _plan.folds  # reads the user's table of folds, if there is one
        if MODULE:  # the files may be made by others, and then their size would change the rules
            _plan.file_bytes = math.inf
except InputError as error:
    refuse(error)


def tell(**what):
    """Tell `kreinflow run`, by Snakemake's logger; without a text nothing else shows it."""
    logger.info(None, extra={"kreinflow": what})


tell(config=ASKED, results=os.path.abspath(WRITTEN))
HERE = f"{RESULTS}/{{dataset}}"  # the folder of a rule's data set
DATASETS = list(ASKED["datasets"])
DOWNLOADS = {  # by what follows the root of an absolute data folder
    str(file).removeprefix(DATA.anchor): download
    for plan in PLANS.values()
    for file, download in plan.source.downloads().items()
}


def one_of(names):
    """A wildcard constraint: these names, and nothing else."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    dataset=one_of(PLANS),
    selector=one_of(CONFIG["selectors"]),
    fold=r"r\d+f\d+|all",
    block=r"\d+",


def code(script):
    """The digest of a script and of the library modules it imports, as a param: changed content
    reruns a rule, a new time stamp does not."""
    path = f"{_RULES}/../scripts/{script}"
    return code_digest(
        path if os.path.isfile(path) else workflow.source_path(f"../scripts/{script}")
    )


def plan(wildcards):
    """The plan of a rule's data set."""
    return PLANS[wildcards.dataset]


def scoring_threads(wildcards):
    """Those of a job that scores: the user's own score is asked by one, so that blocks run side by side."""
    return 1 if plan(wildcards).source.asked else CONFIG["alignment"]["threads"]


def learning_threads(wildcards):
    """Those of a job that trains recipes: more than the config says where cores would wait, for the inner
    folds of larger files. The final model has them, and the recipe that a stop waits for."""
    own, given = plan(wildcards), CONFIG["learning"]["threads"]
    if own.in_few_jobs:
        return given
    waits = own.folds[0] if "first_columns" in own.column_stages else None
    jobs = 1 if wildcards.fold in (ALL, waits) else len(own.folds)
    spare = (workflow.resource_settings.cores or 1) // jobs
    return max(given, min(CONFIG["inner_folds"], spare))


def setting(key):
    """A part of the data set's configuration, as a param."""
    return lambda wildcards: plan(wildcards).settings[key]


def requested(key):
    """What a request for new objects asks for, as an input or a param."""
    return lambda wildcards: plan(wildcards).request(wildcards.name)[key]


def given(keys):
    """Several params: settings of the data set, or of the whole config, by their keys."""
    known = {**CONFIG, "data": str(DATA), "backend": CONFIG["alignment"]["backend"]}
    own = next(iter(CONFIG["datasets"].values()))
    return {key: setting(key) if key in own else known[key] for key in keys.split()}


def shown(wildcards):
    """The part of the config that figures of a data set depend on."""
    part = {key: ASKED[key] for key in ("prefer", "recipes", "learners")}
    return part | {"datasets": {wildcards.dataset: ASKED["datasets"][wildcards.dataset]}}


def of_datasets(file):
    return [f"{RESULTS}/{dataset}/{file}" for dataset in DATASETS]


def of_folds(stage, ending):
    return [path for dataset in DATASETS for path in PLANS[dataset].of_folds(stage, ending)]


def of_fold(stage, ending):
    """What a stage made in the rule's fold, else for the final model: a file for each selector."""
    return lambda wildcards: plan(wildcards).of_folds(stage, ending, wildcards.get("fold", ALL))


def dataset_files(wildcards):
    """The data set as an input. Not the records alone: they stay the same when a residue, or an
    entry of a matrix, changes. The summary has the checksums of the user's files in it."""
    folder = f"{plan(wildcards).folder}/dataset"
    return {
        "records": f"{folder}/records.tsv",
        "distinct": f"{folder}/distinct.tsv",
        "summary": f"{folder}/summary.json",
    }


def records_apart(wildcards):
    """The data set, where a recipe leaves the residues of its training records out of the model."""
    cascades = [recipe["cascade"] for recipe in plan(wildcards).cascades()]
    return dataset_files(wildcards) if any(c["records"] == "apart" for c in cascades) else {}


def unknown_files(wildcards):
    """The data set with the classes that are held out as unknown."""
    files = plan(wildcards).files_with_unknown()
    return {name: f"{plan(wildcards).folder}/{file}" for name, file in files.items()}


def column_files(wildcards):
    """What learning reads beside the landmarks of its fold: data set, folds and columns."""
    own = getattr(wildcards, "fold", ALL), getattr(wildcards, "selector", None)
    folder = plan(wildcards).columns(*own)
    return dataset_files(wildcards) | {
        "folds": f"{plan(wildcards).folder}/folds.tsv",
        "columns": f"{folder}/scores.npy",
        "union": f"{folder}/landmarks.tsv",
        "self_scores": f"{folder}/self_scores.npy",
    }


def trained_here(wildcards):
    """The selectors whose recipes a job trains."""
    own = getattr(wildcards, "selector", None)
    return plan(wildcards).trained_selectors if own is None else [own]


def race_of(fold):
    """The table of the recipes that a job trains or leaves out, if any may be left out."""
    return lambda wildcards: plan(wildcards).race(
        wildcards.get("fold", fold), wildcards.get("selector")
    )


def recipes_here(wildcards):
    """The recipes that a job trains."""
    return [recipe for name in trained_here(wildcards) for recipe in plan(wildcards).recipes(name)]


def of_compared(file):
    """A file of each data set and of its twins with other folds."""
    return [f"{RESULTS}/{twin}/{file}" for kinds in KINDS.values() for twin in kinds]


def of_all_methods(ending):
    """The files of each kind of folds, method and fold, in this order."""
    return [
        f"{RESULTS}/{twin}/compare/{method}/{fold}.{ending}"
        for kinds in KINDS.values()
        for twin in kinds
        for method in (OURS, *COMPETITORS)
        for fold in PLANS[twin].folds
        if fold != ALL
    ]


def drawn(name):
    """A figure as an output, and as an item of the report of Snakemake."""
    place = {"category": "{dataset}", "labels": {"figure": name}}
    return report(f"{HERE}/figures/{name}.svg", caption="../report/figure.rst", **place)


# Of this process: a Snakefile is read once more for each `use rule` that names its module.
LOCKS = workflow.__dict__.setdefault("kreinflow_locks", {})


def _hold_lock():
    """Refuse two runs in one results folder. The kernel drops the lock when the process dies,
    so nothing has to be unlocked after a kill."""
    if WRITTEN in LOCKS:
        return
    try:
        Path(WRITTEN).mkdir(parents=True, exist_ok=True)
        LOCKS[WRITTEN] = open(f"{WRITTEN}/.lock", "w")
    except OSError as error:
        refuse(f"results: {WRITTEN}: cannot be written ({error.strerror}). Set other 'results'.")
    try:
        fcntl.flock(LOCKS[WRITTEN], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        refuse(f"{WRITTEN}: another run is writing there. Wait for it, or set other 'results'.")


def _listen():
    """Hear of each failed job why it failed, from the executors of this run."""
    for name in ("_executor", "_local_executor"):
        if executor := getattr(workflow.scheduler, name, None):
            FAILURES.listen(executor)


onstart:
    _hold_lock()
    _listen()


onerror:
    FAILURES.show()
    tell(exit_code=FAILURES.exit_code)


def _after(hook, own):
    return lambda log: (hook(log), own())


if MODULE:  # Snakemake runs the hooks of the main Snakefile alone
    workflow._onstart = _after(workflow._onstart, globals()["onstart"])
    workflow._onerror = _after(workflow._onerror, globals()["onerror"])
