"""The command ``kreinflow``: check a configuration, classify new objects."""

import argparse
import gzip
import io
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from kreinflow import __version__
from kreinflow.errors import InputError, KreinflowError, of_the_disk, printable

BACKENDS = ("parasail", "pyopal")
"""What can align, the default first; imported only when something is aligned."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 2 for the user's fault, 1 for ours."""
    parser = argparse.ArgumentParser(
        prog="kreinflow",
        description="Classifiers from indefinite similarities, with a few landmarks. "
        "The workflow itself is run by `snakemake --cores all`.",
    )
    parser.add_argument("--version", action="version", version=f"kreinflow {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    check = commands.add_parser("check", help="check a configuration and its input, run nothing")
    check.add_argument("config", metavar="CONFIG", help="YAML file, as config.yaml")
    check.add_argument("--data", metavar="DIR", help="in place of the key 'data' of the config")

    classify = commands.add_parser("classify", help="classify new objects with a model")
    classify.add_argument("model", metavar="MODEL", help="model.safetensors of a run")
    classify.add_argument(
        "input",
        metavar="INPUT",
        nargs="?",
        help="FASTA, plain or gzip, - for standard input; or a matrix, new objects x landmarks; "
        "or vectors",
    )
    classify.add_argument("-o", "--output", metavar="TSV", help="file to write; else to the screen")
    _add_alignment_options(classify)
    classify.add_argument(
        "--backend",
        choices=BACKENDS,
        default=BACKENDS[0],
        help="library that aligns (default: parasail); the result does not depend on it, either",
    )
    classify.add_argument(
        "--strict", action="store_true", help="end at the first record that cannot be classified"
    )
    classify.add_argument(
        "--landmarks", action="store_true", help="list the landmarks of the model, classify nothing"
    )

    inspect = commands.add_parser("inspect", help="tell what a model is and how it was made")
    inspect.add_argument("model", metavar="MODEL")
    inspect.add_argument("--json", action="store_true", help="as JSON, with all digits")

    export = commands.add_parser("export", help="write the landmarks of a model to a file")
    export.add_argument("model", metavar="MODEL")
    export.add_argument(
        "--landmarks",
        metavar="FILE",
        required=True,
        help="FASTA; or, for vectors and strings, a file of them",
    )

    explain = commands.add_parser("explain", help="tell which landmarks carried one decision")
    explain.add_argument("model", metavar="MODEL")
    explain.add_argument("input", metavar="INPUT", help="as for classify")
    explain.add_argument("--id", required=True, help="the record to explain")
    explain.add_argument(
        "--show", type=int, default=10, metavar="N", help="landmarks to show (default: 10)"
    )
    explain.add_argument(
        "--alignment", action="store_true", help="show the alignments with these landmarks too"
    )
    explain.add_argument("-o", "--output", metavar="TSV", help="write the table of all landmarks")
    _add_alignment_options(explain)

    commands.add_parser("schema", help="print the JSON schema of the config: all keys, defaults")
    options = parser.parse_args(arguments)
    actions = {
        "check": _check,
        "schema": _print_schema,
        "classify": _classify,
        "inspect": _inspect,
        "export": _export,
        "explain": _explain,
    }
    # Where they are closed, print would write messages to whatever is open.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # as standard error: no letter is a fault
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _ending_tidily():
            actions[options.command](options)
        sys.stdout.flush()  # else what cannot be written is noticed only behind the exit code
    except KeyboardInterrupt as interrupt:
        print("kreinflow: interrupted; nothing half-written is left.", file=sys.stderr)
        _give_up_output()
        return 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)
    except KreinflowError as error:
        return _tell(error)
    except BrokenPipeError:  # the reader of our output has seen enough
        _give_up_output()
        return 0
    except MemoryError as error:
        return _tell(KreinflowError(f"out of memory ({error}). Use a machine that has more."))
    except Exception as error:
        if isinstance(error, OSError) and (
            fault := of_the_disk(error, "standard output, or a cache")
        ):
            _give_up_output()
            return _tell(fault)
        traceback.print_exc()
        print("kreinflow error: a fault of the program; please report it.", file=sys.stderr)
        return 1
    return 0


@contextmanager
def _ending_tidily() -> Iterator[None]:
    """Let the signal that asks a process to end be an interrupt, so that files are cleared away."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    if threading.current_thread() is not threading.main_thread():  # signals reach that one only
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(error: KreinflowError) -> int:
    kind = "input error" if isinstance(error, InputError) else "error"
    print(f"kreinflow {kind}: {error}", file=sys.stderr)
    return error.exit_code


def _give_up_output() -> None:
    """Let what standard output still holds go nowhere: it cannot be written at the end, either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _add_alignment_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        help="threads of the alignment (default: all); the result does not depend on them",
    )
    command.add_argument(
        "--strand",
        choices=("given", "both"),
        default="given",
        help="both: take the better strand of nucleotides (default: given)",
    )


def _check(options: argparse.Namespace) -> None:
    """Do all that the workflow checks before its first alignment."""
    from kreinflow.configuration import load_configuration
    from kreinflow.preflight import check_budgets, check_given, check_self_scores
    from kreinflow.scores import read_scheme, transforms_of
    from kreinflow.sequences.files import check_file, check_results, counted
    from kreinflow.sequences.folds import assign_folds
    from kreinflow.sequences.labels import differ_in_case
    from kreinflow.sequences.partition import partition_of
    from kreinflow.sequences.sources.registry import make_source
    from kreinflow.sequences.strands import strand_advice
    from kreinflow.sequences.unknown import without_unknown

    config = load_configuration(options.config)
    data = Path(options.data if options.data is not None else config["data"])
    recipes = {recipe["name"]: recipe for recipe in config["recipes"]}
    check_results(Path(config["results"]))
    for request in config["classify"].values():
        check_file(data / request["input"])
    for name, part in config["datasets"].items():
        source = make_source(part["source"], data)
        whole = source.load(source.alphabet(part["scoring"]), config["seed"], part["unknown"])
        dataset = without_unknown(whole, part["unknown"])
        partition = partition_of(
            assign_folds(part["folds"], dataset, config["seed"], data, part["source"]), dataset
        )
        selectors = {recipes[r]["selector"] for r in part["recipes"]}
        budgets = [config["selectors"][s].get("budget") for s in selectors]
        selectors |= {b for b in budgets if isinstance(b, str)}  # they lend their number
        settings = {s: config["selectors"][s] for s in sorted(selectors)}
        check_budgets(dataset, partition, settings)
        check_given(dataset, partition, settings, data)
        scheme = read_scheme(dataset, part["scoring"], data)
        wanted = {recipes[r]["transform"] for r in part["recipes"]}
        wanted |= {config["selectors"][s].get("transform", "raw") for s in selectors}
        check_self_scores(
            whole, scheme, transforms_of(sorted(wanted), config["transforms"], scheme)
        )
        for first, second in differ_in_case(whole.classes):
            print(
                f"kreinflow: {name}: the classes {first!r} and {second!r} differ in upper and "
                "lower case only. Correct the labels if they are the same.",
                file=sys.stderr,
            )
        if advice := strand_advice(dataset.statistics.get("other_strand")):
            print(f"kreinflow: {name}: {advice}", file=sys.stderr)
        drops = {r: entry["count"] for r, entry in dataset.statistics["dropped"].items()}
        why = ", ".join(f"{count} {reason}" for reason, count in drops.items())
        held, unlabelled = len(whole.ids) - len(dataset.ids), len(dataset.unlabelled)
        print(
            f"{name}: {len(dataset.ids)} records ({sum(drops.values())} dropped"
            f"{f': {why}' if why else ''}"
            f"{f', {held} held out as unknown' if held else ''}"
            f"{f', {unlabelled} to be classified' if unlabelled else ''}), "
            f"{len(dataset.digests)} "
            f"distinct, {len(dataset.classes)} classes, {counted(len(partition.names), 'fold')}, "
            f"{counted(len(part['recipes']), 'recipe')}: ready to run"
        )


def _print_schema(options: argparse.Namespace) -> None:
    import json

    from kreinflow.configuration import schema

    print(json.dumps(schema(), indent=2, ensure_ascii=False))


def _classify(options: argparse.Namespace) -> None:
    import numpy as np
    import pandas as pd

    from kreinflow.alignment.backends import backend_named
    from kreinflow.artifacts import table_text
    from kreinflow.classify.classification import classify_batches, first_faults
    from kreinflow.classify.model_file import Model
    from kreinflow.sequences.files import counted

    _refuse_same("-o", options.output, options.model, options.input)
    model = Model.load(options.model)
    if options.landmarks:
        classes = np.array(model.classifier.classes, dtype=object)
        labels = classes[model.classifier.landmark_classes]
        with _output(options.output) as write:
            write(table_text(pd.DataFrame({"id": model.landmark_ids, "label": labels})))
        return
    if options.input is None:
        raise InputError(
            "classify: name the FASTA file, matrix or vectors to classify behind the model."
        )
    _check_threads(options)
    if options.backend == "pyopal" and model.scheme is not None and model.scheme.mode != "local":
        raise InputError(
            f"--backend pyopal: the model's alignments are {model.scheme.mode}, which pyopal "
            "cannot make. Use parasail."
        )

    on_fault = None if options.strict else first_faults(lambda line: print(line, file=sys.stderr))
    start, done, faults, flagged = time.monotonic(), 0, 0, 0
    with _output(options.output) as write:
        for table in classify_batches(
            model,
            Path(options.input),
            options.threads,
            options.strand == "both",
            on_fault,
            backend_named(options.backend),
        ):
            write(table_text(table, header=done == 0))
            done += len(table)
            faults += int((table["problem"] != "").sum())
            flagged += int((table["reject"] == "yes").sum())
            if sys.stderr.isatty():
                rate = done / max(time.monotonic() - start, 1e-9)
                print(f"{done} records, {rate:.0f} a second", end="\r", file=sys.stderr, flush=True)
    print(
        f"kreinflow: {counted(done, 'record')}: {done - faults} classified, {flagged} of them "
        f"flagged; {faults} not classified",
        file=sys.stderr,
    )


def _inspect(options: argparse.Namespace) -> None:
    import json

    from kreinflow.classify.inspection import describe_model, description_text
    from kreinflow.classify.model_file import Model

    description = describe_model(Model.load(options.model))
    if options.json:
        print(json.dumps(description, indent=2, ensure_ascii=False))
    else:
        print(printable(description_text(description)), end="")


def _export(options: argparse.Namespace) -> None:
    from kreinflow.classify.inspection import export_landmarks
    from kreinflow.classify.model_file import Model

    path = Path(options.landmarks)
    _refuse_same("--landmarks", options.landmarks, options.model)
    model = Model.load(options.model)
    _check_writable("--landmarks", path)
    export_landmarks(model, path)


def _explain(options: argparse.Namespace) -> None:
    from kreinflow.artifacts import table_text
    from kreinflow.classify.explanation import alignments, explain, explanation_text
    from kreinflow.classify.model_file import Model

    _check_threads(options)
    _refuse_same("-o", options.output, options.model, options.input)
    if options.show < 1:
        raise InputError(f"--show {options.show}: give at least 1.")
    model = Model.load(options.model)
    path, both = Path(options.input), options.strand == "both"
    found = explain(model, path, options.id, options.threads, both)
    text = explanation_text(found, options.show)
    if options.alignment:
        for id, alignment in alignments(model, found, options.show):
            text += "\n" + "\n".join(alignment.lines((found.id, id))) + "\n"
    if options.output is not None:
        with _output(options.output) as write:
            write(table_text(found.table))
    print(text, end="")


def _check_threads(options: argparse.Namespace) -> None:
    if options.threads < 1:
        raise InputError(f"--threads {options.threads}: give at least 1.")


@contextmanager
def _output(path: str | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes text to the screen, or to a file that appears when all is done.

    A name that ends in ``.gz`` is packed.

    Raises
    ------
    InputError
        If the file cannot be written where it is asked for.
    """
    from kreinflow.artifacts import replacing

    if path is None:
        yield lambda text: print(text, end="")
        return
    target = Path(os.path.realpath(path))  # a link stays one
    with ExitStack() as stack:
        part = target
        if not os.path.exists(target) or not _is_device(target):  # else nothing is to be replaced
            _check_writable("-o", Path(path))
            part = stack.enter_context(replacing(target))
        file: BinaryIO = stack.enter_context(part.open("wb"))
        if target.suffix == ".gz":
            packed = gzip.GzipFile("", "wb", 6, file, mtime=0)
            file = stack.enter_context(cast(BinaryIO, packed))
        yield lambda text: _write(file, text)


def _refuse_same(option: str, output: str | None, *inputs: str | None) -> None:
    """Refuse to write over what is read."""
    for path in inputs:
        if not (output and path and os.path.isfile(output) and os.path.isfile(path)):
            continue
        if os.path.samefile(output, path):
            raise InputError(f"{option} {output}: is what is read. Name another file.")


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _check_writable(option: str, path: Path) -> None:
    """Refuse what cannot be a new file, before the work is done."""
    try:
        if path.is_dir():
            raise InputError(f"{option} {path}: is a folder. Name a file in it.")
        if _is_device(path):
            raise InputError(f"{option} {path}: is not a plain file. Name another one.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(
            f"{option} {path}: cannot be written ({error.strerror}). Name another file."
        ) from error


def _write(file: BinaryIO, text: str) -> None:
    file.write(text.encode())


if __name__ == "__main__":
    sys.exit(main())
