"""TREC qrels and a run -> one record a topic.

Equal scores are put in order as trec_eval does it; the rank column is not looked at.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.trec_files import (
    QRELS,
    RUN,
    Qrels,
    Run,
    add_qrels,
    grades_of,
    grades_of_values,
    is_json,
    json_scores,
    kind_of_lines,
    kind_of_values,
    run_of,
    run_of_values,
)

ABSENT = "the run has no result for this topic"
CUTS = (5, 10, 20, 100)  # where ties are looked for


def read(sources: Sequence[Path], ties: str = "trec") -> Imported:
    """Qrels, a run, or both, in any order: a file's columns say what it is.

    sources  text as trec_eval reads it, or JSON {topic: {document: grade or score}} (first the qrels, then the run);
             either may be compressed with gzip. Several qrels are joined, several runs are an error
    ties     "trec": by score as a 32-bit number, then by document id, both descending, as trec_eval sorts;
             "given": by score, equal ones as they stand in the file

    A topic of the qrels that the run lacks is a record with `error` and without `retrieved_ids`, so that the preset
    trec_eval averages over the topics in the run, and `all_topics` counts it as 0. Raises DatasetError where two lines
    of the qrels contradict each other, or where most lines of a file are none of its kind.
    """
    notices = Notices()
    qrels: Qrels = {}
    run: Run | None = None
    taken: dict[str, File] = {}
    for file in map(File, sources):
        if file.path.is_dir():
            raise DatasetError(str(file.path), "must be a file, got a folder. Name the qrels and the run.")
        values = json_scores(file) if is_json(file) else None
        kind = kind_of_values(values, QRELS in taken) if values is not None else kind_of_lines(file)
        if kind == RUN and RUN in taken:
            rule = f"must be the only run, got {taken[RUN].name} before it. Import one run at a time."
            raise DatasetError(str(file.path), rule)
        taken[kind] = file
        if kind == QRELS:
            add_qrels(grades_of(file, notices) if values is None else grades_of_values(file, values), qrels, notices)
        else:
            run = run_of(file, notices) if values is None else run_of_values(values)
    return Imported(records_of(qrels if QRELS in taken else None, run, ties, notices), notices=notices)


# --- records ----------------------------------------------------------------------------------------------------------


def records_of(qrels: Qrels | None, run: Run | None, ties: str, notices: Notices) -> list[Record]:
    """One record a topic, those of the qrels first; None is not given."""
    rankings = Rankings(ties)
    records: list[Record] = []
    for topic in dict.fromkeys([*(qrels or ()), *(run.results if run else ())]):
        record: Record = {"id": topic}
        if qrels and topic in qrels:
            record["relevance"] = qrels[topic]
        if run and topic in run.results:
            record |= rankings.of(topic, run.results[topic])
            record |= {"run_tag": run.tags[topic]} if topic in run.tags else {}
        elif run:
            record["error"] = ABSENT
        records.append(record)
    if qrels is not None and run is not None:
        lacking = [topic for topic in qrels if topic not in run.results]
        notices.add("topics of the qrels that the run lacks were kept, with an error: {ids}.", lacking)
        unjudged = [topic for topic in run.results if topic not in qrels]
        notices.add("topics of the run without qrels were kept, without gold labels: {ids}.", unjudged)
    rankings.tell(notices)
    return records


class Rankings:
    """Puts results in order, and remembers where that was not plain."""

    def __init__(self, ties: str) -> None:
        self._ties = ties
        self._tied: dict[str, int] = {}
        self._cut: dict[int, list[str]] = {cut: [] for cut in CUTS}
        self._twice: list[str] = []
        self._unscored: list[str] = []

    def of(self, topic: str, results: Sequence[tuple[float, str]]) -> Record:
        """`retrieved_ids` and `retrieved_scores` of a topic, best first.

        >>> Rankings("trec").of("q1", [(0.5, "a"), (0.5, "b"), (0.9, "c")])
        {'retrieved_ids': ['c', 'b', 'a'], 'retrieved_scores': [0.9, 0.5, 0.5]}
        >>> Rankings("given").of("q1", [(0.5, "a"), (0.5, "b"), (0.9, "c")])["retrieved_ids"]
        ['c', 'a', 'b']
        """
        keys = self._keys([score for score, _ in results])
        documents = [document for _, document in results]
        if self._ties == "trec":
            order = sorted(range(len(keys)), key=lambda i: (keys[i], documents[i]), reverse=True)
        else:
            order = sorted(range(len(keys)), key=lambda i: -keys[i])
        self._look(topic, [keys[i] for i in order], documents)
        scores = [results[i][0] for i in order]
        if not all(map(math.isfinite, scores)):
            self._unscored.append(topic)
        return {
            "retrieved_ids": [documents[i] for i in order],
            "retrieved_scores": [score if math.isfinite(score) else None for score in scores],
        }

    def _keys(self, scores: Sequence[float]) -> list[float]:
        """What is compared: trec_eval keeps a score as a 32-bit float; what is no number comes last."""
        values = np.array(scores, dtype=np.float64)
        values[np.isnan(values)] = -np.inf
        if self._ties == "trec":
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        keys: list[float] = values.tolist()
        return keys

    def _look(self, topic: str, keys: Sequence[float], documents: Sequence[str]) -> None:
        if len(set(documents)) < len(documents):
            self._twice.append(topic)
        if len(set(keys)) == len(keys):
            return
        self._tied[topic] = sum(count for count in Counter(keys).values() if count > 1)
        for cut in CUTS:
            if len(keys) > cut and keys[cut - 1] == keys[cut]:
                self._cut[cut].append(topic)

    def tell(self, notices: Notices) -> None:
        """Say how many documents are tied, and where that decides what is above a cut."""
        how = "trec_eval's order, document id descending" if self._ties == "trec" else "the order of the file"
        count = f"{sum(self._tied.values())} documents share their score with another of their topic"
        notices.add(f"{count} and stand in {how}: {{ids}}.", self._tied)
        for cut, topics in self._cut.items():
            notices.add(f"equal scores on both sides of the cut at {cut}, whose order decides: {{ids}}.", topics)
        sentence = "topics with a document several times, which trec_eval refuses; the first counts: {ids}."
        notices.add(sentence, self._twice)
        notices.add("topics with scores that are no finite number; these were left out: {ids}.", self._unscored)
