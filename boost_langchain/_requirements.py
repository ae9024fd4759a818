"""Refuses an unsupported langchain-core where the package is imported.

langchain-core 0.3 has every name that this package imports and fails later, in the middle
of a run; a line at import time is kinder.
"""

from boost_cli.core.langchain_compat import supported_langchain_core
from langchain_core.version import VERSION


def require_langchain_core(found: str) -> None:
    """Raise ImportError unless `found`, a version string, is langchain-core 1.x."""
    if not supported_langchain_core(found):
        msg = (
            f"boost_langchain needs langchain-core>=1,<2 but {found} is installed: "
            "BaseMessage.text is a method in 0.3 and a property from 1.0. "
            "Run: pip install --upgrade 'langchain-core>=1,<2'"
        )
        raise ImportError(msg)


require_langchain_core(VERSION)
