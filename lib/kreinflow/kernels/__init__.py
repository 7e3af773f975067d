"""Kernels of vectors and strings, and the generated data of the papers."""
