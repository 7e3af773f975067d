"""``kreinflow init``: look at data and write a config for them."""

import argparse
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.base.wording import plural
from kreinflow.commands.check import Checked, checked
from kreinflow.commands.outputs import is_standard_output, output
from kreinflow.commands.proposing.proposal import Proposal, complete, propose
from kreinflow.commands.proposing.writing import Noted, yaml_text
from kreinflow.config.paths import check_files
from kreinflow.config.plan import DatasetPlan

CORES = 8
"""Of the estimate in the config, which is the same on any machine."""

_SOON, _FEW_CORES = 15, 2
"""Minutes by the estimate that a proposed run takes at most on few cores, if that can be had."""

_FOLDS = 3
"""Outer folds, at most, of a proposal from which something is left out."""

_LONG = 90
"""Minutes from which on an estimate is told in hours."""

_HOURS = (
    "This takes hours. Larger classes alone take less ('min_class_size'), or fewer alignments "
    "('auto: {alignments: 3000000}'), or a part of the records."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        nargs="+",
        help="FASTA, FASTQ or GenBank: a file, several, or a folder with one a class; a table "
        "with a column of sequences; or a matrix or vectors (.npy, .csv, .tsv, .mat)",
    )
    parser.add_argument(
        "--labels",
        metavar="TABLE",
        help="TSV or CSV with ids and labels; without it labels are looked for in the headers, or "
        "each of several files is a class",
    )
    parser.add_argument(
        "-o", "--output", metavar="CONFIG", default="kreinflow.yaml", help="default: %(default)s"
    )
    parser.add_argument("--force", action="store_true", help="replace a config that is there")


def run(options: argparse.Namespace) -> None:
    """Look, check, write the config, and print what was found."""
    name = options.output
    if Path(name).is_file() and not options.force and not is_standard_output(name):
        raise InputError(f"{name}: is there already. Name another file with -o, or give --force.")
    made = propose(options.input, options.labels)
    data = Path(made.config["data"])
    check_files(made.config, data)
    one = checked(made.config, made.name, data, made.groups)
    made, one = lighter(made, one)
    advice = [*made.advice, *one.advice()]
    if one.run_costs().minutes(CORES) > _LONG:
        advice.append(_HOURS)
    given = [*options.input, *(["--labels", options.labels] if options.labels else [])]
    head = [
        f"Written by: kreinflow init {shlex.join(given)}",
        "Check it: kreinflow check, run it: kreinflow run. Paths start in the folder where you "
        "run. All other keys have defaults: kreinflow schema prints them.",
        *(f"Estimate: {text}." for text in one.costs(CORES)),
        *(f"Look at this: {text}" for text in advice),
    ]
    with output("--output", name, *options.input, options.labels) as write:
        write(yaml_text(made.content, head))
    screen = sys.stderr if is_standard_output(name) else sys.stdout
    for text in advice:
        print(f"kreinflow: {made.name}: {text}", file=sys.stderr)
    for text in [*made.found, made.folds, one.ready(), *one.costs(os.cpu_count() or 1)]:
        print(f"{made.name}: {text}", file=screen)
    if not is_standard_output(name):
        shown = shlex.quote(name)
        print(f"{name}: written. Next: kreinflow run {shown} --cores {os.cpu_count() or 1}")


def lighter(made: Proposal, one: Checked) -> tuple[Proposal, Checked]:
    """Return what is proposed: what takes longer than :data:`_SOON` with less, and says so.

    Left out are the recipes of most landmarks, outer folds, and of sets of as many landmarks, which
    are the same, all but one; then more recipes, the last with the fewest landmarks, as long as the
    rest is expected to take too long.
    """
    costs, plan = one.run_costs(), one.plan
    if (whole := costs.minutes(_FEW_CORES)) <= _SOON:
        return made, one
    part, all_folds = made.content["datasets"][made.name], len(plan.folds) - 1
    folds = {**part["folds"], "k": Noted(min(_FOLDS, all_folds), f"{all_folds} take longer")}
    sizes = {costs.landmarks(name): name for name in plan.trained_selectors}
    for left in range(max(1, len(sizes) - 1), 0, -1):
        kept = [sizes[size] for size in sorted(sizes)[:left]]
        names = [recipe["name"] for recipe in plan.recipes() if recipe["selector"] in kept]
        own = {**part, "recipes": Noted(names, "all take longer"), "folds": folds}
        content = made.content | {"datasets": {made.name: own}}
        config = complete(content)
        fewer = replace(one, plan=DatasetPlan(config, made.name))
        if (minutes := fewer.run_costs().minutes(_FEW_CORES)) <= _SOON:
            break
    said = (
        f"All {len(plan.recipes())} recipes with {plural(all_folds, 'fold')} take about "
        f"{whole:.0f} minutes on {_FEW_CORES} cores. Proposed are {plural(len(names), 'recipe')} "
        f"of few landmarks with {plural(folds['k'].value, 'fold')}, about {minutes:.0f} minutes. "
        f"For all, leave out the line 'recipes: ...' and write 'k: {all_folds}'."
    )
    made = replace(made, content=content, config=config, advice=[*made.advice, said])
    return made, checked(config, made.name, one.data, made.groups)
