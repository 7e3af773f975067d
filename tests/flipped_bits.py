"""Files with a flipped bit, as a worn disk or a bad cable leaves them."""


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
