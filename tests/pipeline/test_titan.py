"""The pipeline from files to a report, without any network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.models.scripted import base_url, good, scripted
from tests.pipeline.small import GOLDEN, LEAVE, TRAVEL, counted, embedder, handbook

from rag_titan import RAGTitan
from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator, ReportManager, collect_dataset
from rag_titan.pipeline import titan
from rag_titan.pipeline.embedding.embedders import CallableEmbedder
from rag_titan.pipeline.parts import Chunk, Found, Generated, Retrieved
from rag_titan.pipeline.prompts import ABSTENTION
from rag_titan.pipeline.stores.memory import MemoryStore
from rag_titan.pipeline.titan import SMALL_TALK

STAGES = ("chunking", "embedding", "retrieval", "reranking", "augmentation", "generation", "end_to_end")
TIMES = ("embedding", "search", "retrieval", "rerank", "generation")
SMALL = {"chunk_size": 30, "chunk_overlap": 0}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return handbook(tmp_path)


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    (tmp_path / "golden.json").write_text(json.dumps(GOLDEN), encoding="utf-8")
    return tmp_path / "golden.json"


class Scripted:
    """A generator that gives its answers one after the other, and remembers what it was asked."""

    def __init__(self, *answers: Generated) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, list[str]]] = []

    def generate(self, question: str, context: Sequence[Chunk]) -> Generated:
        self.asked.append((question, [chunk.text for chunk in context]))
        return self.answers.pop(0)


def with_store(rag_type: str = "simple", settings: Any = None, **parts: Any) -> RAGTitan:
    return RAGTitan(rag_type, SMALL | (settings or {}), **parts)


# --- index ----------------------------------------------------------------------------------------


def test_what_is_indexed_has_its_place_in_the_documents(files: list[Path]) -> None:
    index = with_store().index(files)
    assert index["documents"] == {"leave.md": LEAVE, "travel.md": TRAVEL}
    for chunk in index["chunks"]:
        assert index["documents"][chunk["doc_id"]][chunk["start"] : chunk["end"]] == chunk["text"]
        assert chunk["metadata"]["source"] == chunk["doc_id"]
    assert index["indexed_ids"] == [chunk["id"] for chunk in index["chunks"]]
    assert len(index["indexed_ids"]) > 2


def test_a_file_again_replaces_its_chunks_and_others_stay(files: list[Path]) -> None:
    rag = with_store()
    rag.index(files)
    files[1].write_text("# Travel\n\nThe limit for a hotel is 120 euros.\n", encoding="utf-8")
    index = rag.index(files[1])
    assert [chunk["text"] for chunk in index["chunks"] if chunk["doc_id"] == "travel.md"] == [
        "# Travel\n\nThe limit for a hotel is 120 euros."
    ]
    assert set(index["documents"]) == {"leave.md", "travel.md"}
    assert "120 euros" in rag.ask("What is the limit for a hotel?")["answer"]
    assert "28 days" in rag.ask("How many days of annual leave do I get?")["answer"]


def test_what_cannot_be_loaded_is_named_once_and_stops_nothing(tmp_path: Path, files: list[Path]) -> None:
    broken, empty = tmp_path / "broken.pdf", tmp_path / "empty.md"
    broken.write_bytes(b"%PDF-1.7 and no more")
    empty.touch()
    rag = with_store()
    index = rag.index([*files, broken, empty, tmp_path / "absent.md"])
    assert {chunk["doc_id"] for chunk in index["chunks"]} == {"leave.md", "travel.md"}
    assert [sum(name in text for text in rag.warnings) for name in ("broken.pdf", "empty.md", "absent.md")] == [1, 1, 1]


def test_files_of_which_nothing_can_be_loaded_are_refused_whatever_is_indexed_already(
    tmp_path: Path, files: list[Path]
) -> None:
    rag = with_store()
    before = rag.index(files)
    with pytest.raises(DatasetError, match=r"^files: must hold at least one document with text, got none \(.*missing"):
        rag.index([f"{tmp_path}/missing/"])
    assert rag.index([]) == before  # nothing given is nothing wrong
    files[0].write_text(" ", encoding="utf-8")
    assert {chunk["doc_id"] for chunk in rag.index(files[0])["chunks"]} == {"travel.md"}


def test_documents_that_are_cut_in_another_way_are_not_mixed_into_an_index(tmp_path: Path, files: list[Path]) -> None:
    settings = {"store": str(tmp_path / "index.db")}
    with_store(settings=settings).index(files)
    other = with_store(settings=settings | {"chunker": "words", "chunk_size": 9})
    said = r"index\.db: must be cut in one way, got words 9/0 beside sentence 30/0 in leave\.md\. Set that chunking"
    with pytest.raises(SettingsError, match=said):
        other.index(files[1])
    assert max(len(chunk["text"].split()) for chunk in with_store(settings=settings).index(files)["chunks"]) > 9
    chunks = other.index(files)["chunks"]  # all of them
    assert max(len(chunk["text"].split()) for chunk in chunks) <= 9
    with pytest.raises(SettingsError, match=r"got sentence 30/0 beside words 9/0 in travel\.md\."):
        with_store(settings=settings).index(files[0])
    assert other.index(files[0])["chunks"] == chunks


def test_a_short_document_that_is_the_same_in_any_chunking_keeps_nobody_from_going_on(
    tmp_path: Path, files: list[Path]
) -> None:
    short = tmp_path / "short.md"
    short.write_text("Lunch is at noon.", encoding="utf-8")
    settings = {"store": str(tmp_path / "index.db")}
    with_store(settings=settings).index([short])
    other = with_store(settings=settings | {"chunk_size": 25})
    other.index([short])  # nothing to embed
    assert len({chunk["doc_id"] for chunk in other.index(files)["chunks"]}) == 3


def test_another_process_continues_with_the_file_of_the_index(tmp_path: Path, files: list[Path]) -> None:
    settings = {"store": str(tmp_path / "index.db")}
    first = with_store(settings=settings).index(files[0])
    rag = with_store(settings=settings)
    assert "28 days" in rag.ask("How many days of annual leave do employees receive?")["answer"]
    index = rag.index(files[1])
    assert [chunk for chunk in index["chunks"] if chunk["doc_id"] == "leave.md"] == first["chunks"]
    for chunk in index["chunks"]:
        assert index["documents"][chunk["doc_id"]][chunk["start"] : chunk["end"]] == chunk["text"]
    assert index["documents"]["leave.md"].split() == LEAVE.split()


def test_an_index_of_another_embedder_is_refused(tmp_path: Path, files: list[Path]) -> None:
    settings = {"store": str(tmp_path / "index.db")}
    with_store(settings=settings).index(files)
    with pytest.raises(SettingsError, match="must be built with the embedder 'counts', got one built with 'wordllama"):
        with_store(settings=settings, embedder=embedder())


# --- ask ------------------------------------------------------------------------------------------


def test_an_answer_cites_the_chunk_that_holds_it_and_has_its_times(files: list[Path]) -> None:
    rag = with_store()
    texts = {chunk["id"]: chunk["text"] for chunk in rag.index(files)["chunks"]}
    record = rag.ask("What is the limit for a hotel?")
    assert record["answer"].startswith("The limit for a hotel is 95 euros per night. [")
    assert "95 euros" in texts[record["citations"][0]]
    assert record["context_ids"] == record["reranked_ids"] == record["reranked_ids"][: rag.settings.k]
    assert set(record["reranked_ids"]) <= set(record["retrieved_ids"])
    assert len(record["retrieved_scores"]) == len(record["retrieved_ids"]) <= rag.settings.candidates
    assert all(record[f"{name}_latency_ms"] >= 0 for name in TIMES)
    steps = sum(record[f"{name}_latency_ms"] for name in ("retrieval", "rerank", "generation"))
    assert record["latency_ms"] >= steps
    assert record["retrieval_latency_ms"] >= record["embedding_latency_ms"] + record["search_latency_ms"]
    assert not record["abstained"]
    assert record["route"] == {
        "kind": "one step", "by": "settings", "queries": ["What is the limit for a hotel?"], "tries": 1,
    }  # fmt: skip
    assert "output_tokens" not in record


def test_what_is_not_in_the_documents_is_not_answered(files: list[Path]) -> None:
    rag = with_store()
    rag.index(files)
    record = rag.ask("Which pension fund does the firm use?")
    assert (record["answer"], record["abstained"], record["citations"]) == (ABSTENTION, True, [])


@pytest.mark.parametrize(
    "question", ["", "   ", "?", "\ud800", "\0", "leave " * 20_000, "休暇は何日ですか", "[1] \"x' OR 1"]
)
@pytest.mark.parametrize("store", ["", "index.db"])
def test_any_text_can_be_asked(tmp_path: Path, files: list[Path], question: str, store: str) -> None:
    rag = with_store("adaptive", {"store": str(tmp_path / store) if store else ""})
    rag.index(files)
    assert isinstance(rag.ask(question)["answer"], str)


@pytest.mark.parametrize("store", ["", "index.db"])
def test_before_anything_is_indexed_it_says_so_and_asks_no_model(tmp_path: Path, store: str) -> None:
    settings = {"store": str(tmp_path / store) if store else "", "retriever": "bm25"}
    generator = Scripted()
    rag = with_store("adaptive", settings, generator=generator)
    with pytest.raises(DatasetError, match=r"^index: must hold at least one chunk, got an empty one\. Call index"):
        rag.ask("What is the limit for a hotel?")
    assert generator.asked == []
    assert rag.ask("Thank you!")["answer"] == SMALL_TALK


def test_a_retriever_of_your_own_need_not_have_its_chunks_in_the_store() -> None:
    class Elsewhere:
        def retrieve(self, question: str, k: int) -> Retrieved:
            return Retrieved([], 1.0)

    record = with_store(retriever=Elsewhere()).ask("What is the limit for a hotel?")
    assert (record["retrieved_ids"], record["context_ids"], record["abstained"]) == ([], [], True)


def test_without_a_reranker_nothing_is_said_of_reranking(files: list[Path]) -> None:
    rag = with_store(settings={"reranker": "none", "retriever": "bm25", "k": 2})
    rag.index(files)
    record = rag.ask("What is the limit for a hotel?")
    assert "reranked_ids" not in record
    assert record["context_ids"] == record["retrieved_ids"][:2]
    assert "embedding_latency_ms" not in record


# --- the adaptive pipeline ------------------------------------------------------------------------


def test_small_talk_is_not_searched(files: list[Path]) -> None:
    rag = with_store("adaptive")
    rag.index(files)
    record = rag.ask("Thank you!")
    assert (record["answer"], "retrieved_ids" in record) == (SMALL_TALK, False)
    assert record["route"] == {"kind": "no retrieval", "by": "rules", "queries": [], "tries": 0}


def test_a_question_of_several_parts_is_searched_part_by_part(files: list[Path]) -> None:
    rag = with_store("adaptive", {"candidates": 1, "retriever": "vectors"})
    rag.index(files)
    record = rag.ask("How many days of annual leave do I get, and what is the limit for a hotel?")
    assert record["route"]["queries"] == ["How many days of annual leave do I get", "what is the limit for a hotel?"]
    assert record["route"]["kind"] == "several steps"
    assert {name.partition("#")[0] for name in record["retrieved_ids"]} == {"leave.md", "travel.md"}
    assert "retrieved_scores" not in record


def test_what_was_not_answered_is_searched_again_in_other_words(files: list[Path]) -> None:
    found = Generated("28 days [1].", output_tokens=3, total_tokens=10, cost_usd=0.5, time_to_first_token_ms=2.0)
    none = Generated(ABSTENTION, abstained=True, output_tokens=5, total_tokens=20, cost_usd=0.25)
    generator = Scripted(none, found)
    rag = with_store("adaptive", generator=generator)
    rag.index(files)
    record = rag.ask("How many days of leave do I get?")
    assert [question for question, _ in generator.asked] == ["How many days of leave do I get?"] * 2
    assert (record["answer"], record["abstained"], record["route"]["tries"]) == ("28 days [1].", False, 2)
    assert (record["output_tokens"], record["total_tokens"], record["cost_usd"]) == (3, 30, 0.75)


def test_the_first_token_comes_after_the_tries_before(monkeypatch: pytest.MonkeyPatch, files: list[Path]) -> None:
    seconds = iter(range(1000))
    none, found = Generated(ABSTENTION, abstained=True), Generated("28 days [1].", time_to_first_token_ms=2.0)
    rag = with_store("adaptive", generator=Scripted(none, found))
    rag.index(files)
    monkeypatch.setattr(titan, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    record = rag.ask("How many days of leave do I get?")
    assert record["time_to_first_token_ms"] == 1002.0  # each step takes one tick of the clock
    assert record["generation_latency_ms"] == record["rerank_latency_ms"] == record["retrieval_latency_ms"] == 2000.0
    assert record["latency_ms"] == 13_000.0


def test_the_tries_are_bounded_and_one_for_the_simple_pipeline(files: list[Path]) -> None:
    none = Generated(ABSTENTION, abstained=True)
    for rag_type, settings, tries in (("adaptive", {"tries": 1}, 1), ("adaptive", {"tries": 9}, 2), ("simple", {}, 1)):
        rag = with_store(rag_type, settings, generator=Scripted(*[none] * 9))
        rag.index(files)
        record = rag.ask("How many days of leave do I get?")
        assert (record["abstained"], record["route"]["tries"]) == (True, tries)


def test_a_cost_that_one_try_did_not_tell_is_not_told(files: list[Path]) -> None:
    rag = with_store(
        "adaptive", generator=Scripted(Generated("", abstained=True), Generated("x", total_tokens=3, cost_usd=0.5))
    )
    rag.index(files)
    assert {"total_tokens", "cost_usd"} & set(rag.ask("How many days of leave do I get?")) == set()


# --- parts and settings ---------------------------------------------------------------------------


def test_own_parts_stand_in_the_place_of_those_of_the_settings(files: list[Path]) -> None:
    class Backwards:
        def rerank(self, question: str, found: Sequence[Found], k: int) -> list[Found]:
            return list(found)[::-1][:k]

    store = MemoryStore()
    rag = with_store(embedder=embedder(), store=store, reranker=Backwards(), settings={"k": 1})
    rag.index(files)
    record = rag.ask("hotel euros")
    assert record["context_ids"] == record["retrieved_ids"][-1:]
    assert rag.store is store
    assert rag.identity["own parts"] == "embedder, reranker, store"
    assert rag.embed(["leave days"], query=True).shape == (1, 6)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: RAGTitan("adaptiv"), "rag_type: must be simple or adaptive, got 'adaptiv'; the nearest is 'adaptive'"),
        (lambda: RAGTitan(embeder=embedder()), "embeder: must be a part of the pipeline; the nearest is 'embedder'"),
        (lambda: RAGTitan(settings={"chuncker": "words"}), "the nearest is 'chunker'"),
    ],
)
def test_what_there_is_not_is_named_with_the_nearest(make: Callable[[], RAGTitan], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        make()


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda rag: rag.index(5), SettingsError, "files: must be paths of files or folders, got 5. Write"),
        (lambda rag: rag.index(None), SettingsError, "files: must be paths of files or folders, got None."),
        (lambda rag: rag.index(["a.md", b"b"]), SettingsError, "files: must be paths of files or folders, got b'b'"),
        (lambda rag: rag.index("no/such"), DatasetError, "files: must hold at least one document with text, got none"),
        (lambda rag: rag.ask(None), DatasetError, "question: must be text, got None."),
        (lambda rag: rag.ask(["How?"]), DatasetError, r"question: must be text, got \['How\?'\]."),
        (lambda rag: rag.evaluate_stages([], 5), DatasetError, "golden: must be "),
        (lambda rag: rag.evaluate_stages(5, GOLDEN), SettingsError, "files: must be paths"),
        (lambda rag: RAGTitan(7), SettingsError, "rag_type: must be simple or adaptive, got 7."),
        (lambda rag: RAGTitan(["simple"]), SettingsError, "rag_type: must be simple or adaptive, got"),
        (lambda rag: RAGTitan(settings=7), SettingsError, "settings: must be"),
        (lambda rag: RAGTitan(chunker="words"), SettingsError, "chunker: must be an object with .chunks, got 'words'."),
        (lambda rag: RAGTitan(embedder=len), SettingsError, "embedder: must be an object with .embed and .name, got"),
    ],
)
def test_what_is_of_the_wrong_kind_is_said_in_a_sentence(
    call: Callable[[RAGTitan], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=f"^{said}"):
        call(with_store())


def test_what_did_not_change_is_not_embedded_again(files: list[Path], tmp_path: Path) -> None:
    embedded: list[str] = []

    def counting(texts: Sequence[str]) -> list[list[float]]:
        embedded.extend(texts)
        return counted(texts)

    def indexed() -> dict[str, Any]:
        rag = RAGTitan(settings={"store": str(tmp_path / "i.db")}, embedder=CallableEmbedder(counting, "counts"))
        return rag.index(files)

    first = indexed()
    embedded.clear()
    again = indexed()
    assert len(embedded) == 1  # the search that warms up
    assert again == first
    files[1].write_text("A hotel is 80 euros.")
    embedded.clear()
    assert indexed()["chunks"] != first["chunks"]
    assert (embedded[0], len(embedded)) == ("A hotel is 80 euros.", 2)


def test_a_model_behind_a_server_answers(files: list[Path]) -> None:
    with scripted(good("ollama", ["28 days ", "[1]."])) as app:
        rag = with_store(settings={"generator": "ollama", "model": "tiny", "url": base_url(app, "ollama")})
        rag.index(files)
        record = rag.ask("How many days of annual leave do I get?")
    assert (record["answer"], record["citations"]) == ("28 days [1].", record["context_ids"][:1])
    assert (record["output_tokens"], record["total_tokens"]) == (3, 10)
    assert record["time_to_first_token_ms"] > 0


# --- evaluation -----------------------------------------------------------------------------------


def test_evaluate_stages_measures_every_stage(files: list[Path], golden: Path) -> None:
    """Stages.txt, "First report"."""
    report = RAGTitan(rag_type="simple").evaluate_stages(files, golden, include_embeddings=True)
    stages = report["scorecard"]["stages"]
    assert [name for name in STAGES if not stages[name]["coverage"]] == []
    assert report["scorecard"]["overall"]["status"] == "Evaluated"
    assert report["meta"]["k"] == 5
    assert report["retrieval"]["summary"]["recall_at_k"] == 1.0
    assert report["chunking"]["coverage"] == 1.0
    assert report["embedding"]["index_coverage"] == 1.0
    assert report["end_to_end"]["error_rate"] == 0.0
    assert [one["correct"] for one in report["queries"]] == [True] * 3
    assert report["warnings"] == []
    json.dumps(report, allow_nan=False)


def test_collect_dataset_gives_what_an_evaluation_takes(tmp_path: Path, files: list[Path], golden: Path) -> None:
    """Stages.txt, "With a rag-titan pipeline"."""
    rag = RAGTitan(rag_type="adaptive", settings={"chunker": "paragraph"})
    dataset = collect_dataset(rag, files, str(golden), include_embeddings=True)
    report = RAGEvaluator(k=5).evaluate(**dataset, size_limits=(20, 300))
    ReportManager().save_markdown(report, tmp_path / "report.md")
    assert "Overall" in (tmp_path / "report.md").read_text(encoding="utf-8")
    first = dataset["queries"][0]
    assert "[" not in first["answer"]
    assert set(first["citations"]) & set(first["expected_chunk_ids"])


def test_what_was_not_loaded_is_among_the_warnings_of_the_report(files: list[Path], tmp_path: Path) -> None:
    report = with_store().evaluate_stages([*files, tmp_path / "absent.md"], GOLDEN)
    assert [text for text in report["warnings"] if "absent.md" in text]


def test_golden_questions_among_the_documents_are_not_indexed(files: list[Path], tmp_path: Path) -> None:
    table = files[0].parent / "golden.csv"
    table.write_text(f"id,question,expected_evidence\nq,How many days?,{json.dumps(LEAVE[:20])}\n")
    report = with_store().evaluate_stages(table.parent, table)
    assert report["meta"]["counts"]["documents"] == len(files)
    assert f"{table}: holds the golden questions, and was not read as a document." in report["warnings"]


def test_a_cut_off_of_nothing_is_refused_before_the_work_and_not_taken_for_none(files: list[Path]) -> None:
    rag = with_store()
    with pytest.raises(SettingsError, match=r"^k: .*got 0"):
        rag.evaluate_stages(files, GOLDEN, k=0)
    assert not rag.documents


def test_a_question_that_fails_is_an_error_of_the_report(files: list[Path]) -> None:
    rag = with_store(generator=Scripted())
    report = rag.evaluate_stages(files, GOLDEN)
    assert report["end_to_end"]["error_rate"] == 1.0


def test_the_same_files_give_the_same_answers(files: list[Path]) -> None:
    def records() -> list[dict[str, Any]]:
        rag = with_store("adaptive")
        rag.index(files)
        asked = [rag.ask(str(one["question"])) for one in GOLDEN]
        return [{key: value for key, value in one.items() if not key.endswith("_ms")} for one in asked]

    assert records() == records()


def test_the_package_has_the_pipeline_and_loads_it_when_asked() -> None:
    code = """
import sys, rag_titan
assert not [m for m in sys.modules if m.startswith(("rag_titan.", "numpy"))]
from rag_titan import RAGTitan
assert RAGTitan.__module__ == "rag_titan.pipeline.titan"
assert not {"wordllama", "bm25s", "apsw", "httpx", "pypdfium2"} & set(sys.modules)
try:
    rag_titan.RAGTitn
except AttributeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("module 'rag_titan' has no attribute 'RAGTitn'\n", "")
