"""The formats that can be imported, one row each, and `import_run`, which reads any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, SettingsError, nearest
from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.limits import checked_path, said


@dataclass(frozen=True)
class Option:
    """A choice that a format leaves to its reader; its value comes as text, or as a list of texts where `many`.

    name      as a keyword of `import_run`; the command line writes it with hyphens, --doc-prefix
    meaning   a short sentence, with what holds when it is not given
    choices   the values that it may have; any where there are none
    many      it may be given several times
    """

    name: str
    meaning: str
    choices: tuple[str, ...] = ()
    many: bool = False


@dataclass(frozen=True)
class Format:
    """One format.

    name     what `rag-titan import` calls it
    module   the file of this folder that reads it: its `read(sources, **options)` returns an Imported
    reads    what it is, in a few words
    example  the sources that one writes behind the name
    preset   the conventions under which the figures of the source's own tool come out, where not the default
    """

    name: str
    module: str
    reads: str
    example: str
    options: tuple[Option, ...] = ()
    preset: str = ""


FORMATS: tuple[Format, ...] = (
    Format(
        "trec",
        "trec",
        "TREC qrels, and a run: the files of trec_eval, also as .gz",
        "qrels.txt run.txt",
        (
            Option(
                "ties",
                "equal scores: as trec_eval sorts them (trec, the default) or as they stand in the file (given)",
                ("trec", "given"),
            ),
        ),
        preset="trec_eval",
    ),
    Format(
        "beir",
        "beir",
        "a BEIR folder: corpus.jsonl, queries.jsonl, qrels/; and a run in TREC's form or as JSON",
        "scifact/ run.json",
        (
            Option("split", "which qrels/SPLIT.tsv; test where there are several"),
            Option("ties", "equal scores of the run, as for trec", ("trec", "given")),
        ),
        preset="trec_eval",
    ),
    Format(
        "ragas",
        "ragas",
        "a Ragas dataset or evaluation result: JSON, JSON Lines, CSV, Parquet",
        "results.csv",
        (Option("context", "what went into the prompt: the retrieved contexts (retrieved)", ("retrieved",)),),
    ),
    Format(
        "deepeval",
        "deepeval",
        "a DeepEval test run as JSON; test cases or goldens as JSON, JSON Lines, CSV",
        "test_run.json",
        (Option("context", "what went into the prompt: the retrieval context (retrieved)", ("retrieved",)),),
    ),
    Format(
        "langsmith",
        "langsmith",
        "LangSmith runs: JSON, JSON Lines, CSV, Parquet",
        "runs.jsonl",
        (Option("document_id", "the key of the documents' metadata that holds chunk ids, where documents have no id"),),
    ),
    Format(
        "autorag",
        "autorag",
        "an AutoRAG project or trial, or its qa and corpus tables alone (Parquet)",
        "project/",
        (
            Option("node_line", "take this node line; all of them where none is named", many=True),
            Option("module", "NODE=FILE: take this module in place of AutoRAG's choice", many=True),
            Option("retrieval", "which retrieval node is the retriever; the last one that ran"),
        ),
    ),
    Format("ragchecker", "ragchecker", "RAGChecker's inputs, results or compared answers", "checking_outputs.json"),
    Format("open-rag-eval", "open_rag_eval", "open-rag-eval's CSV, one row a passage", "results.csv"),
    Format(
        "alce",
        "alce",
        "ALCE's results or human evaluation as JSON",
        "result.json",
        (
            Option("dataset", "this data set of a human evaluation; all of them"),
            Option("system", "this system of a human evaluation; all of them"),
        ),
    ),
    Format(
        "squad",
        "squad",
        "SQuAD's articles, and predictions {id: answer}; XQuAD and others have that form too",
        "dev-v2.0.json predictions.json",
        preset="squad",
    ),
    Format(
        "chroma-chunking",
        "chroma_chunking",
        "Chroma's chunking evaluation: questions with spans (CSV) and the corpora (.md)",
        "general_evaluation_data/",
        (Option("corpus", "the questions about this corpus alone; all of them"),),
    ),
    Format(
        "traces",
        "traces",
        "spans of OpenTelemetry (OpenInference, GenAI, OpenLLMetry), Phoenix exports, TruLens: JSON, CSV, Parquet",
        "spans.jsonl",
        (Option("document_id", "the key of the documents' metadata that holds chunk ids, where documents have no id"),),
    ),
    Format(
        "table",
        "table",
        "a log or result of any columns, also one row a passage: CSV, Parquet, JSON Lines, JSON, a workbook",
        "log.csv --columns retrieved_ids=docs[].id",
        (Option("columns", "KEY=PATH: where a key of a question stands; the column of that name", many=True),),
    ),
)  # fmt: skip
"""Every format, in the order of the help page."""


def format_of(name: str) -> Format:
    """The row of a format; an underscore is as good as a hyphen. Raises SettingsError that names the nearest.

    >>> format_of("trek")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: unknown format 'trek'; the nearest is 'trec'.
    """
    if not isinstance(name, str):
        raise SettingsError(f"format: must be the name of a format, got {said(name)}.")
    for row in FORMATS:
        if row.name == name.replace("_", "-"):
            return row
    raise SettingsError(f"unknown format {name!r}{nearest(name, [row.name for row in FORMATS])}.")


def import_run(format: str, *sources: str | Path, **options: Any) -> Imported:
    """What a log, an evaluation result or a test collection of another tool holds, as records of the dataset format.

    format   the name of a row of IMPORT_FORMATS, such as "trec" or "ragas"
    sources  its files or folders, as the row's example says
    options  those of the row

    Nothing is invented: a key that the source does not have is not in the record. What of the source the records do not
    hold is said in `.notices`. Raises SettingsError about the format and its options, DatasetError about the sources.

    >>> import_run("trec", "qrels.txt", tie="given")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: tie: must be an option of the format trec; the nearest is 'ties'.
    """
    row = format_of(format)
    chosen = _checked(row, options)
    if not sources:
        raise SettingsError(f"{row.name}: must have a source, got none. Write: {row.name} {row.example}")
    paths = [checked_path(source, f"sources[{i}]") for i, source in enumerate(sources)]
    for path in paths:
        if not path.exists():
            raise DatasetError(str(path), "must be a file or a folder, got nothing there. Check the path.")
    read = import_module(f"rag_titan.evaluation.importers.{row.module}").read
    imported: Imported = read(paths, **chosen)
    return imported


def _checked(row: Format, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given, each one that the format has and of a value that it may have."""
    known = {option.name: option for option in row.options}
    chosen = {}
    for name, value in options.items():
        if name not in known:
            there = nearest(name, known) if known else "; it has none"
            raise SettingsError(f"{name}: must be an option of the format {row.name}{there}.")
        if value is None:
            continue
        choices = known[name].choices
        if choices and value not in choices:
            raise SettingsError(f"{name}: must be {' or '.join(choices)}, got {value!r}.")
        chosen[name] = value
    return chosen
