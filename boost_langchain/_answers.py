"""What somebody else's Runnable answered, checked to be documents.

Any Runnable may be a stage here: its type parameters are a promise that Python does not check.
"""

from langchain_core.documents import Document


def checked_documents(answer: object, who: str) -> list[Document]:
    """The answer, if it is a list of Documents.

    Raises:
        TypeError: It is something else; the message names `who` gave it.
    """
    if isinstance(answer, list) and all(isinstance(one, Document) for one in answer):
        return answer
    msg = f"{who} returned {type(answer).__name__} where a list of Documents was expected"
    raise TypeError(msg)
