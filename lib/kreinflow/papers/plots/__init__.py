"""The figures of the papers: a module a figure, that measures a table and draws it."""
