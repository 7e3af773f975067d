from itertools import product

import numpy as np
import parasail
import pytest
from scipy.sparse.csgraph import connected_components

from kreinflow.alignment import traceback
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.traceback import aligned_identity, trace
from kreinflow.sequences import identity as module
from kreinflow.sequences import simulation
from kreinflow.sequences.identity import covered, identity, identity_clusters
from sequence_pairs import PREFIX, related_pair, scheme_of

PROTEIN = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", dtype=np.uint8)
NUCLEOTIDE = np.frombuffer(b"ACGT", dtype=np.uint8)


def mutant(random, sequence, letters, share):
    """Exactly this share of the residues changed, ends trimmed by a few."""
    changed = sequence.copy()
    places = random.permutation(len(sequence))[: round(share * len(sequence))]
    for place in places:
        changed[place] = random.choice(letters[letters != changed[place]])
    return changed[random.integers(3) : len(changed) - random.integers(3)]


def test_identity_is_a_share_of_the_shorter_sequence():
    whole = np.random.default_rng(5).choice(PROTEIN, 200).tobytes()
    assert identity_clusters([whole[60:120], whole], 1.0).tolist() == [0, 0]
    assert identity_clusters([b"MKV", b"MK", b"W"], 0.5).tolist() == [0, 1, 2]


@pytest.mark.parametrize("letters", [PROTEIN, NUCLEOTIDE], ids=["protein", "nucleotide"])
@pytest.mark.parametrize("share", [0.02, 0.08])
def test_mutants_are_together_and_unrelated_sequences_are_not(letters, share):
    random = np.random.default_rng(1)
    sequences, family = [], []
    for number in range(30):
        ancestor = random.choice(letters, int(random.integers(150, 300)))
        for _ in range(4):
            sequences.append(mutant(random, ancestor, letters, share / 2).tobytes())
            family.append(number)
    clusters = identity_clusters(sequences, 1 - share - 0.02)
    family = np.array(family)
    np.testing.assert_array_equal(
        clusters[:, None] == clusters[None], family[:, None] == family[None]
    )
    assert (clusters[0], clusters[4]) == (0, 4)  # a cluster is named after its first member


def extended(one, two, i, j, word, scores, gain, threshold):
    """The score of the diagonal through a shared word, by slices of the two sequences."""
    of_word = sum(scores[x, y] for x, y in zip(one[i : i + word], two[j : j + word], strict=True))
    matches = sum(one[i : i + word] == two[j : j + word])
    best = of_word
    right, left = (one[i + word :], two[j + word :]), (one[:i][::-1], two[:j][::-1])
    for pairs in (right, left):
        score, since = best, 0
        for x, y in zip(*pairs, strict=False):
            score += scores[x, y]
            since += x == y
            if score > best:
                best, matches, since = score, matches + since, 0
            elif score <= best - gain:
                break
    kept = best >= of_word + gain or matches >= threshold * min(len(one), len(two))
    return max(best, 1) if kept else 0


@pytest.mark.parametrize("match", [2, 0])  # a score of 0 is shown as 1: 0 is that of chance
def test_words_are_extended_to_the_ends_of_both_sequences(match):
    random = np.random.default_rng(7)
    letters = [random.choice(4, size, p=[0.6, 0.2, 0.1, 0.1]) for size in random.integers(5, 30, 9)]
    starts = np.concatenate([[0], np.cumsum(list(map(len, letters)))])
    scores = np.where(np.eye(4, dtype=bool), match, -3).astype(np.int32)
    word, gain, threshold = 3, 5, 0.8 if match else 0.2
    words = [(a, i) for a in range(9) for i in range(len(letters[a]) - word + 1)]
    wanted = [
        (a, b, i, j)
        for (a, i), (b, j) in product(words, words)
        if (letters[a][i : i + word] == letters[b][j : j + word]).all()
    ]
    a, b, i, j = np.array(wanted, dtype=np.int32).T
    owner, place = np.concatenate([a, b]), np.concatenate([i, j])
    first, given = np.arange(len(wanted)), (word, scores, gain, threshold)
    flat = np.concatenate(letters).astype(np.uint8)
    found = module._extend(flat, starts, owner, place, first, first + len(wanted), *given)
    expected = [extended(letters[a], letters[b], i, j, *given) for a, b, i, j in wanted]
    assert found.tolist() == expected
    assert 0 < np.count_nonzero(expected) < len(expected)


@pytest.mark.parametrize(("threshold", "share"), [(0.9, 1.0), (0.7, 0.99), (0.5, 0.95)])
def test_agrees_with_all_against_all(threshold, share):
    """At least this share of the pairs that single linkage of all pairs puts together."""
    random = np.random.default_rng(3)
    sequences = []
    for _ in range(6):
        ancestor = random.choice(PROTEIN, 120)
        sequences += [mutant(random, ancestor, PROTEIN, s) for s in random.uniform(0.02, 0.35, 12)]
    sequences = [s.tobytes() for s in sequences]
    n = len(sequences)
    close = np.zeros((n, n), dtype=bool)
    for i, j in zip(*np.tril_indices(n, -1), strict=True):
        close[i, j] = identity(sequences[i], sequences[j], False) >= threshold
    truth = connected_components(close, directed=False)[1]
    clusters = identity_clusters(sequences, threshold)
    wanted = np.triu(truth[:, None] == truth[None], 1)
    found = np.triu(clusters[:, None] == clusters[None], 1)
    assert not (found & ~wanted).any()
    assert wanted.sum() > 0
    assert (found & wanted).sum() >= share * wanted.sum()


@pytest.mark.parametrize("letters", [PROTEIN, NUCLEOTIDE], ids=["protein", "nucleotide"])
@pytest.mark.parametrize("threshold", [0.95, 0.85, 0.75])
def test_what_is_told_before_the_alignment_loses_no_pair(letters, threshold, monkeypatch):
    """Among pairs on both sides of the threshold, with substitutions, gaps and fragments."""
    random = np.random.default_rng(6)
    sequences = []
    for _ in range(20):
        ancestor = random.choice(letters, int(random.integers(40, 300)))
        for share in random.uniform(0, 1 - threshold, 6):
            child = mutant(random, ancestor, letters, share)
            for _ in range(random.integers(3)):
                start = random.integers(len(child) - 5)
                child = np.delete(child, slice(start, start + random.integers(1, 4)))
            sequences.append(child.tobytes())
    clusters = identity_clusters(sequences, threshold)
    kind = module._NUCLEOTIDE if letters is NUCLEOTIDE else module._PROTEIN
    aligned = len(module._candidates(sequences, kind, threshold))

    def all_pairs(codes, starts, length, pairs, word, threshold):
        return np.ones(len(pairs), dtype=bool)

    monkeypatch.setattr(module, "_enough_words", all_pairs)
    np.testing.assert_array_equal(clusters, identity_clusters(sequences, threshold))
    every = len(module._candidates(sequences, kind, threshold))
    assert every > aligned or (letters is NUCLEOTIDE and threshold < 0.9)
    assert len(set(clusters.tolist())) < len(sequences)


def test_words_shared_by_chance_are_not_aligned():
    """3,000 unrelated sequences: nearly all pairs with a common word are told from relatives."""
    random = np.random.default_rng(7)
    sequences = [random.choice(PROTEIN, 300).tobytes() for _ in range(3000)]
    aligned = len(module._candidates(sequences, module._PROTEIN, 0.5))
    any_diagonal = module._PROTEIN._replace(gain=0)
    assert aligned < 0.1 * len(module._candidates(sequences, any_diagonal, 0.5))


BLOSUM62 = ScoringScheme(load_substitution_matrix("BLOSUM62"), 11, 1)


def by_columns(a, b):
    """Identity and coverage, counted in the rows of the alignment."""
    aligned = trace(a, b, BLOSUM62)
    shorter = aligned.first if len(a) <= len(b) else aligned.second
    residues = len(shorter.replace("-", ""))
    return aligned.identical / max(len(shorter), 1), residues / min(len(a), len(b))


def test_identity_and_coverage_of_an_alignment_by_hand():
    # MKV-AAGIW under MKVLAAGIW: 8 of 9 columns, and all of the shorter one.
    assert covered(b"WWWMKVLAAGIWTTT", b"MKVAAGIW", False) == (8 / 9, 1)
    assert covered(b"MKVAAGIW", b"WWWMKVLAAGIWTTT", False) == (8 / 9, 1)
    # Of ten residues of the shorter one the last four have no partner.
    assert covered(b"WWMKVCAAPPPP", b"TTTTTTMKVCAAGGGG", False) == (1, 6 / 12)
    assert identity(b"WWMKVCAAPPPP", b"TTTTTTMKVCAAGGGG", False) == 6 / 12
    assert covered(b"PPP", b"WWW", False) == (0, 0)
    assert covered(b"ACGTACGTAC", b"TTACGTACGT", True) == (1, 8 / 10)


@pytest.mark.parametrize("letters", [PROTEIN, NUCLEOTIDE], ids=["protein", "nucleotide"])
def test_long_sequences_have_the_same_identity_and_coverage_without_a_trace(letters, monkeypatch):
    """Relatives near and far, with gaps and repeats, and strangers."""
    random = np.random.default_rng(9)
    ancestor = random.choice(letters, 120)
    sequences = [np.tile(ancestor[:40], 3).tobytes(), ancestor[:40].tobytes()]
    for share in random.uniform(0, 0.9, 30):
        child = mutant(random, ancestor, letters, share)
        start = random.integers(20, 80)
        child = np.delete(child, slice(start, start + random.integers(1, 15)))
        sequences.append(child[random.integers(15) :].tobytes())
    pairs = [(a, b) for a in sequences for b in sequences]
    traced = [covered(a, b, letters is NUCLEOTIDE) for a, b in pairs]
    monkeypatch.setattr(module, "_TRACED_CELLS", 0)
    monkeypatch.setattr(parasail, "sw_trace_scan_32", None)
    ends = [covered(a, b, letters is NUCLEOTIDE) for a, b in pairs]
    (identities, parts), (of_trace, parts_of_trace) = np.transpose(ends), np.transpose(traced)
    np.testing.assert_array_equal(identities, of_trace)
    assert len(set(parts_of_trace.round(3))) > 50
    # Rarely there are several alignments of the best score, and the trace takes a longer one.
    assert (parts <= parts_of_trace).all()
    assert (parts == parts_of_trace).mean() > 0.98


def test_letters_that_the_scores_do_not_know_are_compared_as_parasail_does():
    unknown = [b"ACDEFGHIKLMNUPQRSTVWYOJ", b"ACDEFGHIKLMNXPQRSTVWYBZ"]
    assert identity_clusters(unknown, 0.4, 0.8, ["a", "a"]).tolist() == [0, 0]
    nucleotides = [b"ACGTACGTTGCANNNNRACGGT", b"ACGTACGTTGCAYNNNRACGGT"]
    assert identity_clusters(nucleotides, 0.4, 0.8, ["a", "a"]).tolist() == [0, 0]
    assert identity_clusters([], 0.4, 0.8, []).tolist() == []


@pytest.fixture(scope="module")
def remote():
    """Families whose members have little in common, some of them fragments."""
    random = np.random.default_rng(8)
    families = simulation.simulate_families(4, 80, seed=3)
    sequences = []
    for record in families:
        start = random.integers(len(record.residues) // 3) if random.random() < 0.3 else 0
        sequences.append(record.residues[start:])
    return sequences, [record.label for record in families]


def test_all_pairs_of_a_class_are_compared_by_identity_and_coverage(remote):
    """Single linkage of all pairs, each alignment counted column by column."""
    sequences, labels = remote
    n = len(sequences)
    close = np.zeros((n, n), dtype=bool)
    for i, j in zip(*np.tril_indices(n, -1), strict=True):
        share, part = by_columns(sequences[i], sequences[j])
        assert covered(sequences[i], sequences[j], False) == pytest.approx((share, part))
        close[i, j] = share >= 0.4 and part >= 0.8
    same = np.array([[a == b for a in labels] for b in labels])
    assert not close[~same].any()
    truth = connected_components(close, directed=False)[1]
    clusters = identity_clusters(sequences, 0.4, 0.8, labels)
    np.testing.assert_array_equal(
        clusters[:, None] == clusters[None], truth[:, None] == truth[None]
    )
    # Words alone miss some, and never join what all pairs do not.
    few = identity_clusters(sequences, 0.4, 0.8)
    assert len(set(clusters)) < len(set(few)) < n
    assert ((few[:, None] == few) <= (clusters[:, None] == clusters)).all()


def identities(a, b, scheme):
    """The identities of all alignments with the best score, by a plain loop.

    A cell has its score, and matches and columns of all alignments that reach it with that score.
    """
    letters, local = scheme.matrix.alphabet.encode(), scheme.mode == "local"
    match, none, fresh = scheme.matrix.scores, (-(10**9), frozenset()), (0, frozenset({(0, 0)}))

    def first(*ways):
        score = max(score for score, _ in ways)
        return score, frozenset().union(*(told for s, told in ways if s == score))

    def onward(cell, gain, equal=0):
        return cell[0] + gain, {(matches + equal, columns + 1) for matches, columns in cell[1]}

    def gap(cell, longer):
        return first(onward(cell, -scheme.gap_open), onward(longer, -scheme.gap_extend))

    def edge(count):
        cost = scheme.gap_open + (count - 1) * scheme.gap_extend
        return (-cost, {(0, count)}) if count and scheme.mode == "global" else fresh

    rows = [list(map(edge, range(len(b) + 1)))]
    down = [none] * (len(b) + 1)
    for i, x in enumerate(a, 1):
        row, right = [edge(i)], none
        for j, y in enumerate(b, 1):
            right, down[j] = gap(row[-1], right), gap(rows[-1][j], down[j])
            gain = int(match[letters.index(x), letters.index(y)])
            ways = [onward(rows[-1][j - 1], gain, int(x == y)), right, down[j]]
            row.append(first(*ways, *([fresh] if local else [])))
        rows.append(row)
    ends = {"local": [cell for row in rows for cell in row], "global": rows[-1][-1:]}
    ends["semiglobal"] = rows[-1][1:] + [row[-1] for row in rows[1:]]
    found = first(*ends[scheme.mode])[1]
    return {matches / columns if columns else "none" for matches, columns in found}


@pytest.mark.parametrize("mode", PREFIX)
def test_an_identity_is_that_of_a_best_alignment(mode):
    """Of two unrelated sequences there may be several, of which each is allowed."""
    scheme, rng = scheme_of(mode=mode), np.random.default_rng(1)
    several, found = 0, []
    for _ in range(60):
        pair = related_pair(rng, 60)
        allowed, share = identities(*pair, scheme), aligned_identity(*pair, scheme)
        assert ("none" if np.isnan(share) else share) in allowed
        several += len(allowed) > 1
        found.append(share)
        if mode == "local":
            texts, gaps = [text.decode() for text in pair], (scheme.gap_open, scheme.gap_extend)
            stats = parasail.sw_stats_scan_32(*texts, *gaps, parasail.blosum62)
            assert (stats.matches / stats.length if stats.length else "none") in allowed
    assert several > 0
    assert len(set(found)) > 10


def test_without_an_alignment_there_is_no_identity(monkeypatch):
    assert np.isnan(aligned_identity(b"WW", b"PP", scheme_of())), "no residues are aligned"
    pair = b"WWPC" * 3, b"WWPC" * 3
    monkeypatch.setattr(traceback, "LARGEST_TRACE", 144)
    assert aligned_identity(*pair, scheme_of()) == 1
    monkeypatch.setattr(traceback, "LARGEST_TRACE", 143)
    assert np.isnan(aligned_identity(*pair, scheme_of())), "it is too large"
