import pytest

from report.made_up import run_tables


@pytest.fixture(scope="session")
def tables():
    return run_tables(n_classes=4, n_folds=3, n=160)


@pytest.fixture(scope="session")
def tables_of_several():
    return run_tables(n_classes=4, n_folds=3, n=160, several=True)


@pytest.fixture(scope="session")
def asked():
    """Those of a run with two cascades."""
    return run_tables(n_classes=4, n_folds=3, n=160, cascades=2)
