"""What importing costs and does, seen from a process of its own (DESIGN, section 1, rules 6 and 8)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

# What `import rag_titan.evaluation` may load beside the standard library: the three libraries of the ground, and what
# these load themselves.
ALLOWED = {"numpy", "msgspec", "rapidfuzz", "typing_extensions", "cython_runtime"}


def in_a_new_process(code: str) -> Any:
    """What the code leaves in `result`, which must be JSON; it may write nothing else."""
    text = f"import json, sys\nresult = None\n{code}\nsys.__stdout__.write(json.dumps(result))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


def foreign_modules(statement: str) -> set[str]:
    """The top-level modules that a statement loads, those of Python itself and ours left out."""
    loaded = in_a_new_process(
        f"before = set(sys.modules)\n{statement}\n"
        "result = sorted({m.partition('.')[0] for m in set(sys.modules) - before})"
    )
    ours = {name for name in loaded if name in sys.stdlib_module_names or name == "rag_titan"}
    return {name for name in set(loaded) - ours if not name.startswith("_cython_")}  # "_cython_3_1_4" is Cython's own


def test_the_evaluation_loads_nothing_foreign_but_the_libraries_of_the_ground() -> None:
    assert foreign_modules("import rag_titan.evaluation") - ALLOWED == set()


def test_the_package_itself_loads_nothing_foreign() -> None:
    assert foreign_modules("import rag_titan") == set()


def test_the_errors_load_nothing_foreign() -> None:
    assert foreign_modules("import rag_titan.errors") == set()


def test_importing_reads_nothing_writes_nothing_and_speaks_to_nobody() -> None:
    """Every event that Python reports of itself while our modules load, its own and our source files left out."""
    events = in_a_new_process(
        """
import importlib.metadata, logging, numpy, msgspec, msgspec.json, msgspec.structs, rapidfuzz.process, rapidfuzz.distance
import difflib, fractions, gzip, hashlib, heapq, shutil, tempfile, unicodedata, uuid, zlib, datetime, contextlib
seen = []
def watch(name, args):
    if name == "open" and not str(args[0]).endswith((".py", ".pyc", ".so", ".pyd")):
        seen.append([name, str(args[0])])
    elif name.startswith(("socket", "subprocess", "os.putenv", "os.system", "os.mkdir", "os.remove", "os.rename")):
        seen.append([name, str(args)[:80]])
sys.addaudithook(watch)
import rag_titan.evaluation
result = seen
"""
    )
    assert events == []


def test_importing_configures_nothing() -> None:
    before, after = in_a_new_process(
        """
import gc, locale, logging, os, signal, warnings, numpy, msgspec, rapidfuzz
def state():
    return [numpy.geterr(), logging.root.level, len(logging.root.handlers), repr(warnings.filters), dict(os.environ),
            locale.setlocale(locale.LC_ALL), sys.getrecursionlimit(), gc.get_threshold(), gc.isenabled(),
            repr(numpy.get_printoptions()), repr(signal.getsignal(signal.SIGINT)), sys.path]
before = state()
import rag_titan.evaluation
result = [before, state()]
"""
    )
    assert after == before
