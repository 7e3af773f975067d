# The minutes and megabytes that jobs ask a cluster for; kreinflow/config/costs.py has the model.
from kreinflow.config.part_costs import BASE_MB, LEAST_ROWS_MB, Cost, square_mb

# What a queue allows: `--resources max_runtime=120`, or the same line in a profile. Snakemake's own
# `runtime` there would be shared by all jobs that run at a time.
MAX_RUNTIME = workflow.global_resources.get("max_runtime").value


def costs(wildcards):
    """What a run on the rule's data set costs, by its summary and the landmarks of the fold."""
    # Slow to import: a run that finds nothing to do estimates nothing.
    from kreinflow.config.costs import RunCosts

    folder = Path(on_disk(plan(wildcards).folder))
    return RunCosts.of_results(plan(wildcards), folder, getattr(wildcards, "fold", ALL))


def present_mb(files):
    """Megabytes of files. In a group of rules some are yet to be made, and count nothing."""
    return sum(path.stat().st_size for path in map(Path, files) if path.exists()) / 1e6


def of_queue(name, threads, jobs):
    """The share that a job has of what the queue allows; None without a limit. Snakemake sums the run
    time of rules in a group that wait for each other, and of jobs of a rule that find no core."""
    groups = workflow.group_settings.overwrite_groups
    if MAX_RUNTIME is None or name not in groups:
        return MAX_RUNTIME
    rules_in_it = sum(group == groups[name] for group in groups.values())
    parts = workflow.group_settings.group_components.get(groups[name], 1)
    side_by_side = max(1, (workflow.resource_settings.cores or 1) // threads)
    return MAX_RUNTIME // (rules_in_it * -(-parts * jobs // side_by_side))


def asks(name, cost=None, mb=10, seconds=0.0, jobs=1):
    """All resources of a rule: memory and run time, more with each attempt, and what scores and rows
    may take of that memory.

    They are those that `cost` estimates by the wildcards and the inputs, or `mb` and `seconds` for
    each megabyte of the inputs. `jobs` are those of the rule in each part of its group.
    """
    name = workflow.modifier.modify_rulename(name)  # as the user of a module has it

    def estimate(wildcards, input):
        try:
            if cost is not None:
                return cost(wildcards, input)
        except (InputError, FileNotFoundError):  # not yet made; or damaged, as the job will say
            pass
        return Cost(seconds * present_mb(input), mb=mb * present_mb(input))

    def mem_mb(wildcards, input, attempt):
        return estimate(wildcards, input).megabytes(attempt)

    def runtime(wildcards, input, attempt, threads):
        most = of_queue(name, threads, jobs)
        return estimate(wildcards, input).minutes(threads, attempt, most)

    return {
        "mem_mb": mem_mb,
        "runtime": runtime,
        "alignment_memory_mb": CONFIG["alignment"]["memory_mb"],
        "learning_memory_mb": rows_memory,
    }


def rows_memory(wildcards, input):
    """What the rows of a learning job may take; less where `--resources mem_mb` gives jobs less."""
    given, most = workflow.global_resources.get("mem_mb").value, CONFIG["learning"]["memory_mb"]
    try:
        learns = given and hasattr(wildcards, "dataset")  # the report has all data sets
        held = BASE_MB + square_mb(costs(wildcards).most_landmarks) if learns else 0
    except InputError:
        return most
    return int(max(min(given - held, most), LEAST_ROWS_MB)) if given else most


def reading_cost(wildcards, input):
    """Of tables of vectors the numbers alone are kept; packed ones are four times as large."""
    per_mb = plan(wildcards).source.memory_per_mb
    own = {f: 12 if f.endswith(".gz") else 3 for f in plan(wildcards).vectors}
    mb = sum(own.get(file, per_mb) * present_mb([file]) for file in input)
    return Cost(0.3 * present_mb(input), mb=mb)


def folds_cost(wildcards, input):
    """More where sequences that are alike are looked for, by their words or in all pairs."""
    folds, size = plan(wildcards).settings["folds"], present_mb(input)
    if folds["method"] == HOMOLOGY:
        return costs(wildcards).comparing()
    grouped = folds["method"] == "grouped" and folds["column"] is None
    return Cost(1.2 * size, mb=60 * size) if grouped else Cost(mb=10 * size)


def training_cost(wildcards):
    """Of the recipes that a job trains."""
    run = costs(wildcards)
    return sum(map(run.training, trained_here(wildcards)), Cost())


def classification_cost(wildcards, input):
    """By the megabytes of new objects, unpacked, twice if both strands may be aligned. Of a part it
    is its share; what is no sequence is read as a whole."""
    source, request = plan(wildcards).source, plan(wildcards).request(wildcards.name)
    nucleotides = plan(wildcards).settings["source"].get("molecule") == "nucleotide"
    times = 2 if nucleotides and request["strand"] != "given" else 1
    times *= 4 if input.new.endswith(".gz") else 1
    parts = request["parts"] if source.aligned else 1
    return costs(wildcards).classifying(times * present_mb([input.new]) / parts)
