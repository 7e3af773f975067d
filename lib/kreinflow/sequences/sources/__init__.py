"""Where data come from: each source is a file here and a line in the registry."""
