"""What asking a judge costs this machine: CPU time of the tool for each call, with a scripted server apart.

    uv run python benchmarks/judge_calls.py [calls, 10000] [in flight, 64]

The server answers after a short wait, as a model would, and lives in another process, so that the CPU time of this one
is the tool's alone: prompts, checks, cache, budget, threads and HTTP. Each claim is a call of its own here.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rag_titan.judge import Judge

WAIT = 0.02  # seconds that the model thinks
_CONTROL = re.compile(r"The control word of this text is (\w+)\.")
_CLAIM = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


def answered(body: dict[str, Any]) -> str:
    """What a model that follows the instructions says."""
    user = body["messages"][1]["content"]
    if "<<<CLAIMS>>>" not in user:
        text = user.partition("<<<TEXT>>>\n")[2].partition("\n<<<END>>>")[0]
        return json.dumps({"claims": [line for line in text.splitlines() if line]})
    text, _, claims = user.partition("<<<CLAIMS>>>")
    [word] = _CONTROL.findall(text)
    verdicts = []
    for number, claim in _CLAIM.findall(claims):
        control = _CONTROL.match(claim)
        wrong = control is not None and control[1] != word
        verdict, evidence = (
            ("not_supported", "") if wrong else ("supported", "The control word" if control else "Leave is")
        )
        verdicts.append({"claim": int(number), "evidence": evidence, "verdict": verdict})
    return json.dumps({"verdicts": verdicts})


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(re.findall(rb"content-length: (\d+)", head, re.IGNORECASE)[0])
            said = answered(json.loads(await reader.readexactly(size)))
            await asyncio.sleep(WAIT)
            choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360}
            data = json.dumps({"model": "scripted", "choices": [choice], "usage": usage}).encode()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n".encode()
            writer.write(head + data)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _server(pipe: Connection) -> None:
    async def main() -> None:
        server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=256)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def main(calls: int, in_flight: int) -> None:
    """Print the figures."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_server, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    per_answer = 20
    filler = "Leave is granted in days, and the office keeps a record of it. " * 8
    queries = [
        {
            "id": f"q{n}",
            "question": "How long is leave?",
            "context": f"Context {n}. {filler}",
            "answer": "\n".join(f"Leave is granted in case {chr(97 + k)}." for k in range(per_answer)),
        }
        for n in range(-(-calls // per_answer))
    ]
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge("scripted", f"http://127.0.0.1:{port}/v1", concurrency=in_flight, claims_at_once=1,
                      cache=Path(folder) / "cache.db")  # fmt: skip
        for turn in ("asked", "from the cache"):
            began, cpu = time.perf_counter(), time.process_time()
            judged = judge.judge({"queries": queries})
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            done = judged.spent.calls + judged.spent.cached
            claims = sum(len(verdicts["answer_claims"]) for verdicts in judged.verdicts.values())
            print(f"{turn}: {done:,} calls, {claims:,} claims, {in_flight} in flight, errors {len(judged.failures)}: "
                  f"{1000 * cpu / done:.3f} ms of CPU a call, {seconds:.1f} s in all")  # fmt: skip
    server.terminate()


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(*(given + [10_000, 64][len(given) :]))
