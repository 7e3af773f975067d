"""How much of what the machine can calculate the backend "auto" uses: alignment.py --peak.

The limit is the speed of a loop without memory, of the operations that a vector of cells needs at
least: six maxima and four plain additions (see methods.md). The loop is LLVM IR, like the kernel of
the backend, but not its text.
"""

import ctypes
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from alignment_peers import AMINO_ACIDS, SCHEME, compile_bare_loop
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import pack

ASKED = 0.6  # of the limit

LANES = (32, 64)
CHAINS = (3, 4, 6)  # steps at once: too few wait for each other, too many have no registers
_STEPS = 4_000_000

SIZES = {150: (2048, 100), 370: (1024, 100), 1000: (512, 40), 3000: (256, 16)}
"""Rows and landmarks by the length of both."""


def loop_text(lanes: int, chains: int) -> str:
    """Return the loop as LLVM IR: steps of ``chains`` vectors of cells.

    A step's cells read what those of the step before left in registers: E, F and H, which stands
    for the diagonal. So no operation can be left out, and none waits for those of another chain,
    but for the best. Memory holds the constants and the start.
    """
    vector = f"<{lanes} x i8>"
    lines = [
        f"declare {vector} @llvm.smax.v{lanes}i8({vector}, {vector})",
        "define void @loop(i64 %steps, ptr %given) {",
        "start:",
    ]

    def add(name: str, a: str, b: str, operation: str = "add") -> None:
        lines.append(f"%{name} = {operation} {vector} %{a}, %{b}")

    def largest(name: str, a: str, b: str) -> None:
        call = f"call {vector} @llvm.smax.v{lanes}i8({vector} %{a}, {vector} %{b})"
        lines.append(f"%{name} = {call}")

    def carried(name: str, first: str, following: str) -> None:
        lines.append(f"%{name} = phi {vector} [%{first}, %start], [%{following}, %step]")

    constants = ["zero", "score", "floor", "open", "extend"]
    for place, name in enumerate([*constants, *(f"first{c}" for c in range(chains))]):
        lines.append(f"%to_{name} = getelementptr {vector}, ptr %given, i64 {place}")
        lines.append(f"%{name} = load {vector}, ptr %to_{name}, align 1")
    lines += ["br label %step", "step:", "%done = phi i64 [0, %start], [%more, %step]"]
    carried("best", "zero", f"best{chains - 1}")
    for c in range(chains):
        carried(f"d{c}", f"first{c}", f"h{c}")
        carried(f"e{c}", f"first{c}", f"next_e{c}")
        carried(f"f{c}", "zero", f"next_f{c}")
    for c in range(chains):
        add(f"match{c}", f"d{c}", "score")
        largest(f"above{c}", f"match{c}", f"f{c}")
        largest(f"h{c}", f"above{c}", f"e{c}")
        largest(f"best{c}", f"best{c - 1}" if c else "best", f"h{c}")
        largest(f"floored{c}", f"h{c}", "floor")
        add(f"opened{c}", f"floored{c}", "open", "sub")
        add(f"longer_e{c}", f"e{c}", "extend", "sub")
        add(f"longer_f{c}", f"f{c}", "extend", "sub")
        largest(f"next_e{c}", f"longer_e{c}", f"opened{c}")
        largest(f"next_f{c}", f"longer_f{c}", f"opened{c}")
    lines += [
        "%more = add i64 %done, 1",
        "%again = icmp ult i64 %more, %steps",
        "br i1 %again, label %step, label %end",
        "end:",
    ]
    last = f"best{chains - 1}"  # of all that is carried, so that all is needed
    for c in range(chains):
        largest(f"with_e{c}", last, f"next_e{c}")
        largest(f"with_f{c}", f"with_e{c}", f"next_f{c}")
        last = f"with_f{c}"
    return "\n".join([*lines, f"store {vector} %{last}, ptr %given, align 1", "ret void", "}"])


def compiled_loop(lanes: int, chains: int) -> Callable[[int], None]:
    """Compile the loop for this processor; return what runs it for a number of steps."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(loop_text(lanes, chains))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(
        engine.get_function_address("loop")
    )
    zero, gap_open, gap_extend = -124, SCHEME.gap_open, SCHEME.gap_extend
    constants = np.array([zero, 4, zero + gap_open, gap_open, gap_extend], dtype=np.int8)
    firsts = zero + np.arange(chains * lanes) % 13
    given = np.concatenate([np.repeat(constants, lanes), firsts.astype(np.int8)])

    def run(steps: int) -> None:
        assert engine  # which owns the machine code
        own = given.copy()
        function(steps, own.ctypes.data)

    return run


def least_seconds(runs: dict[Any, Callable[[], object]], repeats: int) -> dict[Any, float]:
    """Return the least processor seconds of each run, interleaved."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best


def peak(quick: bool, repeats: int) -> bool:
    """Print how far the backend is, with one thread, from the limit; return whether 60 %."""
    align = backend_named("auto")
    runs: dict[Any, Callable[[], object]] = {}
    for lanes in LANES:
        for chains in CHAINS:
            runs[lanes, chains] = partial(compiled_loop(lanes, chains), _STEPS // chains)
    additions = 100_000_000
    cells: dict[int, int] = {}
    for length, (n, m) in SIZES.items():
        rows, columns = (n // 16, max(m // 16, 1)) if quick else (n, m)
        random = np.random.default_rng(3)
        drawn = [random.choice(AMINO_ACIDS, length).tobytes() for _ in range(rows + columns)]
        packed = pack(drawn, SCHEME)
        sides = np.arange(rows), np.arange(rows, rows + columns)
        align(packed, *sides)  # compiles what is to be compiled
        runs[length] = partial(align, packed, *sides)
        cells[length] = rows * columns * length * length
    with tempfile.TemporaryDirectory() as folder:
        library = compile_bare_loop(Path(folder))
        runs["clock"] = lambda: library.dependent_additions(ctypes.c_int64(additions))
        seconds = least_seconds(runs, repeats)
    speeds = {
        lanes: max(lanes * (_STEPS // c) * c / seconds[lanes, c] / 1e9 for c in CHAINS)
        for lanes in LANES
    }
    limit, clock = max(speeds.values()), additions / seconds["clock"] / 1e9
    print(
        f"\nOne thread, processor seconds, best of {repeats} interleaved repeats. Clock, by "
        f"additions that need each other: {clock:.2f} GHz. A loop without memory of six maxima and "
        "four plain additions for each vector of cells: "
        + ", ".join(f"{speed:.1f} GCUPS with {lanes} lanes" for lanes, speed in speeds.items())
        + f". The limit is {limit:.1f} GCUPS, {limit / clock:.1f} cells a cycle.\n"
    )
    print("| length of both | pairs | GCUPS | of the limit | asked | |\n|---|---|---|---|---|---|")
    met = True
    for length in cells:
        speed = cells[length] / seconds[length] / 1e9
        good = speed >= ASKED * limit
        met &= good
        print(
            f"| {length:,} | {cells[length] // length**2:,} | {speed:.1f} | "
            f"{100 * speed / limit:.0f} % | {100 * ASKED:.0f} % | {'met' if good else 'MISSED'} |"
        )
    return met
