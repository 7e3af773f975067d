import json

import numpy as np
import parasail
import pytest

from kreinflow.alignment.scoring import (
    ScoringScheme,
    SubstitutionMatrix,
    load_substitution_matrix,
)
from kreinflow.base.errors import InputError
from sequence_pairs import PREFIX, all_pairs, parasail_scores

NCBI = """# comment
   A  C  G  T
A  5 -4 -4 -4
C -4  5 -4 -4
G -4 -4  5 -4
T -4 -4 -4  5
"""


@pytest.fixture
def blosum62():
    return load_substitution_matrix("blosum62")


@pytest.mark.parametrize("name", ["blosum62", "pam250", "dnafull"])
def test_built_in_matrices_score_letters_as_parasail_does(name):
    matrix = load_substitution_matrix(name)
    theirs = getattr(parasail, name)
    for i, a in enumerate(matrix.alphabet):
        for j, b in enumerate(matrix.alphabet):
            found = parasail.nw(a, b, 100, 100, theirs).score
            assert matrix.scores[i, j] == found, (a, b)


def test_file_in_ncbi_format(tmp_path):
    (tmp_path / "mine.txt").write_text(NCBI)
    matrix = load_substitution_matrix("mine.txt", tmp_path)
    assert matrix.alphabet == "ACGT"
    assert np.array_equal(matrix.scores, 9 * np.eye(4) - 4)
    (tmp_path / "mine.txt").write_text(NCBI.replace("\n", "\n\n# between\n"))
    again = load_substitution_matrix("mine.txt", tmp_path)
    assert np.array_equal(again.scores, matrix.scores)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NCBI.replace("C -4", "C -3"), "not symmetric, A against C is -4 one way and -3"),
        (NCBI.replace("T -4 -4 -4  5\n", ""), "no row for T"),
        (NCBI.replace("G -4 -4  5 -4", "G -4 -4  5"), "line 5: a row must be"),
        (NCBI.replace("5 -4 -4 -4", "5 -4 x -4"), "line 3: a row must be"),
        (NCBI.replace("5 -4 -4 -4", "5 -4 1_0 -4"), "line 3: a row must be"),
        (NCBI.replace("5 -4 -4 -4", f"{'9' * 30} -4 -4 -4"), "line 3: a row must be"),
        (NCBI.replace("A  C  G", "A  CC  G"), "no substitution matrix"),
        ("# nothing\n", "no substitution matrix"),
        (NCBI.replace("A  C  G", "A  A  G"), "line 4: a row must be"),
        (NCBI.replace("5", "10001"), "exceeds 10000"),
    ],
)
def test_bad_file_is_named(tmp_path, text, message):
    (tmp_path / "mine.txt").write_text(text)
    with pytest.raises(InputError, match=f"mine.txt.*{message}"):
        load_substitution_matrix("mine.txt", tmp_path)


def test_unknown_name_gets_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'blosum62'"):
        load_substitution_matrix("blosm62")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap_open": -1}, "gap_open: -1 is not an integer between"),
        ({"gap_open": 10_001}, "gap_open: 10001 is not an integer between 0 and 10000"),
        ({"gap_open": 1, "gap_extend": 2}, "gap_open: 1 is less than gap_extend"),
        ({"gap_open": 1.5}, "not an integer"),
        ({"mode": "glocal"}, "mode: 'glocal' is not one of local, global, semiglobal"),
    ],
)
def test_bad_scheme_is_refused(blosum62, change, message):
    with pytest.raises(InputError, match=message):
        ScoringScheme(blosum62, **change)


def test_digest_follows_the_content(blosum62):
    base = ScoringScheme(blosum62).digest
    renamed = SubstitutionMatrix("mine", blosum62.alphabet, blosum62.scores)
    other = blosum62.scores.copy()
    other[0, 0] += 1
    changed = SubstitutionMatrix("blosum62", blosum62.alphabet, other)
    assert ScoringScheme(renamed).digest == base
    digests = {
        base,
        ScoringScheme(changed).digest,
        ScoringScheme(blosum62, 12).digest,
        ScoringScheme(blosum62, 11, 2).digest,
        ScoringScheme(blosum62, mode="global").digest,
    }
    assert len(digests) == 5


def test_dict_round_trip(blosum62):
    scheme = ScoringScheme(blosum62, 12, 2, "semiglobal")
    again = ScoringScheme.from_dict(json.loads(json.dumps(scheme.to_dict())))
    assert again.digest == scheme.digest
    assert again.matrix.name == "blosum62"


def test_a_scheme_of_another_version_is_refused(blosum62):
    with pytest.raises(InputError, match="version 99"):
        ScoringScheme.from_dict(ScoringScheme(blosum62).to_dict() | {"alignment_version": 99})


@pytest.mark.parametrize("mode", list(PREFIX))
def test_bound_holds_and_is_reached_by_a_self_score(blosum62, mode):
    rng = np.random.default_rng(5)
    scheme = ScoringScheme(blosum62, mode=mode)
    letters = np.frombuffer(blosum62.alphabet[:20].encode(), dtype=np.uint8)
    sequences = [rng.choice(letters, size).tobytes() for size in (1, 4, 30, 200)]
    bound = scheme.score_bound(sequences)
    scores = parasail_scores(sequences, *all_pairs(range(4), range(4)), scheme)
    assert np.abs(scores).max() <= bound
    assert scores.max() == scheme.score_bound(sequences) or mode != "local"


@pytest.mark.parametrize("mode", list(PREFIX))
def test_the_bound_of_sequences_that_have_nothing_in_common(mode):
    """It is the cost of two gaps that hold all letters of the longest, if ends are not free."""
    never = SubstitutionMatrix("never", "AC", -np.ones((2, 2), dtype=np.int32))
    scheme = ScoringScheme(never, 11, 3, mode)
    loss = 0 if mode == "local" else 2
    assert scheme.score_bound([b"AC", b"A" * 50, b"C"]) == loss * (11 + 50 * 3)
    assert scheme.score_bound([]) == loss * 11


def test_bound_beyond_32_bits_is_refused():
    big = SubstitutionMatrix("big", "A", np.array([[10_000]], dtype=np.int32))
    with pytest.raises(InputError, match="do not fit 32 bits"):
        ScoringScheme(big, 1, 0).score_bound([b"A" * 200_000])
