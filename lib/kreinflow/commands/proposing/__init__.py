"""A config proposed by looking at data: for ``kreinflow init``."""
