"""The subcommands of ``kreinflow``, one module each; ``main`` imports the one that runs.

A module has ``add(parser)``, which adds its arguments, and ``run(options)``.
"""
