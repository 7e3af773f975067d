"""Machine code for lists of pairs: landmarks that differ from lane to lane.

There is no profile then. Each landmark has a slot in two vectors of tables; a row of tables holds
the scores of one letter of each landmark. A lane's columns are places in the tables: the letter's
place in the slot of the lane's landmark. All else is the kernel of
:mod:`kreinflow.alignment.vector_code`.
"""

from functools import cache
from typing import Literal

from kreinflow.alignment.vector_code import (
    COLUMNS,
    ScoreText,
    VectorCode,
    align_text,
    compiled_code,
    features_here,
    lines_of,
    transposition,
)

Lookup = Literal["permute", "shuffle"]
"""How bytes are found in two vectors: among all, or among the 16 bytes of each beside the place."""

_INSTRUCTIONS = {
    ("permute", 64): "llvm.x86.avx512.vpermi2var.qi.512",
    ("shuffle", 64): "llvm.x86.avx512.pshuf.b.512",
    ("shuffle", 32): "llvm.x86.avx2.pshuf.b",
}


def lookup_here(lanes: int) -> Lookup | None:
    """Return how so many bytes are found fastest here, None if the processor cannot."""
    features = features_here()
    if lanes == 64 and features.get("avx512vbmi"):
        return "permute"
    return "shuffle" if lanes >= 32 and features.get("avx2") else None


@cache
def lookup_code(lanes: int, bits: int, lookup: Lookup) -> VectorCode:
    """Compile the functions for rows of tables; a vector has 32 or 64 bytes.

    ``lay`` (places, stride, squares, columns) turns the bytes of each lane, at multiples of
    ``stride``, into vectors of a byte for each lane: 16 columns for each of the ``squares``.
    ``align`` takes these for the profile, and for the letters the rows: two vectors of tables each.
    """
    text = align_text(lanes, bits, _from_tables(lanes, bits, lookup)) + _columns_text(lanes)
    return compiled_code(lanes, bits, text)


def _from_tables(lanes: int, bits: int, lookup: Lookup) -> ScoreText:
    """Return the text that looks up a vector of bytes: a column's scores, or two of 16 bits."""
    size, at_once = lanes * bits // 8, bits // 8
    kind, name = f"<{size} x i8>", f"@{_INSTRUCTIONS[lookup, size]}"
    of_group: list[str] = []
    of_columns: list[list[str]] = []
    of_row = [
        line
        for k in range(2)
        for line in (
            f"%table.place{k} = getelementptr [2 x {kind}], ptr %letters, i64 %i, i64 {k}",
            f"%table{k} = load {kind}, ptr %table.place{k}",
        )
    ]
    for c in range(COLUMNS):
        steps, first, found = [], c % at_once * lanes, f"%score{c}"
        if at_once > 1:
            found = f"%found{c - c % at_once}"
        if first == 0:
            of_group += [
                f"%at.place{c} = getelementptr {kind}, ptr %base, i64 {c // at_once}",
                f"%at{c} = load {kind}, ptr %at.place{c}",
            ]
            if lookup == "permute":
                three = f"{kind} %table0, {kind} %at{c}, {kind} %table1"
                steps = [f"{found} = call {kind} {name}({three})"]
            else:  # a place below 0 finds 0, others what their last four bits say
                of_group += [
                    f"%at{c}.{k} = add {kind} %at{c}, <{', '.join([f'i8 {by}'] * size)}>"
                    for k, by in enumerate((112, -16))
                ]
                steps = [
                    f"%part{c}.{k} = call {kind} {name}({kind} %table{k}, {kind} %at{c}.{k})"
                    for k in range(2)
                ]
                steps.append(f"{found} = or {kind} %part{c}.0, %part{c}.1")
        if at_once > 1:
            order = ", ".join(f"i32 {lane}" for lane in range(first, first + lanes))
            steps += [
                f"%bytes{c} = shufflevector {kind} {found}, {kind} poison, "
                f"<{lanes} x i32> <{order}>",
                f"%score{c} = sext <{lanes} x i8> %bytes{c} to <{lanes} x i{bits}>",
            ]
        of_columns.append(steps)
    arguments = ", ".join([kind] * (3 if lookup == "permute" else 2))
    return ScoreText(of_group, of_row, of_columns, f"declare {kind} {name}({arguments})")


def _columns_text(lanes: int) -> str:
    rows = [
        line
        for lane in range(lanes)
        for line in (
            f"%lane{lane} = mul i64 %stride, {lane}",
            f"%from{lane} = getelementptr i8, ptr %part, i64 %lane{lane}",
        )
    ]
    return f"""
define i64 @lay(ptr noalias readonly %places, i64 %stride, i64 %squares, ptr noalias %out) {{
entry:
  br label %square
square:
  %n = phi i64 [0, %entry], [%n.next, %square]
  %shift = mul i64 %n, 16
  %part = getelementptr i8, ptr %places, i64 %shift
  %place = getelementptr [16 x <{lanes} x i8>], ptr %out, i64 %n
  {lines_of(rows + transposition(lanes, 8, 1))}
  %n.next = add i64 %n, 1
  %n.more = icmp ult i64 %n.next, %squares
  br i1 %n.more, label %square, label %done
done:
  ret i64 0
}}
"""
