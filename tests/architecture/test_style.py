"""Sizes and names of the source (DESIGN, section 1, rules 8 and 9)."""

from __future__ import annotations

import ast

import pytest
from tests.architecture.source_tree import ROOT, functions, imports, modules, tree

MOST_LINES = 400
MOST_FUNCTION_LINES = 40
SAYS_NOTHING = ("util", "helper", "common", "misc", "manager", "tools", "base", "core")
NAMED_BY_THE_SEEDS = {"rag_titan.evaluation.reports.manager"}  # ReportManager
SPEAKS = "rag_titan.cli"  # what may write to the terminal
QUIETS = "rag_titan.pipeline.quiet"  # what undoes the logging that libraries set up
WARNS = "rag_titan.integrations.pytest_plugin"  # whose warnings pytest lists at its end
NETWORK = ("socket", "ssl", "http", "urllib", "ftplib", "smtplib", "xmlrpc", "asyncio", "requests", "httpx")
ASKS_AN_APP = {  # what the user names, when the user asks for it
    "rag_titan.evaluation.preparation.collect_http": ("httpx", "socket"),
    "rag_titan.evaluation.preparation.asking": ("asyncio",),
    "rag_titan.models.transport": ("httpx",),
    "rag_titan.judge.connection": ("socket", "ssl", "urllib"),
    "rag_titan.judge.judge": ("asyncio",),
    "rag_titan.loadtest.driver": ("asyncio",),
    "rag_titan.loadtest.functions": ("asyncio",),
    "rag_titan.loadtest.http": ("asyncio", "httpx"),
    "rag_titan.loadtest.run": ("asyncio",),
}


@pytest.mark.parametrize("module", modules())
def test_a_file_is_under_400_lines(module: str) -> None:
    assert len(modules()[module].read_text(encoding="utf-8").splitlines()) < MOST_LINES


@pytest.mark.parametrize("module", modules())
def test_a_function_is_under_40_lines(module: str) -> None:
    sizes = {f"{f.name}, line {f.lineno}": (f.end_lineno or 0) - f.lineno + 1 for f in functions(module)}
    assert {name: size for name, size in sizes.items() if size >= MOST_FUNCTION_LINES} == {}


@pytest.mark.parametrize("module", [m for m in modules() if m not in NAMED_BY_THE_SEEDS])
def test_a_name_says_what_is_in_the_file(module: str) -> None:
    words = module.rpartition(".")[2].split("_")
    assert not [word for word in words if word.rstrip("s") in SAYS_NOTHING]


@pytest.mark.parametrize("module", [m for m in modules() if not m.startswith((SPEAKS, QUIETS, WARNS))])
def test_nothing_prints_or_logs(module: str) -> None:
    called = [node for node in ast.walk(tree(module)) if isinstance(node, ast.Call)]
    printed = [
        c.lineno for c in called if isinstance(c.func, ast.Name) and c.func.id in ("print", "input", "breakpoint")
    ]
    logged = [i.line for i in imports(module) if i.target in ("logging", "warnings")]
    assert (printed, logged) == ([], [])


@pytest.mark.parametrize("module", modules())
def test_nothing_speaks_to_the_network_unasked(module: str) -> None:
    names = {i.target.partition(".")[0] for i in imports(module)} & set(NETWORK)
    assert names - set(ASKS_AN_APP.get(module, ())) == set()
    assert not [i.target for i in imports(module) if i.eager and i.target.partition(".")[0] in NETWORK]


@pytest.mark.parametrize("module", modules())
def test_every_module_says_what_it_is_for(module: str) -> None:
    assert not tree(module).body or ast.get_docstring(tree(module))


def test_the_tests_of_the_evaluation_mirror_its_source() -> None:
    mirrored = ROOT / "tests" / "evaluation"
    sources = {path.relative_to(ROOT / "src" / "rag_titan" / "evaluation").as_posix() for path in modules().values()
               if "evaluation" in path.parts}  # fmt: skip
    strange = [
        path.relative_to(mirrored).as_posix()
        for path in mirrored.rglob("test_*.py")
        if path.relative_to(mirrored).with_name(path.name.removeprefix("test_")).as_posix() not in sources
    ]
    assert strange == []
