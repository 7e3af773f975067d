"""What people classify sequences with today, run on the same folds as the workflow."""
