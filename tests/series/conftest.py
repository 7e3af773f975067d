"""The fixtures of the tests of the workflow."""

from workflow.conftest import reference, run, small_config, workflow  # noqa: F401
