"""Where the reports go: checked before the work, written after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.evaluation import ReportManager

IN_REPORT, NOWHERE = "report", "none"


@dataclass(frozen=True)
class Outputs:
    """The JSON report, the Markdown report beside it, and what becomes of the lists per query.

    json   the file of --output
    lists  "report", "none" or the Parquet file of --per-query
    """

    json: Path
    lists: str = IN_REPORT

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
        return [self.json, self.markdown, *([] if self.lists in (IN_REPORT, NOWHERE) else [Path(self.lists)])]

    def check(self, inputs: Iterable[str | Path | None]) -> None:
        """Raises SettingsError where a file cannot be written, or would take the place of an input or of another."""
        if self.json.is_dir():
            found = f"got the folder {self.json}. Write {self.json / 'report.json'}."
            raise SettingsError(f"--output: must be a file, {found}")
        if self.json.suffix.lower() == ".md" or str(self.json) == "-":
            rule = "must be the file of the JSON report; the Markdown report is written beside it, with .md at its end"
            raise SettingsError(f"--output: {rule}, got {str(self.json)!r}.")
        read = {Path(path).resolve(): path for path in inputs if path is not None and str(path) != "-"}
        for file in self.files:
            option = "--output" if file in (self.json, self.markdown) else "--per-query"
            if file.is_dir():
                raise SettingsError(f"{option}: must be a file, got the folder {file}. Choose another name.")
            if file.resolve() in read:
                raise SettingsError(f"{option}: must not be an input, got {file} as both. Choose another name.")
        if len({file.resolve() for file in self.files}) < len(self.files):
            raise SettingsError(f"--per-query: must not be one of the reports, got {self.lists}. Choose another name.")

    def save(
        self, manager: ReportManager, report: Mapping[str, Any], comparison: Mapping[str, Any] | None = None
    ) -> None:
        """Write both reports; raises SettingsError where the system refuses."""
        manager.save_json(report, self.json)
        manager.save_markdown(report, self.markdown, comparison)
