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
from sequence_pairs import AMINO_ACIDS, PREFIX, all_pairs, parasail_scores, scheme_of

NCBI = """# comment
   A  C  G  T
A  5 -4 -4 -4
C -4  5 -4 -4
G -4 -4  5 -4
T -4 -4 -4  5
"""


@pytest.mark.parametrize("name", ["blosum62", "pam250", "dnafull"])
def test_built_in_matrices_score_letters_as_parasail_does(name):
    matrix = load_substitution_matrix(name)
    theirs = getattr(parasail, name)
    for i, a in enumerate(matrix.alphabet):
        for j, b in enumerate(matrix.alphabet):
            found = parasail.nw(a, b, 100, 100, theirs).score
            assert matrix.scores[i, j] == found, (a, b)


@pytest.mark.parametrize("text", [NCBI, NCBI.replace("\n", "\n\n# between\n")])
def test_file_in_ncbi_format(tmp_path, text):
    (tmp_path / "mine.txt").write_text(text)
    matrix = load_substitution_matrix("mine.txt", tmp_path)
    assert matrix.alphabet == "ACGT"
    assert np.array_equal(matrix.scores, 9 * np.eye(4) - 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NCBI.replace("C -4", "C -3"), "not symmetric, A against C is -4 one way and -3"),
        (NCBI.replace("T -4 -4 -4  5\n", ""), "no row for T"),
        (NCBI.replace("G -4 -4  5 -4", "G -4 -4  5"), "line 5: a row must be"),
        (NCBI.replace("5 -4 -4 -4", "5 -4 x -4"), "line 3: a row must be"),
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap_open": -1}, "gap_open: -1 is not an integer between"),
        ({"gap_open": 10_001}, "gap_open: 10001 is not an integer between 0 and 10000"),
        ({"gap_open": 1, "gap_extend": 2}, "gap_open: 1 is less than gap_extend"),
        ({"gap_open": 1.5}, "not an integer"),
        ({"mode": "glocal"}, "mode: 'glocal' is not one of local, global, semiglobal"),
        ({"name": "blosm62"}, "Did you mean 'blosum62'"),
    ],
)
def test_bad_scheme_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        scheme_of(**change)


def test_digest_follows_the_content():
    changes = ({}, {"factor": 2}, {"gap_open": 12}, {"gap_extend": 2}, {"mode": "global"})
    schemes = [scheme_of(**change) for change in changes]
    assert len({scheme.digest for scheme in schemes}) == 5
    base = schemes[0].matrix
    renamed = ScoringScheme(SubstitutionMatrix("mine", base.alphabet, base.scores))
    assert renamed.digest == schemes[0].digest
    for scheme in schemes:
        again = ScoringScheme.from_dict(json.loads(json.dumps(scheme.to_dict())))
        assert (again.digest, again.matrix.name) == (scheme.digest, "blosum62")
    with pytest.raises(InputError, match="version 99"):
        ScoringScheme.from_dict(renamed.to_dict() | {"alignment_version": 99})


@pytest.mark.parametrize("mode", list(PREFIX))
def test_the_bound_holds_and_is_reached(mode):
    """Far apart, it is the cost of two gaps that hold all letters, if ends are not free."""
    rng, scheme = np.random.default_rng(5), scheme_of(mode=mode)
    sequences = [rng.choice(AMINO_ACIDS, size).tobytes() for size in (1, 4, 30, 200)]
    scores = parasail_scores(sequences, *all_pairs(range(4), range(4)), scheme)
    assert np.abs(scores).max() <= scheme.score_bound(sequences)
    assert scores.max() == scheme.score_bound(sequences) or mode != "local"
    never = SubstitutionMatrix("never", "AC", -np.ones((2, 2), dtype=np.int32))
    scheme = ScoringScheme(never, 11, 3, mode)
    loss = 0 if mode == "local" else 2
    assert scheme.score_bound([b"AC", b"A" * 50, b"C"]) == loss * (11 + 50 * 3)
    assert scheme.score_bound([]) == loss * 11
    big = SubstitutionMatrix("big", "A", np.array([[10_000]], dtype=np.int32))
    with pytest.raises(InputError, match="do not fit 32 bits"):
        ScoringScheme(big, 1, 0).score_bound([b"A" * 200_000])
