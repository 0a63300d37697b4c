"""Asks a model for verdicts on answers and contexts, and stores them in the data; the evaluation scores them."""
