"""Inputs: from the user's files, or the simulator, to checked data sets and folds."""
