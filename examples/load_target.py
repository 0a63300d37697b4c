"""A small app to try a load test on: one worker, and a known time for each answer.

    python examples/load_target.py --port 8000 --service-ms 20

It listens on 127.0.0.1 and answers every POST with JSON. Requests wait for the worker in the order in which they come;
the time of each is kept to the clock, so that a machine that wakes the worker late does not make it slower.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n"


class Worker:
    """Serves one request after the other, each for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.free = 0.0  # when it is done with all that came so far

    async def serve(self) -> dict[str, object]:
        """The answer, when it is this request's turn and its time is over."""
        loop = asyncio.get_running_loop()
        came = loop.time()
        begin = max(came, self.free)
        self.free = begin + self.seconds
        await asyncio.sleep(self.free - came)
        return {"answer": "25 days", "queue_ms": (begin - came) * 1000, "generation_latency_ms": self.seconds * 1000}


async def answer(worker: Worker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All requests of one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lengths = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
            if lengths:
                await reader.readexactly(int(lengths[0].partition(b":")[2]))
            body = json.dumps(await worker.serve()).encode()
            writer.write(HEAD.format(size=len(body)).encode() + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the client is gone
    finally:
        writer.close()


async def listen(port: int, seconds: float) -> None:
    """Serve until the process is stopped; the first line of the output says where."""
    worker = Worker(seconds)
    server = await asyncio.start_server(lambda *both: answer(worker, *both), "127.0.0.1", port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/ask", flush=True)
    await server.serve_forever()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--port", type=int, default=8000, help="0 for one that is free")
    parser.add_argument("--service-ms", type=float, default=20.0)
    options = parser.parse_args()
    try:
        asyncio.run(listen(options.port, options.service_ms / 1000))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
