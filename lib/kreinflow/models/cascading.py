"""A cascade is learned: its levels, its weights and its threshold, on inner folds."""
