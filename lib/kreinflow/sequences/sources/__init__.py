"""Sources of data: each is a file here and a line in the registry."""
