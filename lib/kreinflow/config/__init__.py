"""The configuration: its schema, its checks, the plan of a run, and what a run costs."""
