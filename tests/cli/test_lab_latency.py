"""rag-titan lab latency: the table, what dominates, and cold starts."""

from __future__ import annotations

import json

from tests.cli.conftest import Run, Write, query


def timed(embedding: float, search: float, generation: float) -> dict[str, float]:
    return {"embedding_latency_ms": embedding, "search_latency_ms": search, "generation_latency_ms": generation}


def test_the_command(run: Run, write: Write) -> None:
    times = [timed(400 if i % 3 == 0 else 10 + i % 4, 20, 900) for i in range(60)]
    data = write({"queries": [query(f"q{i}", **one) for i, one in enumerate(times)]})
    done = run("lab", "latency", "--input", data)
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.lines[:4]] == ["Part", "embedding", "search", "generation"]
    assert any(line.startswith("Dominant: generation, 0.87") for line in done.lines)
    assert any(line.startswith("Embedding: two modes (dip 0.") for line in done.lines)
    assert any(line.startswith("Slow: q0, q3, q6, ") for line in done.lines)
    whole = json.loads(run("lab", "latency", "--input", data, "--json").out)
    assert whole["embedding"]["slow"] == {
        "n": 20, "median_ms": 400.0, "ids": [f"q{i}" for i in range(0, 60, 3)],
    }  # fmt: skip
    assert run("lab", "latency", "--input", write({"queries": [query()]}, "bare.json")).code == 2
