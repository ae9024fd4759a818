"""What somebody else's Runnable answered: checked to be documents, or shortened for a log.

Any Runnable may be a stage here: its type parameters are a promise that Python does not check.
"""

import reprlib

from langchain_core.documents import Document

from boost_langchain._text import one_line

_REPR = reprlib.Repr(maxstring=200, maxother=200)


def checked_documents(answer: object, who: str) -> list[Document]:
    """The answer, if it is a list of Documents.

    Raises:
        TypeError: It is something else; the message names `who` gave it.
    """
    if isinstance(answer, list) and all(isinstance(one, Document) for one in answer):
        return answer
    msg = f"{who} returned {type(answer).__name__} where a list of Documents was expected"
    raise TypeError(msg)


def shortened(value: object) -> str:
    """An exception or an answer as one line of a log: either may quote all that a model wrote."""
    return one_line(_REPR.repr(value))
