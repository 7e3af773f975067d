"""The two kinds of failure, and their exit codes."""


class KreinflowError(Exception):
    """Something failed that is not the user's doing (exit code 1)."""

    exit_code = 1


class InputError(KreinflowError):
    """The user's file, table or configuration is at fault (exit code 2).

    The message names the file, the line or record, what is wrong and what to do.
    """

    exit_code = 2
