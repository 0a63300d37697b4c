"""Where rag-titan meets what runs it: GitHub Actions, pytest."""
