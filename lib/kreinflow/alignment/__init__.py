"""Alignment: the score of every pair that is wanted, each pair aligned once and kept."""
