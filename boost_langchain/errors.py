"""The exceptions that this package raises on purpose.

::

    BoostLangChainError
    ├── BoostRetrievalError    the engine failed while answering (on_error="raise")
    ├── EvaluationFileError    a golden file, or what was saved of a run, cannot be used
    ├── LangSmithServiceError  LangSmith cannot be used, or a request to it failed
    └── SkillLoadError         a file or an installed skill cannot be loaded

A wrong argument is a `TypeError` or a `ValueError` (pydantic's `ValidationError` is one),
as everywhere in Python. Each message names the value and what to do.
"""

__all__ = [
    "BoostLangChainError",
    "BoostRetrievalError",
    "EvaluationFileError",
    "LangSmithServiceError",
    "SkillLoadError",
]


class BoostLangChainError(Exception):
    """Base of the exceptions that this package raises on purpose."""


class BoostRetrievalError(BoostLangChainError):
    """The engine failed while answering a query or listing the catalog.

    Raised by `BoostRetriever(on_error="raise")` and by `CatalogLoader`. The message names the
    broken file and the command that repairs it; the engine's own exception, where there is
    one, is chained as `__cause__`.
    """


class EvaluationFileError(BoostLangChainError, ValueError):
    """A golden file, a saved evaluation or a file of floors cannot be used.

    One line: file and line, the value, and what to do.
    """


class LangSmithServiceError(BoostLangChainError):
    """LangSmith cannot be used (no key, no package), or a request to it failed.

    One line: the endpoint, what it answered, and the next step. The client's own exception,
    where there is one, is chained as `__cause__`.
    """


class SkillLoadError(BoostLangChainError, ValueError):
    """A procedure cannot be loaded: it is absent, unreadable, or not what was asked for."""
