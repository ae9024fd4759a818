"""Log lines that are worth saying once, not once per query.

A retriever runs on every turn of a chat; a line that repeats each time is noise, a line
that never comes hides a fault. Each line is said once for as long as its state lasts.
"""

import logging

from boost_langchain._locks import ForkSafeLock

logger = logging.getLogger("boost_langchain")

_MOST = 1_000
"""The most lines that are remembered."""

_said: dict[tuple[str, str], str] = {}
"""The topic of each line that was said, by home and line."""
_lock = ForkSafeLock()


def say_once(topic: str, home: str, message: str) -> None:
    """Log `message` as a warning unless it was said before for this boost home.

    Args:
        topic: What kind of state this is; `forget` ends it.
        home: The boost home whose state it is.
        message: The whole line. A different line on the same topic is said too; the same line
            on another topic is not.
    """
    key = (home, message)
    with _lock:
        if key in _said:
            return
        if len(_said) >= _MOST:  # a registry's name may come from a user
            _said.clear()
        _said[key] = topic
    logger.warning("%s", message)


def say_fault(topic: str, home: str, fault: Exception) -> None:
    """Say once what is broken in a boost home, which `fault` describes with its remedy."""
    say_once(topic, home, f"{fault} (boost home: {home})")


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
        for key in [key for key, said in _said.items() if (key[0], said) == (home, topic)]:
            del _said[key]
