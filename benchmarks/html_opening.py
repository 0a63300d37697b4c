"""How long the HTML report of many questions takes to make and to open in a browser.

    uv run --group browser python benchmarks/html_opening.py FOLDER [--questions 10000] [--rounds 5]

Writes FOLDER/data.json (seeded: questions with texts, 20 retrieved and 20 reranked chunks of about 60 words each),
evaluates it with `--html FOLDER/report.html`, and opens the page in Debian's Chromium. Cold is a browser just started
and a file that the system has forgotten; warm is the second time in that browser. Printed are medians: the first paint,
the explorer's list on the screen, and the answer to a filter, from the start of the navigation; `CPU` is that of the
page's process. The explorer waits 0.12 s after the last key before it filters, which is part of the answer.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from logs import Log

CHROMIUM = "/usr/bin/chromium"
CHUNKS, LISTED, PROMPT = 20_000, 20, 5
TIMES = ("first paint", "list", "answer", "CPU")
WATCH = """
(() => {
  const said = (window.said = {});
  const count = () => (document.querySelector("#count") || {}).textContent || "";
  function watch() {
    if (!said.list && count()) {
      said.list = performance.now() / 1000;
      said.all = count();
      const field = document.querySelector("#filter-lost");
      field.selectedIndex = 1;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    } else if (said.list && count() !== said.all) {
      said.answer = performance.now() / 1000;
      document.documentElement.dataset.answered = "";
      return;
    }
    setTimeout(watch, 5);
  }
  watch();
})();
"""


def dataset(questions: int) -> dict[str, Any]:
    """Questions whose gold chunk is somewhere in a ranking; two in five answers lack the required fact."""
    log = Log(11)
    texts = [str(log._written(log.text(60))) for _ in range(CHUNKS)]
    chunks = [{"id": f"handbook-{i // 20}#{i % 20}", "doc_id": f"handbook-{i // 20}", "text": text}
              for i, text in enumerate(texts)]  # fmt: skip
    return {"chunks": chunks, "queries": [query(log, i, chunks) for i in range(questions)]}


def query(log: Log, number: int, chunks: list[dict[str, str]]) -> dict[str, Any]:
    rng = log.rng
    codes = rng.choice(CHUNKS, LISTED, replace=False)
    ids = [chunks[code]["id"] for code in codes]
    order = np.argsort(np.arange(LISTED) + rng.normal(0, 4, LISTED))
    gold = codes[0] if rng.random() < 0.8 else (codes[-1] + 1) % CHUNKS
    quote = " ".join(chunks[gold]["text"].split(" ")[20:32])
    fact = " ".join(quote.split(" ")[4:6])
    told = fact if rng.random() < 0.6 else f"{rng.integers(2, 999)} days"
    times = rng.gamma(4, (9.0, 300.0), 2).round(3).tolist()
    return {
        "id": f"q{number:05}",
        "question": f"{log._written(log.text(12))}?",
        "tags": {"language": ("en", "de", "fr")[number % 3], "tenant": f"tenant {number % 40}"},
        "expected_chunk_ids": [chunks[gold]["id"]],
        "expected_evidence": [quote],
        "expected_answer": str(log._written(log.text(20))),
        "required_facts": [fact],
        "retrieved_ids": ids,
        "retrieved_scores": np.sort(rng.random(LISTED))[::-1].round(6).tolist(),
        "reranked_ids": [ids[i] for i in order],
        "context_ids": [ids[i] for i in order[:PROMPT]],
        "answer": f"{log._written(log.text(35))} {told}.",
        "latency_ms": round(sum(times), 3),
        "retrieval_latency_ms": times[0],
        "generation_latency_ms": times[1],
    }


def made(folder: Path) -> str:
    """Evaluates the data in a process of its own; what that cost."""
    command = [sys.executable, "-m", "rag_titan", "evaluate", "--input", str(folder / "data.json"), "--k", "10",
               "--output", str(folder / "report.json"), "--html", str(folder / "report.html")]  # fmt: skip
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"evaluate --html: {took:.1f} s, CPU {cpu:.1f} s, peak {after.ru_maxrss / 1024:,.0f} MB"


def sizes(page: Path) -> str:
    """The page, and what its data weigh by their kind."""
    text = page.read_text(encoding="utf-8")
    kinds: dict[str, int] = {}
    for kind, data in re.findall(r'<script type="application/json" (?:class|id)="data-(\w+)">([^<]*)', text):
        kinds[kind] = kinds.get(kind, 0) + len(data.encode())
    parts = ", ".join(f"{kind} {size / 1e6:.1f}" for kind, size in kinds.items())
    return f"page: {page.stat().st_size / 1e6:.1f} MB; data: {parts}"


def forget(page: Path) -> None:
    """Let the system drop the file from its memory."""
    with page.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def opening(browser: Any, page: Path) -> dict[str, float]:
    """Seconds until each of TIMES, in a fresh context of the browser."""
    context = browser.new_context()
    view = context.new_page()
    session = context.new_cdp_session(view)
    session.send("Performance.enable")
    view.add_init_script(WATCH)
    view.goto(page.as_uri(), wait_until="commit")
    view.wait_for_selector("html[data-answered]", state="attached", timeout=120_000)
    found = view.evaluate("window.said")
    found["first paint"] = view.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    return {**found, "CPU": metrics["ProcessTime"]}


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--open-only", action="store_true", help="the page is there already")
    args = parser.parse_args()
    page = (args.folder / "report.html").resolve()
    if not args.open_only:
        args.folder.mkdir(parents=True, exist_ok=True)
        (args.folder / "data.json").write_text(json.dumps(dataset(args.questions)), encoding="utf-8")
        print(made(args.folder))
    print(sizes(page))
    found: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    with sync_playwright() as playwright:
        for _ in range(args.rounds):
            forget(page)
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            for kind in found:
                found[kind].append(opening(browser, page))
            browser.close()
    for kind, rounds in found.items():
        medians = [f"{name} {statistics.median(one[name] for one in rounds):.2f} s" for name in TIMES]
        print(f"{kind}: {', '.join(medians)}")


if __name__ == "__main__":
    main()
