"""What a question's own words say: whether it wants an explanation, and which keywords occur."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import groupby

from boost_langchain._text import nfkc

_JOINERS = "\u200c\u200d"
"""Written inside words of Persian and Indic scripts."""

_READ = 10_000
"""Characters of a text in which a request is looked for: what is pasted below it asks nothing."""

# A request stands where a sentence or clause begins, or after "could you": the docs that
# "explain the loader" ask for nothing.
_LEAD = (
    # A few words, or "so, so, so, ..." is read again from each comma on.
    r"(?:(?:^|[.?!;:,] )(?:(?:please|hi|hello|hey|so|ok|okay|now|and|then|first),? ){0,6}"
    r"|\b(?:can|could|would|will) you (?:please |kindly )?"
    r"|\b(?:like|want|need) you to )"
)
# "How do I", "how to": a task, whose answer is a procedure.
_NOT_A_TASK = r"(?!(?:i|we|you|one|to)\b)"
_AUXILIARY = r"(?:can|could|long|many|might|much|must|shall|should|will|would)"
_CLAUSE = r"[^.?!;]{1,200}"
_DONE = r"(?:\w{2,30}[^\We]ed|built|chosen|done|drawn|found|kept|made|read|run|sent|split|written)"
_SUBJECT = r"(?:background|context|overview|explanation|introduction|rundown)"
_ABOUT = r"(?:about|behind|for|here|into|of|on|to)"

_REQUEST = re.compile(
    "|".join(
        [
            rf"\bhow (?:do|does|did) {_NOT_A_TASK}(?!\w+ (?:look|sound|feel)\b)\w",
            rf"\bhow (?:is|are|was|were) {_CLAUSE} {_DONE}\b",
            rf"{_LEAD}how {_NOT_A_TASK}(?!{_AUXILIARY}\b){_CLAUSE} works?\b",
            rf"{_LEAD}(?:explain|walk (?:me|us) through|help (?:me|us) (?:to )?understand)\b",
            rf"{_LEAD}(?:describe|tell (?:me|us)) (?:how {_NOT_A_TASK}|why |about )",
            rf"{_LEAD}describe (?:the|its|this|that)\b",
            rf"{_LEAD}(?:give|show) (?:me|us) (?:\w+ ){{0,4}}{_SUBJECT}(?: {_ABOUT}\b|[.?!,]|$)",
            rf"{_LEAD}(?:an? |the )?(?:\w+ )?{_SUBJECT} (?:about|of|on)\b",
            r"\b(?:like|love|need|try|trying|want) to understand\b",
            rf"\b(?:like|love|need|want) to (?:know|learn) (?:about |why |how {_NOT_A_TASK})",
            r"\bwhat(?:'s| is| was|s) (?:the |its )(?:background|context|architecture|design|idea"
            rf"|purpose|rationale|reasoning|story) {_ABOUT}\b",
            r"\bwhat happens (?:after|before|during|if|in|inside|when)\b",
            rf"\bwhy (?:is|are|was|were|do|does|did|has|have) {_CLAUSE}"
            r" (?:chose|chosen|choose|decide|decided|designed|built|exist|keep|kept|made|need|pick"
            r"|picked|split|use|used|written)\b",
        ]
    )
)


def is_explanation_request(text: str) -> bool:
    """Whether `text` asks how a system works, for its background or for its reasons.

    "How does X work?", "Explain the Y system", "Give me background on Z", "What's the context
    for this?" and their like, in English, in any case and anywhere in the first 10,000
    characters of the text. A task ("How do I install it?", "Fix the loader") is none: its
    answer is a procedure, not an explanation.

    Args:
        text: What a user wrote.

    Raises:
        TypeError: `text` is not a string.

    Example:
        ```python
        from boost_langchain.context import is_explanation_request

        print(is_explanation_request("How does the reranker work?"))
        #> True
        print(is_explanation_request("How do I install the reranker?"))
        #> False
        ```
    """
    if not isinstance(text, str):
        msg = f"is_explanation_request needs a string, not {text!r}; pass the message's text"
        raise TypeError(msg)
    return _REQUEST.search(" ".join(_folded(text[:_READ]).split())) is not None


def mentions(text: str, keywords: Collection[str]) -> bool:
    """Whether one of the keywords occurs in `text`: as whole words, in any case, also as a plural.

    A keyword of several words ("how does") occurs where they follow one another, with nothing
    but white space between them.
    """
    said = words(text)
    return any(_occurs(said, words(keyword)) for keyword in keywords)


def words(text: str) -> list[str]:
    """The words of `text`, case folded; each mark of punctuation between them stands alone.

    A word is a run of letters, digits and underscores of any script, with the marks that
    belong to them: `user` is no word of "user_id", nor `cafe` one of "café", however encoded.
    """
    found: list[str] = []
    for is_word, run in groupby(_folded(text), _belongs_to_a_word):
        piece = "".join(run)
        found += [piece] if is_word else "".join(piece.split())
    return found


def _folded(text: str) -> str:
    return nfkc(nfkc(text).replace("\u2019", "'").casefold())


def _belongs_to_a_word(character: str) -> bool:
    return (
        character.isalnum()
        or character == "_"
        or character in _JOINERS
        or unicodedata.category(character).startswith("M")
    )


def _occurs(said: Sequence[str], keyword: Sequence[str]) -> bool:
    *head, last = keyword
    forms = _singular_and_plural(last)
    return any(
        said[end] in forms and said[end - len(head) : end] == head
        for end in range(len(head), len(said))
    )


def _singular_and_plural(word: str) -> set[str]:
    """A word and its regular English plural; "es" and "ies" only where English has them.

    With "es" after any letter, "not" would occur in "notes".
    """
    forms = {word, f"{word}s"}
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        forms.add(f"{word}es")
    if word.endswith("y") and word[-2:-1] not in {*"aeiou"}:
        forms.add(f"{word[:-1]}ies")
    return forms
