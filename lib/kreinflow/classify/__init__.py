"""The model file, and what is done with it: classify, explain, inspect."""
