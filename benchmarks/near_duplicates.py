"""Near-duplicates beside SetSimilaritySearch: the same word sets, one run, one after the other; planted pairs checked.

    uv run --group bench python benchmarks/near_duplicates.py [--documents 20000] [--words 300] [--alone]

The documents are drawn word by word from a vocabulary whose frequencies fall as Zipf's law has them. One in a hundred
is a copy of another in which so many words are new that their sets of words have a Jaccard similarity of 0.9, or just
above where no whole number of words gives that. Our side starts from the texts and is all of `profile_documents`, the
best of `--rounds`; the other side gets the sets of words ready made, once. `--alone` leaves it out: on 200,000
documents it takes very long. CPU seconds are those of all threads.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

THRESHOLD = 0.9
VOCABULARY, EXPONENT = 100_000, 1.05  # about 190 different words in 300, as in English news
COPIES = 100  # one document in so many is a copy


def documents(count: int, words: int, seed: int) -> tuple[dict[str, str], dict[str, str]]:
    """The texts by id, and {id of a copy: id of its original}; the same for the same seed."""
    rng = np.random.default_rng(seed)
    chances = np.cumsum(1 / np.arange(1, VOCABULARY + 1) ** EXPONENT)
    names = np.array([f"w{number:x}" for number in rng.permutation(VOCABULARY)])
    originals = count - count // COPIES
    texts = {}
    for number in range(originals):
        drawn = np.searchsorted(chances, rng.random(words) * chances[-1])
        texts[f"d{number}"] = " ".join(names[drawn].tolist())
    planted = {}
    for number, of in enumerate(rng.choice(originals, count - originals, replace=False).tolist()):
        name = f"copy{number}"
        texts[name] = near_copy(texts[f"d{of}"].split(), f"{name}x", rng)
        planted[name] = f"d{of}"
    return texts, planted


def near_copy(words: list[str], new: str, rng: np.random.Generator) -> str:
    """The text with c of its m different words replaced: their sets of words are (m - c) / (m + c) alike."""
    different = sorted(set(words))
    most = int(len(different) * (1 - THRESHOLD) / (1 + THRESHOLD) + 1e-9)
    replaced = {word: f"{new}{i}" for i, word in enumerate(rng.choice(different, most, replace=False).tolist())}
    return " ".join(replaced.get(word, word) for word in words)


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, seconds, CPU seconds."""
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - cpu


def ours(texts: dict[str, str]) -> tuple[dict[str, str], float, float]:
    """{later document: the earliest that it is near}, seconds, CPU seconds."""
    from rag_titan.evaluation import profile_documents

    profile, seconds, cpu = timed(lambda: profile_documents(texts, near_duplicate=THRESHOLD))
    return {found["id"]: found["of"] for found in profile["near_duplicates"]}, seconds, cpu


def theirs(texts: dict[str, str]) -> tuple[dict[str, str], float, float]:
    """The same of SetSimilaritySearch; the sets are made before the clock starts."""
    from SetSimilaritySearch import all_pairs

    ids, sets = list(texts), [set(text.split()) for text in texts.values()]
    pairs, seconds, cpu = timed(
        lambda: list(all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=THRESHOLD))
    )
    earliest: dict[str, str] = {}
    for later, earlier in sorted((max(a, b), min(a, b)) for a, b, _ in pairs):
        earliest.setdefault(ids[later], ids[earlier])
    return earliest, seconds, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="without SetSimilaritySearch")
    chosen = parser.parse_args()
    texts, planted = documents(chosen.documents, chosen.words, chosen.seed)
    before = peak_mb()
    found, seconds, cpu = min((ours(texts) for _ in range(chosen.rounds)), key=lambda run: run[1])
    missed = [name for name, of in planted.items() if found.get(name) != of]
    print(f"{len(texts):,} documents of {chosen.words} words, {len(planted):,} planted pairs, {len(missed)} missed")
    print(f"rag-titan            {seconds:6.1f} s  {cpu:6.1f} CPU s   peak {peak_mb():,} MB, texts alone {before:,}")
    if not chosen.alone:
        other, wall, other_cpu = theirs(texts)
        print(f"SetSimilaritySearch  {wall:6.1f} s  {other_cpu:6.1f} CPU s")
        print(f"times as long        {wall / seconds:6.1f}    {other_cpu / cpu:6.1f}")
        print(f"found by one side alone: {len(found.items() ^ other.items())}")
    raise SystemExit(1 if missed else 0)


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
