r"""Machine code for a landmark against a batch of sequences, one in each lane of a register.

llvmlite compiles it from LLVM's generic vector operations for the processor at hand, in some
hundredths of a second. Any number of lanes, and any processor, gives the same scores.

Notes
-----
With H the score of the best alignment that ends in a cell, E and F those that end in a gap, o and e
the costs of a gap's first and further residues, M the substitution matrix and z the number that
stands for zero, a cell takes six maxima and four additions:

.. math::
    H_{ij} &= \max(H_{i-1,j-1} + M_{ij},\ E_{ij},\ F_{ij}), \quad
    G_{ij} = \max(H_{ij},\ z + o) - o \\
    E_{i,j+1} &= \max(E_{ij} - e,\ G_{ij}), \quad F_{i+1,j} = \max(F_{ij} - e,\ G_{ij})

E, F and G are never below z, so H is not, and no sum falls below the type where z leaves room for e
and for the least entry of M. None rises above it where H is at most the largest number less the
largest entry of M. So nothing has to saturate, and processors have more units for plain additions.
A best score above that limit tells that something may have wrapped.

References
----------
T. Rognes, "Faster Smith-Waterman database searches with inter-sequence SIMD parallelisation", BMC
Bioinformatics 12:221 (2011).
"""

import ctypes
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kreinflow.base.numerics import COMPILER_ROOM, check_room

COLUMNS = 4
"""Columns of a batch that a pass goes over at once."""

LETTERS = 32
"""Letters that an alphabet may have: entries of a row of the substitution matrix."""

FEWEST_LANES = 16
"""8-bit lanes of the vectors that all processors have, and in which a profile is transposed."""


@dataclass(frozen=True, eq=False)
class VectorCode:
    """The addresses of the two compiled functions, for vectors of so many lanes and bits a score.

    ``lay`` (codes, columns, matrix, profile, chunks) makes the profile of a batch. ``codes`` holds
    for each column a byte for each lane; ``columns`` is a multiple of :data:`COLUMNS`; a row of the
    matrix has :data:`LETTERS` entries; ``chunks`` of 16 bytes of it are used. The vector of a
    column and a letter is number ``(column // 4 * letters + letter) * 4 + column % 4``.

    ``align`` (profile, groups of columns, bytes of a group, letters, number of letters, states, z,
    z + o, o, e, scores) aligns a landmark with the batch. ``letters`` are 32-bit offsets in a
    group, ``states`` has room for two vectors for each of them, ``scores`` takes 32-bit integers:
    the best H of each lane. Vectors lie at multiples of 64 bytes.
    """

    lanes: int
    bits: int
    lay: int
    align: int
    engine: Any

    @property
    def vector_bytes(self) -> int:
        """Return the size of a vector."""
        return self.lanes * self.bits // 8


@dataclass(frozen=True)
class ScoreText:
    """Text that gets the scores of a row of a group of columns, ``%score0`` to ``%score3``.

    It goes where the group is at ``%base``, row ``%i`` begins, and a column's score is needed.
    """

    of_group: list[str]
    of_row: list[str]
    of_columns: list[list[str]]
    declared: str = ""


def _from_profile(lanes: int, bits: int) -> ScoreText:
    """Return the text that reads the vector of a letter and a column in a profile."""
    vector = f"<{lanes} x i{bits}>"
    of_row = [
        "%letter.place = getelementptr i32, ptr %letters, i64 %i",
        "%letter = load i32, ptr %letter.place",
        "%offset = zext i32 %letter to i64",
        "%scores = getelementptr i8, ptr %base, i64 %offset",
    ]
    of_columns = [
        [
            f"%place{c} = getelementptr {vector}, ptr %scores, i64 {c}",
            f"%score{c} = load {vector}, ptr %place{c}",
        ]
        for c in range(COLUMNS)
    ]
    return ScoreText([], of_row, of_columns)


def align_text(lanes: int, bits: int, scores: ScoreText) -> str:
    """Return the function ``align`` in LLVM's language."""
    vector = f"<{lanes} x i{bits}>"
    maximum = f"call {vector} @llvm.smax.v{lanes}i{bits}"
    steps, inputs, above = [], [], "left"
    best, e = "best", "e"
    for c, of_column in enumerate(scores.of_columns):
        inputs += [
            f"%d{c} = phi {vector} [%zero, %group], [%{above}, %row]",
            f"%f{c} = phi {vector} [%zero, %group], [%below{c}, %row]",
        ]
        steps += [
            *of_column,
            f"%diagonal{c} = add {vector} %d{c}, %score{c}",
            f"%either{c} = {maximum}({vector} %diagonal{c}, {vector} %f{c})",
            f"%h{c} = {maximum}({vector} %either{c}, {vector} %{e})",
            f"%best{c} = {maximum}({vector} %{best}, {vector} %h{c})",
            f"%floored{c} = {maximum}({vector} %h{c}, {vector} %floor)",
            f"%g{c} = sub {vector} %floored{c}, %open",
            f"%shorter{c} = sub {vector} %{e}, %extend",
            f"%e{c} = {maximum}({vector} %shorter{c}, {vector} %g{c})",
            f"%lower{c} = sub {vector} %f{c}, %extend",
            f"%below{c} = {maximum}({vector} %lower{c}, {vector} %g{c})",
        ]
        best, e, above = f"best{c}", f"e{c}", f"h{c}"
    constants = [
        line
        for name in ("zero", "floor", "open", "extend")
        for line in (
            f"%{name}.n = trunc i64 %{name}.i to i{bits}",
            f"%{name}.1 = insertelement {vector} poison, i{bits} %{name}.n, i32 0",
            f"%{name} = shufflevector {vector} %{name}.1, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer",
        )
    ]
    return f"""
declare {vector} @llvm.smax.v{lanes}i{bits}({vector}, {vector})
{scores.declared}

define i64 @align(ptr noalias readonly %columns, i64 %groups, i64 %group_bytes,
    ptr noalias readonly %letters, i64 %m, ptr noalias %states,
    i64 %zero.i, i64 %floor.i, i64 %open.i, i64 %extend.i, ptr noalias %out) {{
entry:
  {lines_of(constants)}
  %number = mul i64 %m, 2
  br label %clear
clear:
  %k = phi i64 [0, %entry], [%k.next, %clear]
  %state = getelementptr {vector}, ptr %states, i64 %k
  store {vector} %zero, ptr %state
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %number
  br i1 %k.more, label %clear, label %group
group:
  %g = phi i64 [0, %clear], [%g.next, %next]
  %best.before = phi {vector} [%zero, %clear], [%{best}, %next]
  %shift = mul i64 %g, %group_bytes
  %base = getelementptr i8, ptr %columns, i64 %shift
  {lines_of(scores.of_group)}
  br label %row
row:
  %i = phi i64 [0, %group], [%i.next, %row]
  %best = phi {vector} [%best.before, %group], [%{best}, %row]
  {lines_of(inputs)}
  {lines_of(scores.of_row)}
  %h.place = getelementptr [2 x {vector}], ptr %states, i64 %i
  %e.place = getelementptr [2 x {vector}], ptr %states, i64 %i, i64 1
  %left = load {vector}, ptr %h.place
  %e = load {vector}, ptr %e.place
  {lines_of(steps)}
  store {vector} %{above}, ptr %h.place
  store {vector} %{e}, ptr %e.place
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %m
  br i1 %i.more, label %row, label %next
next:
  %g.next = add i64 %g, 1
  %g.more = icmp ult i64 %g.next, %groups
  br i1 %g.more, label %group, label %done
done:
  %wide = sext {vector} %{best} to <{lanes} x i32>
  store <{lanes} x i32> %wide, ptr %out, align 4
  ret i64 0
}}
"""


def _profile_text(lanes: int, bits: int) -> str:
    """Return the function ``lay``, which makes a profile.

    16 bytes of a row of the matrix for each lane are transposed at a time.
    """
    vector = f"<{lanes} x i{bits}>"
    rows = [
        line
        for lane in range(lanes)
        for line in (
            f"%code.place{lane} = getelementptr i8, ptr %codes.here, i64 {lane}",
            f"%code{lane} = load i8, ptr %code.place{lane}",
            f"%row{lane} = zext i8 %code{lane} to i64",
            f"%from{lane} = getelementptr <{LETTERS} x i{bits}>, ptr %part, i64 %row{lane}",
        )
    ]
    return f"""
define i64 @lay(ptr noalias readonly %codes, i64 %columns, ptr noalias readonly %matrix,
    ptr noalias %profile, i64 %chunks) {{
entry:
  br label %column
column:
  %j = phi i64 [0, %entry], [%j.next, %next]
  %codes.shift = mul i64 %j, {lanes}
  %codes.here = getelementptr i8, ptr %codes, i64 %codes.shift
  %group = udiv i64 %j, {COLUMNS}
  %inside = urem i64 %j, {COLUMNS}
  %letters = mul i64 %chunks, {128 // bits}
  %first = mul i64 %group, %letters
  br label %chunk
chunk:
  %n = phi i64 [0, %column], [%n.next, %chunk]
  %matrix.shift = mul i64 %n, 16
  %part = getelementptr i8, ptr %matrix, i64 %matrix.shift
  %letter = mul i64 %n, {128 // bits}
  %number = add i64 %first, %letter
  %place = getelementptr [{COLUMNS} x {vector}], ptr %profile, i64 %number, i64 %inside
  {lines_of(rows + transposition(lanes, bits, COLUMNS))}
  %n.next = add i64 %n, 1
  %n.more = icmp ult i64 %n.next, %chunks
  br i1 %n.more, label %chunk, label %next
next:
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, %columns
  br i1 %j.more, label %column, label %done
done:
  ret i64 0
}}
"""


def transposition(lanes: int, bits: int, apart: int) -> list[str]:
    """Return the text that turns 16 bytes of each lane into vectors, one for each entry of these.

    The bytes are at ``%from0`` and so on, and vectors go to ``%place``, each ``apart`` of them.
    16 bytes of as many rows as they hold entries are a square of registers. Interleaving the upper
    with the lower half of them, over and over, transposes all squares at once.
    """
    size = 128 // bits
    square = f"<{size} x i{bits}>"
    lines, registers = [], []

    def shuffled(name: str, kind: str, a: str, b: str, order: list[int]) -> str:
        places = ", ".join(f"i32 {place}" for place in order)
        lines.append(
            f"%{name} = shufflevector {kind} %{a}, {kind} %{b}, <{len(order)} x i32> <{places}>"
        )
        return name

    for lane in range(lanes):
        lines.append(f"%piece{lane} = load {square}, ptr %from{lane}, align 1")
    for r in range(size):
        parts, width = [f"piece{lane}" for lane in range(r, lanes, size)], size
        while len(parts) > 1:
            kind, order = f"<{width} x i{bits}>", list(range(2 * width))
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [
                shuffled(f"merged{r}.{width}.{k}", kind, a, b, order)
                for k, (a, b) in enumerate(pairs)
            ]
            width *= 2
        registers += parts
    kind = f"<{lanes} x i{bits}>"
    halves = [
        [
            place
            for start in range(half, lanes, size)
            for k in range(start, start + size // 2)
            for place in (k, k + lanes)
        ]
        for half in (0, size // 2)
    ]
    for stage in range(size.bit_length() - 1):
        couples = zip(registers[: size // 2], registers[size // 2 :], strict=True)
        registers = [
            shuffled(f"stage{stage}.{k}.{half}", kind, a, b, order)
            for k, (a, b) in enumerate(couples)
            for half, order in enumerate(halves)
        ]
    for letter, register in enumerate(registers):
        lines += [
            f"%to{letter} = getelementptr [{apart} x {kind}], ptr %place, i64 {letter}",
            f"store {kind} %{register}, ptr %to{letter}",
        ]
    return lines


def lines_of(lines: list[str]) -> str:
    """Return lines of a block of a function."""
    return "\n  ".join(lines)


def _llvm() -> Any:
    import llvmlite.binding  # 40 MB, and many jobs align nothing

    return llvmlite.binding


@cache
def vector_code(lanes: int, bits: int) -> VectorCode:
    """Compile the functions for a landmark and a profile.

    ``lanes`` is a multiple of ``128 // bits``, and ``bits`` are 8 or 16.
    """
    text = align_text(lanes, bits, _from_profile(lanes, bits)) + _profile_text(lanes, bits)
    return compiled_code(lanes, bits, text)


def compiled_code(lanes: int, bits: int, text: str) -> VectorCode:
    """Compile the functions ``lay`` and ``align`` of a text for the processor at hand.

    An OSError (``ENOMEM``) says that there is no memory for the compiler, which would end the
    process.
    """
    check_room(COMPILER_ROOM)
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    lay, align = map(engine.get_function_address, ("lay", "align"))
    return VectorCode(lanes, bits, lay, align, engine)


def features_here() -> Mapping[str, bool]:
    """Return what the processor at hand can do, by LLVM's names."""
    features: Mapping[str, bool] = _llvm().get_host_cpu_features()
    return features


@cache
def lanes_here() -> int:
    """Return how many 8-bit lanes are fastest here: 16, 32 or 64, as the processor has them.

    Some with 64 are slower with them than with 32: both are timed, in a tenth of a second.
    """
    features = features_here()
    if features.get("avx512bw"):
        return min((64, 32), key=_seconds_of_a_lane)
    return 32 if features.get("avx2") else FEWEST_LANES


def _seconds_of_a_lane(lanes: int) -> float:
    made, m, groups = vector_code(lanes, 8), 200, 50
    size = made.vector_bytes
    parts = np.cumsum([0, COLUMNS * groups * size, 2 * m * size, 4 * lanes, 4 * m])
    room = np.zeros(parts[-1] + 64, dtype=np.uint8)
    profile, states, out, letters, _ = (room.ctypes.data + -room.ctypes.data % 64 + parts).tolist()
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 11)(made.align)
    best = np.inf
    for _ in range(7):
        begin = time.perf_counter()
        run(profile, groups, COLUMNS * size, letters, m, states, -124, -113, 11, 1, out)
        best = min(best, time.perf_counter() - begin)
    return float(best) / lanes
