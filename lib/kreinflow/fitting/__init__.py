"""How each part of a model is learned from training records alone."""
