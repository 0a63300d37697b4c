"""Numbers and names as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rag_titan.evaluation.conventions import SEED
from rag_titan.evaluation.limits import below
from rag_titan.evaluation.limits import count_text as count_text  # one of the figures of a report, too
from rag_titan.evaluation.metric import Metric
from rag_titan.evaluation.scoring.policy import ENOUGH_MEASURED, rating_of

NOTHING = "–"
_BEYOND = 9_999.99  # a change of a million percent says no more than that there was next to nothing before

_RANKED = {"precision_at_k", "recall_at_k", "f1_at_k", "mrr_at_k", "hit_at_k", "average_precision_at_k"}
_ANSWERED = {"exact_match", "answer_exact_match", "answer_precision", "answer_recall", "answer_f1"}
_WORDS = {"rouge_l_f1", "context_grounding", "unsupported_number_rate", "required_fact_coverage"}
_SPANS = {
    "coverage", "size_compliance", "mean_chunk_tokens", "min_chunk_tokens", "max_chunk_tokens", "size_cv",
    "overlap_ratio", "token_recall", "token_precision", "token_iou", "context_precision", "context_recall",
    "context_noise",
    "duplicate_ratio", "budget_compliant", "lexical_cohesion", "lexical_boundary_clarity", "lexical_chunk_stickiness",
}  # fmt: skip
_CONVENTIONS: Mapping[
    str, tuple[str, set[str]]
] = {  # the words beside a metric's name, and the metrics that they change
    "gain": ("{} gain", {"ndcg_at_k", "ndcg_gain"}),
    "ap_denominator": ("denominator: {}", {"average_precision_at_k"}),
    "relevance_level": (
        "relevant from grade {}",
        _RANKED | {"mrr_gain", "precision_gain", "first_relevant_rank_change"},
    ),
    "all_topics": ("absent lists count 0", _RANKED | {"ndcg_at_k"}),
    "no_relevant": ("nothing relevant counts {}", _RANKED | {"ndcg_at_k"}),
    "answer_normalization": ("normalised by {}", _ANSWERED),
    "strip_citations": ("citation marks kept", _ANSWERED | _WORDS),
    "tokenizer": ("tokens: {}", _WORDS | _SPANS),
}

_USUAL = SEED.as_dict()


def value_text(row: Metric | None, key: str, value: float | None) -> str:
    """A value with its unit; a rate has three decimals, but never shows 1 or 0 for what is not.

    >>> value_text(None, "p95_latency_ms", 1234.5), value_text(None, "mean_cost_usd", 0.00123)
    ('1,234 ms', '$0.0012')
    >>> value_text(None, "recall_at_k", 0.99996), value_text(None, "recall_at_k", 0.5), value_text(None, "x", None)
    ('>0.999', '0.500', '–')
    """
    if value is None:
        return NOTHING
    if key.endswith("_ms"):
        return f"{_digits(value)} ms"
    if key.endswith("_usd"):
        return _dollars(value)
    if row is None or row.kind.high == 1:
        return _near_ends(value)
    return _digits(value) if "tokens" in key or abs(value) >= 10 else f"{value:.3f}"


def _digits(value: float) -> str:
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _dollars(value: float) -> str:
    """Cents, and for less than a cent two digits that say something."""
    if value >= 1 or not value:
        return f"${value:,.2f}"
    return f"${value:.{max(4, min(12, 1 - math.floor(math.log10(abs(value)))))}f}"


def _near_ends(value: float) -> str:
    text = f"{value:.3f}"
    if text == "1.000" and value < 1:
        return ">0.999"
    if float(text) == 0 and value:
        return "<0.001" if value > 0 else ">-0.001"
    return text


def score_text(score: float | None) -> str:
    """A score from 0 to 100 with one decimal; with more where one would show the score of a better rating.

    >>> score_text(93.18), score_text(89.97), score_text(None)
    ('93.2', '89.97', '–')
    """
    if score is None:
        return NOTHING
    for decimals in range(1, 7):
        text = f"{score:.{decimals}f}"
        if rating_of(float(text)) == rating_of(score):
            break
    return text


def share_text(share: float | None) -> str:
    """A share from 0 to 1 in whole percent, rounded to the nearest; 0 % is none and 100 % is all.

    A share that rounding would lift to the edge of "enough is measured" keeps a decimal, as it is below it.

    >>> share_text(8 / 30), share_text(0.999), share_text(0.001), share_text(0.0), share_text(None)
    ('27%', '>99%', '<1%', '0%', '–')
    >>> share_text(0.746), share_text(0.75)
    ('74.6%', '75%')
    """
    if share is None:
        return NOTHING
    percent = math.floor(100 * share + 0.5)
    if not 0 < percent < 100 and below(0, share) and below(share, 1):
        return ">99%" if percent else "<1%"
    enough = ENOUGH_MEASURED.value
    if below(share, enough) and percent >= 100 * enough:
        return f"{math.floor(1000 * share) / 10:.1f}%"
    return f"{percent}%"


def relative_text(change: float) -> str:
    """A change as a share of what was, with its sign, in percent; beyond all sense only that it is.

    >>> relative_text(0.125), relative_text(0.0), relative_text(1e308), relative_text(float("-inf"))
    ('+12.5 %', '+0.0 %', 'over +999,999 %', 'under -999,999 %')
    """
    if abs(change) >= _BEYOND:
        return "over +999,999 %" if change > 0 else "under -999,999 %"
    return f"{100 * change:+.1f} %"


def limit_text(row: Metric | None, entry: Mapping[str, Any]) -> str:
    """The limit of a gate or a hint with its sense.

    >>> limit_text(None, {"metric": "recall_at_k", "minimum": 0.7})
    'at least 0.700'
    """
    key = str(entry.get("metric"))
    if entry.get("maximum") is not None:
        return f"at most {value_text(row, key, entry['maximum'])}"
    if entry.get("minimum") is not None:
        return f"at least {value_text(row, key, entry['minimum'])}"
    return "measured"


def title_text(row: Metric, meta: Mapping[str, Any]) -> str:
    """The metric's name with its cut-off, and the conventions that change it where they are not the default.

    >>> from rag_titan.evaluation.catalogue import find
    >>> title_text(find("retrieval.ndcg_at_k"), {"k": 10, "conventions": {"gain": "linear"}})
    'nDCG@10 (linear gain)'
    """
    cut = meta.get("k")
    title = row.title.replace("@K", f"@{cut}") if isinstance(cut, int) else row.title
    touched = [words for key, words in convention_texts(meta).items() if row.key in _CONVENTIONS[key][1]]
    return f"{title} ({', '.join(touched)})" if touched else title


def convention_texts(meta: Mapping[str, Any]) -> dict[str, str]:
    """{convention: words} of the choices of a run that are not the default.

    >>> convention_texts({"conventions": {"gain": "linear", "all_topics": False}})
    {'gain': 'linear gain'}
    """
    chosen = meta.get("conventions")
    if not isinstance(chosen, Mapping):
        return {}
    return {
        key: words.format(chosen[key])
        for key, (words, _) in _CONVENTIONS.items()
        if key in chosen and chosen[key] != _USUAL[key]
    }
