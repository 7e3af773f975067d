"""Learners over the Krein factor, what remains of them after training, and the model file."""
