"""How good the predictions of the outer folds are, and which differences can be told apart."""
