"""Tables with a flipped bit: they are read as something, or refused by name."""

import random

from kreinflow.errors import InputError


def count_refused(path, read, flips=400, seed=1):
    """Return how many of some random flips of single bits ``read`` refuses, naming the file.

    Of any other error than a refusal the test fails.
    """
    data, refused = path.read_bytes(), 0
    for bit in random.Random(seed).sample(range(8 * len(data)), min(flips, 8 * len(data))):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            read(path)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017
            assert "Delete" in str(error)  # noqa: PT017
            refused += 1
    path.write_bytes(data)
    return refused
