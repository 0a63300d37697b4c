"""The retrieval lab: vector health, sweeps of K and of chunk sizes, the confusion matrix, index curves."""
