"""The choice of landmarks: a few training sequences that stand for their class."""
