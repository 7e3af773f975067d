"""``kreinflow update``: a model learns more records, and new classes."""

import argparse
import sys
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.classify.learned_file import Learned, learned_path
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_records import on_one_strand, read_new
from kreinflow.classify.update import update, update_text
from kreinflow.commands.arguments import (
    add_vectors_and_threads,
    columns_of,
    vectors_of,
    with_score,
)
from kreinflow.commands.outputs import output, refuse_one_file
from kreinflow.files.tables import table_text
from kreinflow.sequences.collapse import examples
from kreinflow.sequences.strands import strand_advice


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model.safetensors of a run or an update")
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="FASTA of the new records, plain or gzip; or a table with a column of sequences, "
        "which --labels may name too; or vectors",
    )
    parser.add_argument(
        "--labels",
        metavar="TABLE",
        required=True,
        help="TSV or CSV with a line for each new record, and the columns of the table that the "
        "model learned from, else id and label",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="MODEL2",
        required=True,
        help="the new model, a name that ends in .safetensors; what it was learned from is written "
        "beside it",
    )
    parser.add_argument(
        "--learned",
        metavar="FILE",
        help="what MODEL was learned from (default: MODEL.learned.safetensors, beside it)",
    )
    parser.add_argument(
        "--changes",
        metavar="TSV",
        help="write what was said of each record before and after, by models without it",
    )
    parser.add_argument(
        "--strand",
        choices=("auto", "given"),
        default="auto",
        help="of nucleotides: new records that stand on the other strand than those like them are "
        "turned, as in training (auto, the default); or all are taken as they stand (given)",
    )
    add_vectors_and_threads(parser)


def run(options: argparse.Namespace) -> None:
    """Write the new model and what it was learned from, and say what changed."""
    if not options.output.endswith(".safetensors"):
        raise InputError(f"-o {options.output}: give a name that ends in .safetensors.")
    known = options.learned or str(learned_path(options.model))
    inputs = options.model, known, options.input, options.labels, options.vectors
    beside = str(learned_path(options.output))
    refuse_one_file(name for name in (options.output, beside, options.changes) if name is not None)
    with ExitStack() as stack:
        write_model = stack.enter_context(output("-o", options.output, *inputs))
        write_learned = stack.enter_context(output("-o", beside, *inputs))
        if options.changes is not None:
            write_changes = stack.enter_context(output("--changes", options.changes, *inputs))
        stack.enter_context(limited(options.threads))
        model = with_score(Model.load(options.model), options)
        learned = Learned.load(known, model, options.model)
        path, labels = Path(options.input), Path(options.labels)
        columns = columns_of(model, path)
        new = read_new(model, learned, path, labels, vectors_of(options), columns)
        on_other: list[str] = []
        if options.strand == "auto" and model.scheme and model.molecule == "nucleotide":
            new, on_other = on_one_strand(learned, new, model.scheme.matrix.alphabet)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default", UserWarning)
            updated = update(model, learned, new, options.threads)
        if options.changes is not None:
            write_changes(table_text(updated.changes))
        with tempfile.TemporaryDirectory(prefix="kreinflow-") as folder:
            files = Path(folder, "model"), Path(folder, "learned")
            updated.model.save(files[0])
            updated.learned.save(files[1], files[0])
            for file, write in zip(files, (write_model, write_learned), strict=True):
                write(file.read_bytes())
    lines = [f"warning: {one.message}" for one in told]
    lines += filter(None, [strand_advice({**examples(on_other), "turned": True})])
    for line in [*lines, *update_text(updated).splitlines()]:
        print(f"kreinflow: {line}", file=sys.stderr)
