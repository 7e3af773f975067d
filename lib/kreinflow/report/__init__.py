"""The figures, and the one page that tells what a run did and how far to trust it."""
