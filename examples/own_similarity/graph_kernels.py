"""Labelled graphs as edges ("C1-O2 C1-C3", letters are labels): kernels of grakel, normalised.

Needs grakel. In a config: score: {function: "graph_kernels:paths", kind: similarity, self: 1}
"""

from functools import lru_cache

from grakel import Graph, ShortestPath


@lru_cache(maxsize=100_000)
def graph(edges):
    """Return the graph of a text; the label of a node is its name without digits."""
    pairs = [tuple(edge.split("-")) for edge in edges.split()]
    both = [*pairs, *((b, a) for a, b in pairs)]
    return Graph(both, node_labels={name: name.rstrip("0123456789") for name, _ in both})


def paths(a, b):
    """Return how many shortest paths have the same ends and length (Borgwardt, Kriegel 2005)."""
    kernel = ShortestPath(normalize=True)
    return kernel.fit([graph(edges) for edges in b]).transform([graph(edges) for edges in a])
