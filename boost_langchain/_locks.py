"""A lock that a forked child does not inherit locked, as another thread may have held it."""

import os
import threading
from types import TracebackType


class ForkSafeLock:
    """A `threading.Lock` for `with`; a forked child has one of its own, unlocked."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
            os.register_at_fork(after_in_child=self._renew)

    def __enter__(self) -> None:
        """Take it."""
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give it back."""
        self._lock.release()

    def _renew(self) -> None:
        self._lock = threading.Lock()
