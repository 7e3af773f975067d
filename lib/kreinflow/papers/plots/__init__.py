"""The figures of the papers: each measures a table and draws it."""
