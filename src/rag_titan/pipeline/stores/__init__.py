"""Where chunks and their vectors are kept."""
