"""The exceptions that this package raises on purpose.

::

    BoostLangChainError
    ├── BoostRetrievalError    the engine failed while answering (on_error="raise")
    └── SkillLoadError         a file or an installed skill cannot be loaded

A wrong argument is a `TypeError` or a `ValueError` (pydantic's `ValidationError` is one),
as everywhere in Python. Each message names the value and what to do.
"""

__all__ = ["BoostLangChainError", "BoostRetrievalError", "SkillLoadError"]


class BoostLangChainError(Exception):
    """Base of the exceptions that this package raises on purpose."""


class BoostRetrievalError(BoostLangChainError):
    """The engine failed while answering a query or listing the catalog.

    Raised by `BoostRetriever(on_error="raise")` and by `CatalogLoader`. The message names the
    broken file and the command that repairs it; the engine's own exception, where there is
    one, is chained as `__cause__`.
    """


class SkillLoadError(BoostLangChainError, ValueError):
    """A procedure cannot be loaded: it is absent, unreadable, or not what was asked for."""
