"""Alignments traced back: their columns add up to the score that the engine gives."""

from itertools import groupby

import numpy as np
import pytest

from kreinflow.alignment import traceback as module
from kreinflow.alignment.engine import align_pairs, pack
from kreinflow.alignment.traceback import aligned_identity, trace
from sequence_pairs import AMINO_ACIDS, related_pair, scheme_of


def gapped_pair(rng):
    """Two sequences that differ by two deletions, a few residues and what stands around them."""
    whole = rng.choice(AMINO_ACIDS, 100)
    changed = np.where(rng.random(100) < 0.1, rng.choice(AMINO_ACIDS, 100), whole)
    short = np.delete(changed, [*range(30, 30 + rng.integers(1, 5)), *range(70, 72)])
    ends = [rng.choice(AMINO_ACIDS, rng.integers(0, 20)) for _ in range(4)]
    a = np.concatenate([ends[0], whole, ends[1]])
    b = np.concatenate([ends[2], short, ends[3]])
    return (a.tobytes(), b.tobytes()) if rng.random() < 0.5 else (b.tobytes(), a.tobytes())


def score_of_columns(alignment, scheme):
    """The score of an alignment, column by column: what the gap convention says."""
    places = {letter: i for i, letter in enumerate(scheme.matrix.alphabet)}
    total = 0
    for a, b in zip(alignment.first, alignment.second, strict=True):
        if "-" not in (a, b):
            total += int(scheme.matrix.scores[places[a], places[b]])
    for row in (alignment.first, alignment.second):
        for sign, run in groupby(row):
            if sign == "-":
                total -= scheme.gap_open + (len(list(run)) - 1) * scheme.gap_extend
    return total


@pytest.mark.parametrize(
    "scheme",
    [
        scheme_of(),
        scheme_of(gap_open=5, gap_extend=5),
        scheme_of("pam120", 12, 2),
        scheme_of(mode="global"),
        scheme_of(mode="semiglobal"),
        scheme_of(mode="semiglobal", gap_open=2, gap_extend=2),
    ],
)
def test_the_columns_add_up_to_the_score_of_the_engine(scheme):
    rng = np.random.default_rng(3)
    gaps = 0
    for number in range(150):
        a, b = gapped_pair(rng) if number % 2 else related_pair(rng, 120)
        one = np.zeros(1, dtype=np.int32)
        (score,) = align_pairs(pack([a, b], scheme), one, one + 1)
        alignment = trace(a, b, scheme)
        assert alignment.score == score
        assert score_of_columns(alignment, scheme) == score
        gaps += alignment.first.count("-") + alignment.second.count("-")
        for row, start, whole in (
            (alignment.first, alignment.first_start, a),
            (alignment.second, alignment.second_start, b),
        ):
            residues = row.replace("-", "").encode()
            assert whole[start - 1 : start - 1 + len(residues)] == residues
            if scheme.mode == "global":
                assert residues == whole
    assert gaps > 100


def test_the_text_of_an_alignment():
    first = b"W" * 30 + b"MKVLAAGIVR" * 5
    second = b"MKVLAAGIVR" * 2 + b"MKVLRAGI" + b"VR" + b"MKVLAAGIVR" * 2
    lines = trace(first, second, scheme_of()).lines(("query", "landmark"), width=40)
    score = trace(first, second, scheme_of()).score
    assert lines == [
        f"query and landmark: score {score}, 49 of 50 columns identical (98 %)",
        "",
        "query    31 MKVLAAGIVRMKVLAAGIVRMKVLAAGIVRMKVLAAGIVR 70",
        "            |||||||||||||||||||||||| |||||||||||||||",
        "landmark  1 MKVLAAGIVRMKVLAAGIVRMKVLRAGIVRMKVLAAGIVR 40",
        "",
        "query    71 MKVLAAGIVR 80",
        "            ||||||||||",
        "landmark 41 MKVLAAGIVR 50",
    ]
    nothing = trace(b"WWW", b"DDD", scheme_of())
    assert nothing.lines(("a", "b")) == ["a and b: score 0, no residues are aligned"]
    part = b"MKVLAAGIVRWDE"
    gapped = trace(part * 4, part * 2 + part[:9] + part, scheme_of())
    assert (gapped.first, gapped.second.count("-")) == ((part * 4).decode(), 4)
    assert gapped.lines(("a", "b"))[4] == f"b  1 {gapped.second} 48"


@pytest.mark.parametrize("mode", ["local", "global", "semiglobal"])
@pytest.mark.parametrize("gaps", [(11, 1), (5, 5)])
def test_16_bits_trace_what_32_trace(mode, gaps, monkeypatch):
    rng = np.random.default_rng(8)
    scheme = scheme_of("blosum62", *gaps, mode)
    pairs = [gapped_pair(rng) for _ in range(15)] + [related_pair(rng, 400) for _ in range(15)]
    short = [(trace(*pair, scheme), aligned_identity(*pair, scheme)) for pair in pairs]
    asked = []
    wide = module.parasail
    names = {name: getattr(wide, name) for name in dir(wide) if "_trace_scan_" in name}
    for name, own in names.items():
        monkeypatch.setattr(wide, name, lambda *of, n=name, f=own: asked.append(n) or f(*of))
    monkeypatch.setattr(module, "_LARGEST_SUM", 0)
    for pair, (alignment, identity) in zip(pairs, short, strict=True):
        assert trace(*pair, scheme) == alignment
        np.testing.assert_equal(aligned_identity(*pair, scheme), identity)
        columns = len(alignment.marks)
        np.testing.assert_equal(identity, alignment.identical / columns if columns else np.nan)
    assert {name[-2:] for name in asked} == {"32"}
    monkeypatch.setattr(module, "_LARGEST_SUM", 1 << 14)
    asked.clear()
    long = [b"W" * 900] * 2  # of 11 each: 1,800 residues may sum up to more than 2^14
    assert trace(*long, scheme).score == 9900
    aligned_identity(*pairs[0], scheme)
    assert [name[-2:] for name in asked] == ["32", "16"]
