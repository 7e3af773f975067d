"""Graphs as lists of edges ("1-2 2-3"): the Weisfeiler-Lehman subtree kernel, normalised.

Needs networkx. In a config: score: {function: "graphs:wl", kind: similarity, self: 1}
"""

from collections import Counter
from functools import lru_cache

import networkx as nx
import numpy as np

ROUNDS = 3


@lru_cache(maxsize=100_000)
def subtrees(edges):
    """Return how often each neighbourhood of up to three steps occurs, and their length."""
    graph = nx.Graph([edge.split("-") for edge in edges.split()])
    found = Counter()
    hashes = nx.weisfeiler_lehman_subgraph_hashes(graph, iterations=ROUNDS)
    for of_node in hashes.values():
        found.update(of_node)
    return found, np.sqrt(sum(n * n for n in found.values()))


def wl(a, b):
    """Return the cosine of the counts (Shervashidze et al. 2011)."""
    A, B = ([subtrees(edges) for edges in side] for side in (a, b))
    return [[sum(n * y[s] for s, n in x.items()) / (u * v) for y, v in B] for x, u in A]
