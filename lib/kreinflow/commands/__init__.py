"""The subcommands of ``kreinflow``, one module each.

A module has its line of help ``HELP``, ``add(parser)``, which adds its arguments, and
``run(options)``. What takes long to import is imported where it is used, so that the help appears
at once.
"""
