"""The methods of the comparison by name, for what must not load them."""

OURS = "kreinflow"

METHODS = {
    OURS: "kreinflow, chosen on inner folds",
    "blast": "BLAST, best hit",
    "diamond": "DIAMOND, best hit",
    "mmseqs2": "MMseqs2, best hit",
    "profile_hmm": "one profile HMM a class",
    "kmer_svm": "k-mers, linear SVM",
    "smith_waterman": "Smith-Waterman, nearest neighbour",
}
"""Their names for people, in the order of the tables."""

COMPETITORS = tuple(name for name in METHODS if name != OURS)
