"""The source as syntax trees: which modules there are, what each imports, how long its functions are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One imported module; `line` is where it stands. `eager`: it is loaded when the importing module is."""

    target: str
    line: int
    eager: bool


@cache
def modules() -> dict[str, Path]:
    """{dotted name: file} of everything under src; a package stands for its `__init__.py`."""
    found = {}
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> tuple[Import, ...]:
    """Everything that a module imports, wherever it stands: at the top, in a function, under TYPE_CHECKING."""
    return tuple(_imports(module, tree(module), eager=True))


def _imports(module: str, node: ast.AST, eager: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, eager) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (Import(target, child.lineno, eager) for target in _targets(module, child))
        else:
            lazy = isinstance(child, Function) or (
                isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            )
            yield from _imports(module, child, eager and not lazy)


def _targets(module: str, node: ast.ImportFrom) -> Iterator[str]:
    """The modules of a `from ... import ...`: a name that is itself a module of ours stands for that module."""
    base = node.module or ""
    if node.level:
        package = module if modules()[module].name == "__init__.py" else module.rpartition(".")[0]
        parts = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*parts, *([node.module] if node.module else [])])
    for alias in node.names:
        inner = f"{base}.{alias.name}"
        yield inner if inner in modules() else base


def ours(target: str) -> bool:
    """True for a module of this project."""
    return target.partition(".")[0] == "rag_titan"


def functions(module: str) -> Iterator[Function]:
    """Every function and method of a module, nested ones too."""
    for node in ast.walk(tree(module)):
        if isinstance(node, Function):
            yield node
