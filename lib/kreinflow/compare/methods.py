"""The methods of the comparison as people call them, for what must not load them."""

OURS = "kreinflow"

METHODS = {
    OURS: "kreinflow, chosen on inner folds",
    "blast": "BLAST, best hit",
    "diamond": "DIAMOND, best hit",
    "mmseqs2": "MMseqs2, best hit",
    "profile_hmm": "one profile HMM a class",
    "kmer_svm": "k-mers, linear SVM",
    "words": "kreinflow on words alone",
    "smith_waterman": "Smith-Waterman, nearest neighbour",
}
"""In the order of the tables."""
