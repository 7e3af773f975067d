# The minutes and megabytes that jobs ask a cluster for: figures of a job, for kreinflow/config/costs.py.
# needs: common.smk          makes: nothing
import errno
import json
import sys
from importlib import import_module

import numpy as np
import safetensors

from kreinflow.config import costs
from kreinflow.alignment.scoring import by_parasail
from kreinflow.files.json_files import read_json
from kreinflow.compare.methods import INNER_FOLDS, LEARNER, LIFT, WORDS
from kreinflow.config.costs import BASE_MB, Seconds
from kreinflow.base.errors import InputError
from kreinflow.landmarks.selector import count_landmarks
from kreinflow.learners.registry import make_learner
from kreinflow.sequences.payload import DISTINCT_FILE, VECTORS_FILE


class Late:
    """A module that is imported when it is first used: a run that finds nothing to do estimates
    nothing, and these import all that models are trained by."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        return getattr(import_module(self._name), name)


cascade_costs, lift_costs, relating_costs = (
    Late(f"kreinflow.config.{name}_costs") for name in ("cascade", "lift", "relating")
)


def present_mb(input):
    """Megabytes of the inputs, which have N, m and the lengths in them. In a group of rules that
    follow each other some are yet to be made: they count nothing, but do not leave the rule without
    resources, as `input.size_mb` would."""
    return sum(path.stat().st_size for path in map(Path, input) if path.exists()) / 1e6


def scale(base, per_mb):
    """A resource that grows with the size of the inputs and with each attempt."""
    return lambda wildcards, input, attempt: int((base + per_mb * present_mb(input)) * attempt)


def json_of(path):
    """What a file of a job holds. In a dry run it is not there yet, or is damaged and will be made
    again: Snakemake takes that, as FileNotFoundError with the name alone. Else a damaged file ends
    the run with its message, and no traceback."""
    Path(path).stat()
    try:
        return read_json(path)
    except InputError as error:
        if workflow.dryrun:
            raise FileNotFoundError(errno.ENOENT, str(error), path) from error
        print(error.line(), file=sys.stderr, flush=True)
        sys.exit(error.exit_code)


def statistics_of(input):
    return json_of(input.summary)["statistics"]


# What a queue allows: `--resources max_runtime=120`, or the same line in a profile. Snakemake's own
# `runtime` there would be shared by all jobs that run at a time.
MAX_RUNTIME = workflow.global_resources.get("max_runtime").value
if MAX_RUNTIME is not None and MAX_RUNTIME < 1:
    refuse(f"resources: max_runtime: {MAX_RUNTIME} minutes are no time. Write 120, say.")


def in_line(name, threads, jobs):
    """How many times the run time of a rule its group may ask for. Snakemake sums those of the rules
    that wait for each other, and of jobs of a rule that find no core; `jobs` is their number in each
    part of the group."""
    groups = workflow.group_settings.overwrite_groups
    if name not in groups:
        return 1
    rules_in_it = sum(group == groups[name] for group in groups.values())
    parts = workflow.group_settings.group_components.get(groups[name], 1)
    side_by_side = max(1, (workflow.resource_settings.cores or 1) // threads)
    return rules_in_it * -(-parts * jobs // side_by_side)


JOBS = {}  # of in_line, by the rule


def most_minutes(name, threads):
    """The share that one job has of what the queue allows; None without a limit."""
    if MAX_RUNTIME is None:
        return None
    line = in_line(name, threads, JOBS[name])
    # A job does not ask again: its own Snakemake may have fewer cores.
    if MAX_RUNTIME < line and workflow.is_main_process:
        group = workflow.group_settings.overwrite_groups[name]
        refuse(
            f"resources: max_runtime: {MAX_RUNTIME} minutes are less than the {line} jobs that wait "
            f"for each other in the group {group}, of a minute at least. Set group-components "
            f"{group}=1, or a longer max_runtime."
        )
    return MAX_RUNTIME // line


def check_groups():
    """Refuse groups that cannot keep to the limit, before any job runs."""
    for job in workflow.dag.needrun_jobs():
        if job.rule.name in JOBS:
            most_minutes(job.rule.name, job.threads)


def minutes(name, seconds, jobs=1):
    """Run time of a rule. `seconds` estimates what a job takes, by its wildcards and inputs; see
    in_line for `jobs`."""
    name = workflow.modifier.modify_rulename(name)  # as the user of a module has it
    JOBS[name] = jobs

    def asked(wildcards, input, attempt, threads):
        most = most_minutes(name, threads)
        return costs.minutes(seconds(wildcards, input), threads, attempt, most)

    return asked


def megabytes(estimate):
    """Memory of a rule, by what `estimate` returns for its wildcards and inputs."""
    return lambda wildcards, input, attempt: int(estimate(wildcards, input) * attempt)


def seconds_a_mb(seconds):
    """An estimate by the megabytes of the inputs."""
    return lambda wildcards, input: Seconds(seconds * present_mb(input))


def dataset_seconds(wildcards, input):
    return costs.dataset_seconds(statistics_of(input))


def dataset_mb(wildcards, input):
    return BASE_MB + costs.dataset_mb(statistics_of(input))


def class_pairs(input):
    with open(input.candidates, encoding="utf-8", errors="replace") as table:
        classes = [line.partition("\t")[0] for line in table][1:]
    return costs.class_pairs(statistics_of(input), classes)


def tables_of(input):
    return [input.landmarks] if isinstance(input.landmarks, str) else list(input.landmarks)


def union_of(input):
    """Landmarks of all tables: that many there are at most, of which some may be the same."""
    return sum(map(count_landmarks, tables_of(input)))


def column_pairs(input):
    return costs.column_pairs(statistics_of(input), union_of(input))


def unknown_pairs(input):
    return costs.unknown_pairs(statistics_of(input), union_of(input))


def aligned_seconds(wildcards, input, pairs):
    mode = plan(wildcards).settings["scoring"]["mode"]
    alone = by_parasail(CONFIG["alignment"]["backend"], mode)
    return costs.alignment_seconds(statistics_of(input), pairs, alone)


def alignment_seconds(pairs, blocks=len(BLOCKS)):
    """An estimate for a block, for a function of the inputs that counts the pairs of all blocks."""
    return lambda wildcards, input: aligned_seconds(wildcards, input, pairs(input) / blocks)


def score_seconds(input):
    """Seconds of one score where a kernel computes it; 0 where scores are aligned or given."""
    summary, folder = json_of(input.summary), Path(input.summary).parent
    if summary["kernel"] is None:
        return 0
    try:
        size = np.load(folder / VECTORS_FILE, mmap_mode="r").shape[1]
    except (OSError, ValueError):  # strings; or it is damaged, as the job will say
        distinct = summary["statistics"]["distinct"]
        size = (folder / DISTINCT_FILE).stat().st_size / distinct
    return costs.kernel_seconds(summary["kernel"], size)


def alignment_mb(pairs, blocks=len(BLOCKS)):
    """The same of memory."""
    most = CONFIG["alignment"]["memory_mb"]
    return lambda wildcards, input: dataset_mb(wildcards, input) + costs.scores_mb(
        pairs(input) / blocks, most
    )


def landmarks_of(input):
    """Landmarks of a job, the most of those of several selectors. They are not there in a dry run,
    nor in a group that is to choose them: it should not."""
    there = [table for table in tables_of(input) if Path(table).exists()]
    return max(map(count_landmarks, there), default=0)


def rows_memory(wildcards, input):
    """What the rows of a learning job may take; less where `--resources mem_mb` gives jobs less."""
    given, most = workflow.global_resources.get("mem_mb").value, CONFIG["learning"]["memory_mb"]
    return most if given is None else int(costs.rows_mb(given, landmarks_of(input), most))


def tested_share(wildcards):
    """The share of the records that a fold tests."""
    folds = len(plan(wildcards).folds) - 1
    repeats = plan(wildcards).settings["folds"].get("repeats", 1)
    return 0 if wildcards.fold == ALL or not folds else repeats / folds


def vectors_mb(tables):
    """Of tables of vectors, of which the numbers alone are kept."""
    return sum(
        costs.VECTORS_MB * present_mb([table]) * (costs.UNPACKED if table.endswith(".gz") else 1)
        for table in tables
    )


def reading_memory(wildcards, input):
    vectors = [file for file in input if file in plan(wildcards).vectors]
    others = present_mb(input) - present_mb(vectors)
    return BASE_MB + plan(wildcards).source.memory_per_mb * others + vectors_mb(vectors)


def classification_mb(wildcards, input):
    return BASE_MB + 40 * present_mb([input.model, input.new]) + vectors_mb(input.vectors)


def grouped(wildcards):
    """Whether near-identical sequences are looked for."""
    folds = plan(wildcards).settings["folds"]
    return folds["method"] == "grouped" and folds["column"] is None


def folds_seconds(wildcards, input):
    estimate = costs.grouping_seconds if grouped(wildcards) else costs.dataset_seconds
    return estimate(statistics_of(input))


def folds_mb(wildcards, input):
    words = costs.grouping_mb(statistics_of(input)) if grouped(wildcards) else 0
    return dataset_mb(wildcards, input) + words


def gathering_seconds(wildcards, input):
    return costs.gathering_seconds(statistics_of(input), union_of(input), score_seconds(input))


def selection_seconds(wildcards, input):
    figures = statistics_of(input), class_pairs(input)
    methods = [selector["method"] for selector in plan(wildcards).selectors.values()]
    return sum(
        (costs.selection_seconds(*figures, method, score_seconds(input)) for method in methods),
        Seconds(),
    )


def learning_mb(wildcards, input):
    """Where rows are read by tiles, and nothing has a column for each class."""
    most = CONFIG["learning"]["memory_mb"]
    return costs.learning_mb(statistics_of(input), landmarks_of(input), most)


def factors_seconds(wildcards, input):
    factors = {
        (r["transform"], str(r["rank"])) for r in plan(wildcards).factored(wildcards.selector)
    }
    return len(factors) * costs.factor_seconds(
        costs.records(statistics_of(input)), landmarks_of(input)
    )


def asking(wildcards, input, recipe):
    """What a cascade depends on: landmarks, lengths of words, inner folds, the tested share."""
    lengths = len(recipe["views"]["words"] or ())
    return landmarks_of(input), lengths, CONFIG["inner_folds"], tested_share(wildcards)


def cascades_mb(wildcards, input):
    statistics, most = statistics_of(input), CONFIG["learning"]["memory_mb"]
    return sum(
        cascade_costs.cascade_mb(
            statistics,
            cascade_costs.Wanted.of(recipe["cascade"]),
            *asking(wildcards, input, recipe),
            most,
        )
        for recipe in plan(wildcards).cascades(wildcards.selector)
    )


def cascades_seconds(wildcards, input):
    statistics, tested = statistics_of(input), tested_share(wildcards)
    seconds, pairs = Seconds(), 0
    for recipe in plan(wildcards).cascades(wildcards.selector):
        wanted = cascade_costs.Wanted.of(recipe["cascade"])
        seconds += cascade_costs.cascade_seconds(
            statistics, wanted, *asking(wildcards, input, recipe)
        )
        pairs += cascade_costs.asked_pairs(statistics, wanted, tested)
    return seconds + aligned_seconds(wildcards, input, pairs)


def has_evalues(wildcards):
    """Whether objects are aligned locally, so that what has no relative is told."""
    settings = plan(wildcards).settings
    return plan(wildcards).source.aligned and settings["scoring"]["mode"] == "local"


def related(wildcards):
    """The lengths of words of each recipe of a selector whose models tell unknown objects."""
    if CONFIG["unknown"] is None or not has_evalues(wildcards):
        return []
    recipes = plan(wildcards).recipes(wildcards.selector)
    return [len(recipe["views"]["words"] or ()) for recipe in recipes]


def relatives_pairs(wildcards, input):
    """Pairs for one recipe of a fold."""
    levels = plan(wildcards).settings["levels"]
    pairs = relating_costs.calibration_pairs(statistics_of(input), tested_share(wildcards), levels)
    return pairs + relating_costs.rule_pairs(landmarks_of(input))


def relatives_seconds(wildcards, input):
    statistics, landmarks = statistics_of(input), landmarks_of(input)
    pairs, seconds = relatives_pairs(wildcards, input), Seconds()
    searched = pairs / relating_costs.NEAREST
    for lengths in related(wildcards):
        seconds += relating_costs.relating_seconds(statistics, landmarks, lengths, searched, pairs)
        seconds += aligned_seconds(wildcards, input, pairs)
    return seconds


def relatives_mb(wildcards, input):
    statistics, most = statistics_of(input), CONFIG["learning"]["memory_mb"]
    given = landmarks_of(input), relatives_pairs(wildcards, input)
    return sum(
        relating_costs.relating_mb(statistics, given[0], lengths, given[1], most)
        for lengths in related(wildcards)
    )


def most_words(wildcards):
    """The most lengths of words of any recipe."""
    return max(len(recipe["views"]["words"] or ()) for recipe in plan(wildcards).recipes())


def final_seconds(wildcards, input):
    """The columns are read and written once; what has no relative is aligned."""
    statistics = statistics_of(input)
    seconds = costs.dataset_seconds(statistics) + Seconds(0.05 * present_mb([input.columns]))
    if CONFIG["unknown"] is not None or not has_evalues(wildcards):
        return seconds
    landmarks, lengths = landmarks_of(input), most_words(wildcards)
    pairs = relating_costs.rule_pairs(landmarks)
    seconds += relating_costs.relating_seconds(
        statistics, landmarks, lengths, 3 * relating_costs.STRANGERS, pairs
    )
    return seconds + aligned_seconds(wildcards, input, pairs)


def final_mb(wildcards, input):
    """The columns are read and written some rows at a time."""
    read = BASE_MB + 10 * (present_mb(input) - present_mb([input.columns]))
    if CONFIG["unknown"] is not None or not has_evalues(wildcards):
        return read
    landmarks, most = landmarks_of(input), CONFIG["learning"]["memory_mb"]
    given = landmarks, most_words(wildcards), relating_costs.rule_pairs(landmarks)
    return read + relating_costs.relating_mb(statistics_of(input), *given, most)


def training_mb(wildcards, input):
    learners, most = plan(wildcards).learners(wildcards.selector), CONFIG["learning"]["memory_mb"]
    return (
        costs.learning_mb(
            statistics_of(input),
            landmarks_of(input),
            most if all(learner.by_tiles for learner in learners) else None,
            learners,
            tested_share(wildcards),
        )
        + cascades_mb(wildcards, input)
        + relatives_mb(wildcards, input)
        + max(
            (
                lift_costs.lifted_mb(
                    statistics_of(input), recipe, most if recipe.learner.by_tiles else None
                )
                for recipe in plan(wildcards).lifted(wildcards.selector)
            ),
            default=0,
        )
    )


def training_seconds(wildcards, input):
    lifted = [
        lift_costs.lifted_seconds(
            statistics_of(input), landmarks_of(input), recipe, CONFIG["inner_folds"]
        )
        for recipe in plan(wildcards).lifted(wildcards.selector)
    ]
    asked = cascades_seconds(wildcards, input) + relatives_seconds(wildcards, input)
    factors = factors_seconds(wildcards, input)
    return sum(lifted, asked + factors) + costs.training_seconds(
        statistics_of(input),
        landmarks_of(input),
        plan(wildcards).learners(wildcards.selector),
        CONFIG["inner_folds"],
        tested_share(wildcards),
    )


def unknown_seconds(wildcards, input):
    pairs = unknown_pairs(input)
    aligned = aligned_seconds(wildcards, input, pairs)
    return aligned + Seconds(score_seconds(input) * pairs)


def unknown_mb(wildcards, input):
    most = CONFIG["alignment"]["memory_mb"]
    return reading_memory(wildcards, input) + costs.scores_mb(unknown_pairs(input), most)


def unknown_asked(wildcards, input):
    """Pairs of records held out as unknown with those that they ask."""
    wanted = [cascade_costs.Wanted.of(recipe["cascade"]) for recipe in plan(wildcards).cascades()]
    folds = len(plan(wildcards).folds) - 1
    return cascade_costs.unknown_asked_pairs(statistics_of(input), folds * wanted) if wanted else 0


def measuring_seconds(wildcards, input):
    evaluated = Seconds(costs.EVALUATED_MB * present_mb(input))
    pairs = unknown_asked(wildcards, input)
    return evaluated + (aligned_seconds(wildcards, input, pairs) if pairs else Seconds())


def measuring_mb(wildcards, input):
    pairs = unknown_asked(wildcards, input)
    return BASE_MB + 30 * present_mb(input) + costs.PAIR_BYTES * pairs / 1e6


def map_seconds(wildcards, input):
    return costs.map_seconds(statistics_of(input), landmarks_of(input))


def homology_seconds(wildcards, input):
    return costs.clustering_seconds(statistics_of(input))


def homology_mb(wildcards, input):
    return dataset_mb(wildcards, input) + costs.grouping_mb(statistics_of(input))


def word_recipe(statistics):
    """The columns and the learner of the competitor that learns from words alone."""
    return min(LIFT["inducing"], costs.records(statistics)), [make_learner(LEARNER)]


def competitor_seconds(wildcards, input):
    statistics, tested = statistics_of(input), tested_share(wildcards)
    if wildcards.competitor == WORDS:
        return costs.training_seconds(statistics, *word_recipe(statistics), INNER_FOLDS, tested)
    return costs.competitor_seconds(statistics, tested)


def competitor_mb(wildcards, input):
    if wildcards.competitor != WORDS:
        return 2 * BASE_MB + 100 * present_mb(input)
    statistics, tested = statistics_of(input), tested_share(wildcards)
    columns, learners = word_recipe(statistics)
    most = CONFIG["learning"]["memory_mb"]
    return costs.learning_mb(statistics, columns, most, learners, tested)


def ours_seconds(wildcards, input):
    statistics = statistics_of(input)
    pairs = tested_share(wildcards) * costs.records(statistics) * landmarks_of(input)
    evaluated = Seconds(costs.EVALUATED_MB * present_mb(input))
    return aligned_seconds(wildcards, input, pairs) + evaluated


def classification_seconds(wildcards, input):
    """By the alignments of a query, of which the header of the model tells: all that is read."""
    Path(input.model).stat()  # as in json_of
    new = Path(input.new)
    mb = new.stat().st_size / 1e6 * (costs.UNPACKED if new.suffix == ".gz" else 1)
    try:
        with safetensors.safe_open(input.model, framework="numpy") as file:
            header = json.loads(file.metadata()["kreinflow"])["header"]
            kernel, scheme = header["kernel"], header["scheme"]
            needed = float(header["about"]["training"].get("alignments_per_query", 0))
            shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}
    except (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError):
        return Seconds()  # the job will say what is wrong with it
    if "landmark_vectors" in shapes:
        return costs.comparison_seconds(mb, *shapes["landmark_vectors"], kernel)
    (landmarks,), (residues,) = (
        shapes.get(f"landmark_{what}", (0,)) for what in ("ends", "residues")
    )
    if kernel is not None:
        return costs.comparison_seconds(mb, landmarks, residues / max(1, landmarks), kernel)
    both = CONFIG["classify"].get(wildcards.name, {}).get("strand") == "both"
    # Without a scheme it is the model of a matrix, and has no residues.
    alone = bool(scheme) and by_parasail(CONFIG["alignment"]["backend"], scheme["mode"])
    # A cascade aligns more than landmarks.
    more = max(1, needed / landmarks) if landmarks else 1
    aligned = more * landmarks, more * residues
    return costs.classification_seconds(2 * mb if both else mb, *aligned, alone)


def not_random(wildcards):
    """The data set and its twins whose folds may put records of one group together."""
    return [name for name, kind in KINDS[wildcards.dataset].items() if kind != RANDOM]


def compared(wildcards):
    """The data set and those of its twins whose folds ask anything else."""
    left_out = json_of(checkpoints.compare_kinds.get(dataset=wildcards.dataset).output[0])
    return [name for name in KINDS[wildcards.dataset] if name not in left_out]


def of_compared(file):
    return lambda wildcards: [f"{RESULTS}/{name}/{file}" for name in compared(wildcards)]


def of_all_methods(ending):
    """The files of each kind of folds, method and fold, in this order."""
    return lambda wildcards: [
        f"{RESULTS}/{twin}/compare/{method}/{fold}.{ending}"
        for twin in compared(wildcards)
        for method in (OURS, *COMPETITORS)
        for fold in PLANS[twin].folds
        if fold != ALL
    ]
