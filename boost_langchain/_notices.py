"""Log lines that are worth saying once, not once per query.

A retriever runs on every turn of a chat; a line that repeats each time is noise, a line
that never comes hides a fault. Each line is said once for as long as its state lasts.
"""

import logging
import threading

logger = logging.getLogger("boost_langchain")

_said: set[tuple[str, str, str]] = set()
_lock = threading.Lock()


def say_once(topic: str, home: str, message: str) -> None:
    """Log `message` as a warning unless it was said before for this boost home.

    Args:
        topic: What kind of state this is; `forget` ends it.
        home: The boost home whose state it is.
        message: The whole line. A different line on the same topic is said too.
    """
    key = (topic, home, message)
    with _lock:
        if key in _said:
            return
        _said.add(key)
    logger.warning("%s", message)


def say_nothing_tapped(home: str) -> None:
    """Say that a boost home holds no registry at all, and what to run."""
    say_once(
        "empty",
        home,
        f"nothing is tapped in {home}, so every answer is empty: "
        "run `boost tap owner/repo` or `boost tap --defaults`",
    )


def forget(topic: str, home: str) -> None:
    """End a state: the next line on this topic and home is said again."""
    with _lock:
        _said.difference_update({key for key in _said if key[:2] == (topic, home)})
