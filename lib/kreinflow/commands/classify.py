"""``kreinflow classify``: new objects, classified with a model."""

import argparse
import contextlib
import ctypes
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pandas as pd

from kreinflow import __version__
from kreinflow.alignment.backends import BACKENDS, backend_named
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.base.wording import plural
from kreinflow.classify.classification import (
    accepting,
    classify_batches,
    first_faults,
    promise_text,
    write_tables,
)
from kreinflow.classify.evidence import Evidence
from kreinflow.classify.formats import FORMATS, blast6, refuse_format, taxonomy
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Shard
from kreinflow.commands.arguments import add_scoring_arguments, asked, inputs_of, model_to_ask
from kreinflow.commands.outputs import is_standard_output, output, refuse_one_file
from kreinflow.commands.shards import parts, shard
from kreinflow.commands.unfinished import Unfinished, unfinished
from kreinflow.files.provenance import file_sha256
from kreinflow.files.tables import table_text
from kreinflow.files.text_files import check_file, plain_files, shown_name


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model.safetensors of a run")
    parser.add_argument(
        "input",
        metavar="INPUT",
        nargs="*",
        help="FASTA, plain or gzip, - for standard input; or a table with a column of "
        "sequences (.csv, .tsv); or a matrix, new objects x landmarks; "
        "or vectors; of several files the rows stand one after the other",
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
        "--format",
        choices=FORMATS,
        default="tsv",
        help="what -o gets: our table (default), QIIME's taxonomy, or evidence as BLAST's outfmt 6",
    )
    parser.add_argument(
        "--strict", action="store_true", help="end at the first record that cannot be classified"
    )
    parser.add_argument(
        "--shard",
        type=shard,
        default=Shard(),
        metavar="K/N",
        help="classify part K of N of the records, as 3/16; the parts in a row (cat) are the whole",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep what is done in NAME.unfinished, to go on from there with the same command",
    )
    parser.add_argument(
        "--landmarks", action="store_true", help="list the landmarks of the model, classify nothing"
    )


def _refuse_asked(options: argparse.Namespace) -> None:
    """Refuse by an InputError what does not go together, and files that are not there."""
    if not options.input:
        raise InputError(
            "classify: name the FASTA file, matrix or vectors to classify behind the model."
        )
    evidence, form = options.evidence is not None, options.format
    if evidence:
        refuse_one_file((options.output, options.evidence))
    for name in ("confidence", "errors"):
        if getattr(options, name) is not None and form != "tsv":
            raise InputError(f"--{name}: --format {form} has no column for it. Use tsv.")
    if evidence and form == "blast6":
        raise InputError("--evidence: --format blast6 writes it, to -o. Leave one of them out.")
    parted = "--resume" if options.resume else "--shard" if options.shard.of > 1 else None
    if parted and options.errors is not None:
        why = f"is decided over all records at once, so not with {parted}. Leave one of them out."
        raise InputError(f"--errors: {why}")
    name = options.output or "-"
    taken = os.path.exists(name) and not os.path.isfile(name)  # a device or a folder
    if options.resume and (taken or is_standard_output(name)):
        raise InputError("--resume: name the file to write, with -o.")
    if parted:
        _check_inputs(options)
    for name in options.input:
        if parted and not os.path.isfile(name):
            why = "can be read once, and is read again for it. Name a file."
            raise InputError(f"{parted}: {shown_name(Path(name))} {why}")


def _check_inputs(options: argparse.Namespace) -> None:
    for name in options.input:
        for path in plain_files(Path(name)) if name != "-" else ():
            check_file(path)


def _about(options: argparse.Namespace) -> dict[str, str]:
    """Return what an unfinished output depends on: checksums and options."""
    about = {"version": __version__}
    files = {"model": [options.model], "input": options.input, "--records": options.records}
    for name, paths in (files | {"--vectors": options.vectors and [options.vectors]}).items():
        for path in paths or ():
            check_file(Path(path))
            about[name] = f"{about.get(name, '')} {file_sha256(path)}"
    names = "strand", "translate", "confidence", "shard", "format", "evidence"
    return about | {f"--{name}": str(getattr(options, name)) for name in names}


_ARENAS = -8  # M_ARENA_MAX of malloc.h
_TURN = 2e-4  # seconds; threads that compute need the interpreter often, and never for long


def _share_heap() -> None:
    """Let all threads have one heap, where the C library is glibc: so more is used again."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another library
        ctypes.CDLL(None).mallopt(_ARENAS, 1)


def run(options: argparse.Namespace) -> None:
    """Write the table of the new objects, or of the landmarks."""
    if options.landmarks:
        with output("-o", options.output, options.model, *options.input) as write:
            model = Model.load(options.model)
            columns = {"id": model.landmark_ids, "label": model.landmark_labels}
            write(table_text(pd.DataFrame(columns)))
        return
    inputs = inputs_of(options)
    _refuse_asked(options)
    _share_heap()
    sys.setswitchinterval(_TURN)
    with ExitStack() as stack:
        kept = None
        if options.resume:
            kept = stack.enter_context(unfinished(options.output, _about(options)))
        writes = [stack.enter_context(output("-o", options.output, *inputs))]
        if options.evidence is not None:
            writes.append(stack.enter_context(output("--evidence", options.evidence, *inputs)))
        _check_inputs(options)
        stack.enter_context(limited(options.threads))
        model = model_to_ask(options)
        refuse_format(model, options.format)
        seconds, counts, told = _classify(options, model, writes, kept)
    if told["pieces"]:
        rows, more = plural(told["rows"], "row"), plural(told["alignments"], "more alignment")
        print(f"kreinflow: evidence: {rows}, {more}", file=sys.stderr)
    accepted = "" if options.errors is None else f", {counts['accepted']} accepted"
    beyond = f", {counts['beyond']} beyond what was measured" if counts["beyond"] else ""
    turned = f", {counts['turned']} turned" if counts["turned"] else ""
    promised = f"; {text}" if (text := promise_text(model)) else ""
    print(
        f"kreinflow: {plural(counts['records'], 'record')}: {counts['classified']} classified, "
        f"{counts['rejected']} of them rejected{accepted}{beyond}{turned}; {counts['fault']} not "
        f"classified; {seconds:.3g} s{promised}",
        file=sys.stderr,
    )


def _classify(
    options: argparse.Namespace,
    model: Model,
    writes: Sequence[Callable[[str], object]],
    kept: Unfinished | None,
) -> tuple[float, Counter[str], Counter[str]]:
    """Classify and write what is left to do, or all; return seconds, and counts of this start."""
    done = 0 if kept is None else kept.records
    if done:
        print(f"kreinflow: goes on behind {plural(done, 'record')}", file=sys.stderr)
    header, start = options.shard.number == 1 and not done, time.monotonic()
    waiting: list[list[str]] = [[] for _ in writes]  # texts of a piece
    told, blast = Counter[str](), options.format == "blast6"
    show = None if options.strict else first_faults(lambda line: print(line, file=sys.stderr))

    def text(table: pd.DataFrame, first: bool) -> str:
        if blast:
            return ""
        answers = taxonomy(model, table) if options.format == "qiime" else table
        return table_text(answers, header=header and first)

    def on_evidence(found: Evidence) -> None:
        first = header and not told["pieces"]
        waiting[-1].append(blast6(found) if blast else table_text(found.table, header=first))
        told.update(pieces=1, rows=len(found.table), alignments=found.alignments)

    def progress(records: int) -> None:
        if kept is not None:
            kept.add(records - told["done"], ["".join(own) for own in waiting])
        for write, own in zip(writes, waiting, strict=True):
            if kept is None:
                write("".join(own))
            own.clear()
        told["done"] = records
        if sys.stderr.isatty():
            rate = records / max(time.monotonic() - start, 1e-9)
            print(f"{records} records, {rate:.0f} a second", end="\r", file=sys.stderr, flush=True)

    def tables() -> Iterator[pd.DataFrame]:
        for path, first, last in parts(model, [*map(Path, options.input)], options.shard, done):
            how = asked(
                options,
                model,
                path,
                backend=backend_named(options.backend),
                confidence=options.confidence,
                errors=options.errors,
                first=first,
                last=last,
                on_fault=show,
                on_evidence=on_evidence if blast or len(writes) > 1 else None,
            )
            yield from classify_batches(model, path, how)

    if options.errors is None:
        counts = write_tables(tables(), waiting[0].append, progress, text)
    else:
        counts = write_tables(accepting(tables(), options.errors, progress), writes[0])
    if kept is not None:
        kept.write_to(writes)
    return time.monotonic() - start, counts, told
