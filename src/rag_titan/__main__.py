"""python -m rag_titan: the same as the command `rag-titan`."""

from rag_titan.cli.main import main

if __name__ == "__main__":
    main()
