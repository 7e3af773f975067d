"""``kreinflow schema``: the JSON schema of the config."""

import argparse
import json

from kreinflow.config.schema import schema


def add(parser: argparse.ArgumentParser) -> None:
    """Add nothing: there are no arguments."""


def run(options: argparse.Namespace) -> None:
    """Print the schema."""
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
