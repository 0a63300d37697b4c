"""A small RAG pipeline that collects its own evaluation data."""
