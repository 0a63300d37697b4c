"""The adapters: what each public implementation says about a log, under our names."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.oracles.harness import Query, Reference, Scores

from rag_titan.evaluation import Stage

OF_TREC_EVAL = {
    "P": "precision_at_k",
    "recall": "recall_at_k",
    "ndcg_cut": "ndcg_at_k",
    "map_cut": "average_precision_at_k",
    "success": "hit_at_k",
}
LEVEL = {"preset": "trec_eval", "relevance_level": 2}


def run_of(ids: Sequence[str], deepest: int | None = None) -> dict[str, float]:
    """A ranking as scores that fall from rank to rank."""
    return {name: float(len(ids) - place) for place, name in enumerate(ids[:deepest])}


def trec_eval(queries: Sequence[Query], k: int, level: int = 1) -> Scores:
    import pytrec_eval

    qrels = {query["id"]: query["relevance"] for query in queries}
    measures = {f"{name}.{k}" for name in OF_TREC_EVAL}
    whole = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=level)
    cut = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}, relevance_level=level)
    found = whole.evaluate({query["id"]: run_of(query["retrieved_ids"]) for query in queries})
    first = cut.evaluate({query["id"]: run_of(query["retrieved_ids"], k) for query in queries})
    scores = {ours: {q: row[f"{name}_{k}"] for q, row in found.items()} for name, ours in OF_TREC_EVAL.items()}
    return {**scores, "mrr_at_k": {q: row["recip_rank"] for q, row in first.items()}}


def sklearn_ndcg(queries: Sequence[Query], k: int, exponential: bool) -> Scores:
    from sklearn.metrics import ndcg_score

    values = {}
    for query in queries:
        missed = sorted(query["relevance"].keys() - set(query["retrieved_ids"]))
        names = [*query["retrieved_ids"], *[""] * k, *missed]  # what was not returned stands behind k blanks
        grades = np.array([max(0, query["relevance"].get(name, 0)) for name in names], dtype=float)
        gains = 2**grades - 1 if exponential else grades
        values[query["id"]] = ndcg_score([gains], [-np.arange(len(names))], k=k, ignore_ties=True)
    return {"ndcg_at_k": values}


def squad_tokens(text: str) -> list[str]:
    """The official rule: lower case, ASCII punctuation deleted, articles out, split at white space."""
    bare = text.lower().translate(str.maketrans("", "", string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def squad(queries: Sequence[Query], k: int) -> Scores:
    keys = ("exact_match", "answer_precision", "answer_recall", "answer_f1")
    scores: dict[str, dict[str, float]] = {key: {} for key in keys}
    for query in queries:
        answer, wanted = squad_tokens(query["answer"]), squad_tokens(query["expected_answer"])
        same = sum((Counter(answer) & Counter(wanted)).values())
        shares = {"answer_precision": (same, len(answer)), "answer_recall": (same, len(wanted))}
        whole = len(answer) + len(wanted)
        shares["answer_f1"] = (2 * same, whole) if answer and wanted else (float(answer == wanted), 1)
        shares["exact_match"] = (answer == wanted, 1)
        for key, (part, of) in shares.items():
            if of:  # the script divides nothing by nothing only in F1
                scores[key][query["id"]] = part / of
    return scores


class _Words:
    """Our words for the tokenizer of rouge_score: \\w+ in lower case."""

    def tokenize(self, text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())


def rouge(queries: Sequence[Query], k: int) -> Scores:
    from rouge_score.rouge_scorer import RougeScorer

    scorer: Any = RougeScorer(["rougeL"], tokenizer=_Words())
    words = _Words().tokenize
    values = {
        query["id"]: scorer.score(query["expected_answer"], query["answer"])["rougeL"].fmeasure
        for query in queries
        if words(query["answer"]) or words(query["expected_answer"])  # 0/0: nothing to compare
    }
    return {"rouge_l_f1": values}


TREC_EVAL = Reference("trec_eval", "pytrec_eval", Stage.RETRIEVAL, trec_eval, "trec_eval")
TREC_EVAL_LEVEL_2 = Reference(
    "trec_eval -l2", "pytrec_eval", Stage.RETRIEVAL, lambda queries, k: trec_eval(queries, k, level=2), LEVEL
)
SKLEARN_LINEAR = Reference(
    "scikit-learn, gains", "sklearn", Stage.RETRIEVAL, lambda q, k: sklearn_ndcg(q, k, False), {"gain": "linear"}
)
SKLEARN = Reference("scikit-learn, 2^g - 1", "sklearn", Stage.RETRIEVAL, lambda q, k: sklearn_ndcg(q, k, True))
SQUAD = Reference("the SQuAD rule", "re", Stage.GENERATION, squad, "squad")
ROUGE = Reference("rouge_score", "rouge_score", Stage.GENERATION, rouge)
ROUGE_WORDS = Reference("rouge_score, plain words", "rouge_score", Stage.GENERATION, rouge, {"tokenizer": "word"})
