"""Where the reports go: checked before the work, written after it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.evaluation import ReportManager

IN_REPORT, NOWHERE = "report", "none"
TITLE = b"# RAG evaluation report"  # how every Markdown report of ours begins
READ_IN_FOLDERS = ("queries", "chunks", "documents", "embeddings", "dataset")
_SYSTEM = (Path("/dev"), Path("/dev/fd"))


@dataclass(frozen=True)
class Outputs:
    """The JSON report, the Markdown report beside it, what becomes of the lists per query, and what was asked for more.

    json        the file of --output
    lists       "report", "none" or the Parquet file of --per-query
    html        the file of --html
    junit       the file of --junit
    junit_each  the questions that failed stand in it too
    """

    json: Path
    lists: str = IN_REPORT
    html: Path | None = None
    junit: Path | None = None
    junit_each: bool = False

    @property
    def markdown(self) -> Path:
        """The same name with .md for .json."""
        return self.json.with_name(self.json.name.removesuffix(".json") + ".md")

    @property
    def per_query(self) -> str | None:
        """As RAGEvaluator takes it."""
        return None if self.lists == NOWHERE else self.lists

    @property
    def files(self) -> list[Path]:
        """What is written."""
        return [file for _, file in self._named]

    @property
    def _named(self) -> list[tuple[str, Path]]:
        """Each file with the option that asks for it."""
        lists = None if self.lists in (IN_REPORT, NOWHERE) else Path(self.lists)
        more = (("--per-query", lists), ("--html", self.html), ("--junit", self.junit))
        asked = [(option, file) for option, file in more if file is not None]
        return [("--output", self.json), ("--output", self.markdown), *asked]

    def check(self, inputs: Iterable[str | Path | None]) -> None:
        """Raises SettingsError where a file cannot be written, or would take the place of an input, of another output
        or of a text that is no report."""
        self._check_report_name()
        read = [Path(path) for path in inputs if path is not None and str(path) != "-"]
        taken: set[Path] = set()
        for option, file in self._named:
            _check_place(option, file, beside=option == "--output")
            _check_no_input(option, file, read)
            if file.resolve() in taken:
                raise SettingsError(f"{option}: must not be one of the reports, got {file}. Choose another name.")
            taken.add(file.resolve())
        if self.junit_each and self.junit is None:
            raise SettingsError("--junit-per-query: must have a file to write, got none. Add --junit FILE.")
        if not _may_replace(self.markdown):
            rule = f"must leave {self.markdown} alone, which is no report of rag-titan"
            said = f"{rule}, got {str(self.json)!r}; the Markdown report would take its place. Choose another name."
            raise SettingsError(f"--output: {said}")
        for option, file in self._named:
            check_writable(option, file)

    def spare(self, values: str | Path | None) -> None:
        """Raises SettingsError where a file would take the place of the values that the baseline is compared by."""
        read = [] if values is None else [Path(values)]
        for option, file in self._named:
            _check_no_input(option, file, read)

    def check_beside(self, option: str, file: Path | None, inputs: Iterable[str | Path | None]) -> None:
        """Raises SettingsError where a file that is written beside these is an input or one of them."""
        if file is None:
            return
        _check_no_input(option, file, [Path(path) for path in inputs if path is not None and str(path) != "-"])
        if file.resolve() in {other.resolve() for other in self.files}:
            raise SettingsError(f"{option}: must not be one of the reports, got {file}. Choose another name.")

    def _check_report_name(self) -> None:
        if self.json.is_dir():
            found = f"got the folder {self.json}. Write {self.json / 'report.json'}."
            raise SettingsError(f"--output: must be a file, {found}")
        if self.json.suffix.lower() == ".md" or str(self.json) == "-":
            rule = "must be the file of the JSON report; the Markdown report is written beside it, with .md at its end"
            raise SettingsError(f"--output: {rule}, got {str(self.json)!r}.")

    def save(
        self,
        manager: ReportManager,
        report: Mapping[str, Any],
        comparison: Mapping[str, Any] | None = None,
        *,
        explorer: Mapping[str, Any] | None = None,
        failing: Sequence[Mapping[str, Any]] = (),
        verdict: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the reports; raises SettingsError where the system refuses."""
        manager.save_json(report, self.json)
        manager.save_markdown(report, self.markdown, comparison, verdict=verdict)
        if self.html is not None:
            manager.save_html(report, self.html, comparison, explorer, verdict=verdict)
        if self.junit is not None:
            manager.save_junit(report, self.junit, comparison, failures=failing, per_query=self.junit_each)


def check_file(option: str, file: Path, inputs: Iterable[Path]) -> None:
    """Raises SettingsError where a single file cannot be written, or would take the place of an input."""
    _check_place(option, file)
    _check_no_input(option, file, inputs)
    check_writable(option, file)


def check_no_data(option: str, file: Path) -> None:
    """Raises SettingsError where a file that is no report of anything would take the place of a report or a dataset."""
    from rag_titan.evaluation import RagTitanError, ReportManager, read_dataset

    for what, read in (("a report", ReportManager().load_json), ("a dataset", read_dataset)):
        try:
            read(file)
        except RagTitanError:
            continue
        raise SettingsError(f"{option}: must not take the place of {what}, got {file}. Choose another name.")


def _check_place(option: str, file: Path, *, beside: bool = False) -> None:
    """No folder, device, pipe or socket; nor what stands for an open file (/dev/stdout, /proc/self/fd/1)."""
    if file.is_dir():
        raise SettingsError(f"{option}: must be a file, got the folder {file}. Choose another name.")
    where = Path(os.path.abspath(file))  # the name itself, not where a link leads
    if (file.exists() and not file.is_file()) or where.parent in _SYSTEM or where.parts[:2] == ("/", "proc"):
        rule = "must be an ordinary file, so that the Markdown report can stand beside it"
        rule = rule if beside else "must be an ordinary file"
        raise SettingsError(f"{option}: {rule}, got {file}. Choose another name, such as report.json.")


def _check_no_input(option: str, file: Path, read: Iterable[Path]) -> None:
    target = file.resolve()
    for path in read:
        if target == path.resolve():
            raise SettingsError(f"{option}: must not be an input, got {file} as both. Choose another name.")
        if not path.is_dir():
            continue
        inputs = [other.resolve() for other in path.iterdir() if _read_in_folder(other)]
        becomes_one = target.parent == path.resolve() and _read_in_folder(target)
        becomes_text = not inputs and target.is_relative_to(path.resolve())  # of documents, which are read with it
        if becomes_one or becomes_text or target in inputs:
            raise SettingsError(f"{option}: must not be an input of {path}, got {file} as both. Choose another name.")


def _read_in_folder(file: Path) -> bool:
    return file.name.partition(".")[0] in READ_IN_FOLDERS


def check_not_inside(option: str, folder: Path, read: Iterable[Path]) -> None:
    """Raises SettingsError where what is written into a folder would be read by the next run, as folders are read with
    all that is in them."""
    target = folder.resolve()
    for path in read:
        if path.is_dir() and target.is_relative_to(path.resolve()):
            rule = f"must not lie in {path}, whose files are read"
            raise SettingsError(f"{option}: {rule}, got {folder}. Choose another folder.")


def _may_replace(file: Path) -> bool:
    """True for what is not there, is empty or is a report of ours; what cannot be read is found by writing."""
    try:
        with file.open("rb") as text:
            start = text.read(len(TITLE))
    except OSError:
        return True
    return not start.strip() or start == TITLE


def check_writable(option: str, file: Path, kind: str = "file") -> None:
    """Raises SettingsError where the nearest folder that exists takes no files; `kind` "folder" asks the place itself
    first. It is asked before the work is done."""
    folder = Path(os.path.realpath(file))
    folder = folder if kind == "folder" else folder.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        reason = f"{folder} is no folder"
    elif not os.access(folder, os.W_OK | os.X_OK):
        reason = f"no permission to write in {folder}"
    else:
        return
    raise SettingsError(f"{option}: {file}: must be a {kind} that can be written ({reason}). Choose another path.")
