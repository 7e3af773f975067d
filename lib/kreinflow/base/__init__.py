"""The base of all rooms: errors, numbers, random streams, settings, the tree of labels."""
