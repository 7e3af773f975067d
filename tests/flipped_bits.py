"""Files with a flipped bit, as a worn disk or a bad cable leaves them."""

import random

from kreinflow.base.errors import InputError


def each_flip(path, every=1):
    """Yield the path of a copy with one bit flipped, for each bit, or for one in ``every``."""
    data = path.read_bytes()
    damaged = path.with_name("flipped_" + path.name)
    damaged.write_bytes(data)
    with damaged.open("r+b", buffering=0) as file:

        def put(place, byte):
            file.seek(place)
            file.write(bytes([byte]))

        for bit in range(0, 8 * len(data), every):
            place = bit // 8
            put(place, data[place] ^ 1 << bit % 8)
            yield damaged
            put(place, data[place])


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
