"""The two functions of the kernel alone, against their definitions and parasail."""

import ctypes
import platform

import llvmlite.binding as llvm
import numpy as np
import pytest

from kreinflow.alignment.vector_code import COLUMNS, LETTERS, lanes_here, vector_code
from sequence_pairs import AMINO_ACIDS, parasail_scores, scheme_of

WIDTHS = [(16, 8), (32, 8), (64, 8), (8, 16), (16, 16), (32, 16)]
PROCESSORS = [("", "")]
if platform.machine() == "x86_64":
    PROCESSORS += [("x86-64", "")]
    features = llvm.get_host_cpu_features()
    PROCESSORS += [("haswell", "")] if features.get("avx2") else []
    PROCESSORS += [("skylake-avx512", "")] if features.get("avx512bw") else []


def aligned(shape, dtype):
    """Return an array of zeros that starts at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(size + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size].view(dtype).reshape(shape)


def called(address, *arguments):
    given = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
    ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(given))(address)(*given)


def made_profile(made, codes, matrix, chunks):
    letters = chunks * 128 // made.bits
    groups = len(codes) // COLUMNS
    profile = aligned((groups, letters, COLUMNS, made.lanes), f"int{made.bits}")
    called(made.profile, codes, len(codes), matrix, profile, chunks)
    return profile


@pytest.mark.parametrize(("processor", "features"), PROCESSORS)
@pytest.mark.parametrize(("lanes", "bits"), WIDTHS)
def test_the_profile_is_the_matrix_seen_from_each_column(lanes, bits, processor, features):
    rng = np.random.default_rng(40)
    made = vector_code(lanes, bits, processor, features)
    limits = np.iinfo(f"int{bits}")
    matrix = rng.integers(limits.min, limits.max, (30, LETTERS), endpoint=True).astype(limits.dtype)
    codes = rng.integers(0, 30, (3 * COLUMNS, lanes), dtype=np.uint8)
    for chunks in range(1, LETTERS * bits // 128 + 1):
        profile = made_profile(made, codes, matrix, chunks)
        n = profile.shape[1]
        expected = matrix[codes][:, :, :n]  # columns, lanes, letters
        by_column = profile.transpose(0, 2, 3, 1).reshape(len(codes), lanes, n)
        assert np.array_equal(by_column, expected)


@pytest.mark.parametrize(("processor", "features"), PROCESSORS)
@pytest.mark.parametrize(("lanes", "bits"), WIDTHS)
def test_scores_are_those_of_parasail_up_to_the_limit(lanes, bits, processor, features):
    rng = np.random.default_rng(41)
    made, scheme = vector_code(lanes, bits, processor, features), scheme_of()
    table = scheme.matrix.scores[:20, :20]
    landmark = rng.integers(0, 20, 83)
    batch = [rng.integers(0, 20, rng.integers(1, 130)) for _ in range(lanes)]
    for lane in range(0, lanes, 3):  # relatives, of which some overflow 8 bits
        kept = landmark[: rng.integers(1, 84)]
        batch[lane] = np.where(rng.random(kept.size) < 0.2, rng.integers(0, 20, kept.size), kept)
    columns = -(-max(map(len, batch)) // COLUMNS) * COLUMNS
    matrix = np.full((21, LETTERS), -4, dtype=f"int{bits}")
    matrix[:20, :20] = table
    codes = np.full((columns, lanes), 20, dtype=np.uint8)
    for lane, sequence in enumerate(batch):
        codes[: len(sequence), lane] = sequence
    profile = made_profile(made, codes, matrix, chunks=32 * bits // 128)
    group_bytes = profile[0].nbytes
    zero, limit = -(2 ** (bits - 1)) + 4, 2 ** (bits - 1) - 1 - 11
    states, found = aligned((83, 2, lanes), matrix.dtype), np.zeros(lanes, dtype=np.int32)
    shifts = (landmark * COLUMNS * made.vector_bytes).astype(np.int32)
    called(
        made.align,
        *(profile, len(profile), group_bytes, shifts, 83, states),
        *(zero, zero + 11, 11, 1, found),
    )
    alphabet = np.frombuffer(scheme.matrix.alphabet.encode(), dtype=np.uint8)[:20]
    assert set(alphabet) == set(AMINO_ACIDS)
    texts = [alphabet[sequence].tobytes() for sequence in (landmark, *batch)]
    lanes_of_batch = np.arange(1, lanes + 1)
    expected = parasail_scores(texts, np.zeros(lanes, dtype=int), lanes_of_batch, scheme)
    told = found <= limit
    assert np.array_equal(found[told] - zero, expected[told])
    assert (expected[~told] > limit - zero).all()
    assert told.all() if bits == 16 else 0 < np.count_nonzero(told) < lanes


def test_as_many_lanes_as_the_processor_has():
    features = llvm.get_host_cpu_features()
    widest = 64 if features.get("avx512bw") else 32 if features.get("avx2") else 16
    assert lanes_here() in ((32, 64) if widest == 64 else (widest,))
