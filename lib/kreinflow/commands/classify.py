"""``kreinflow classify``: new objects, classified with a model."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from kreinflow.alignment.backends import BACKENDS, backend_named
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.base.wording import plural
from kreinflow.classify.classification import (
    accepting,
    classify_batches,
    first_faults,
    write_tables,
)
from kreinflow.classify.evidence import Evidence
from kreinflow.classify.model_file import Model
from kreinflow.commands.arguments import add_scoring_arguments, asked, inputs_of, model_to_ask
from kreinflow.commands.outputs import output, refuse_one_file
from kreinflow.files.tables import table_text


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model.safetensors of a run")
    parser.add_argument(
        "input",
        metavar="INPUT",
        nargs="?",
        help="FASTA, plain or gzip, - for standard input; or a matrix, new objects x landmarks; "
        "or vectors",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="TSV",
        help="file to write, packed if it ends in .gz; - or none: standard output",
    )
    add_scoring_arguments(parser)
    parser.add_argument(
        "--backend",
        choices=list(BACKENDS),
        default="auto",
        help="what aligns: auto, the fastest way that is exact, checked by parasail (default), or "
        "parasail alone; the result does not depend on it, either",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        metavar="SHARE",
        help="add the smallest set of labels that holds the true one with this probability, as "
        "0.95",
    )
    parser.add_argument(
        "--errors",
        type=float,
        metavar="SHARE",
        help="accept as many predictions as keep the expected share of wrong ones among them below "
        "this, as 0.05; depends on all records of the input",
    )
    parser.add_argument(
        "--evidence",
        metavar="TSV",
        help="write the nearest landmarks and training records of the predicted class, or of all "
        "labels, and of the runner-up of each object too, 5 each, with E-value, identity and the "
        "ends of the alignment; costs 20 more alignments a record at most for each of these "
        "classes",
    )
    parser.add_argument(
        "--strict", action="store_true", help="end at the first record that cannot be classified"
    )
    parser.add_argument(
        "--landmarks", action="store_true", help="list the landmarks of the model, classify nothing"
    )


@contextmanager
def _evidence(
    options: argparse.Namespace, *inputs: str | None
) -> Iterator[Callable[[Evidence], None] | None]:
    """Yield what writes and counts the evidence, if it is asked for; it says how much there was."""
    if options.evidence is None:
        yield None
        return
    refuse_one_file((options.output, options.evidence))
    pieces = rows = alignments = 0
    with output("--evidence", options.evidence, *inputs) as write:

        def on_evidence(found: Evidence) -> None:
            nonlocal pieces, rows, alignments
            write(table_text(found.table, header=pieces == 0))
            pieces += 1
            rows += len(found.table)
            alignments += found.alignments

        yield on_evidence
    print(
        f"kreinflow: evidence: {plural(rows, 'row')}, {plural(alignments, 'more alignment')}",
        file=sys.stderr,
    )


def run(options: argparse.Namespace) -> None:
    """Write the table of the new objects, or of the landmarks."""
    if options.landmarks:
        with output("-o", options.output, options.model, options.input) as write:
            model = Model.load(options.model)
            columns = {"id": model.landmark_ids, "label": model.landmark_labels}
            write(table_text(pd.DataFrame(columns)))
        return
    if options.input is None:
        raise InputError(
            "classify: name the FASTA file, matrix or vectors to classify behind the model."
        )
    inputs = inputs_of(options)

    def progress(done: int) -> None:
        if sys.stderr.isatty():
            rate = done / max(time.monotonic() - start, 1e-9)
            print(f"{done} records, {rate:.0f} a second", end="\r", file=sys.stderr, flush=True)

    with (
        output("-o", options.output, *inputs) as write,
        _evidence(options, *inputs) as on_evidence,
        limited(options.threads),
    ):
        model = model_to_ask(options)
        start = time.monotonic()
        show = None if options.strict else first_faults(lambda line: print(line, file=sys.stderr))
        how = asked(
            options,
            backend=backend_named(options.backend),
            confidence=options.confidence,
            errors=options.errors,
            on_fault=show,
            on_evidence=on_evidence,
        )
        tables = classify_batches(model, Path(options.input), how)
        if options.errors is None:
            counts = write_tables(tables, write, progress)
        else:
            counts = write_tables(accepting(tables, options.errors, progress), write)
        seconds = time.monotonic() - start
    accepted = "" if options.errors is None else f", {counts['accepted']} accepted"
    print(
        f"kreinflow: {plural(counts['records'], 'record')}: {counts['classified']} classified, "
        f"{counts['rejected']} of them rejected{accepted}; {counts['fault']} not classified; "
        f"{seconds:.3g} s",
        file=sys.stderr,
    )
