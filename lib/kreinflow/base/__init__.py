"""What all rooms share: errors, numbers, random streams, settings, the tree of labels."""
