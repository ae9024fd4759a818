"""Which document answers a judgment: the catalog's ids, names and contents decide.

Offline and online grading both go through `Grader`, so that a figure means the same in both.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from boost_langchain._documents import item_id
from boost_langchain._entry import content_digest
from boost_langchain._home import open_catalog
from boost_langchain.errors import BoostRetrievalError
from boost_langchain.evaluation._golden import Judgment

type GradedBy = Literal["exemplar", "name"]

WAYS = ("exemplar", "name")
"""The ways of grading."""


@dataclass(frozen=True)
class CatalogItem:
    """What grading needs to know of an item."""

    name: str
    digest: str
    """The engine's digest of its content, or ""."""


@dataclass(frozen=True)
class Grader:
    """Grades answers over the items of one catalog."""

    items: Mapping[str, CatalogItem]
    """The catalog's items by id."""
    by: GradedBy = "exemplar"
    """exemplar: a document answers when it is a pinned item or a byte-identical copy of one;
    what pins nothing is graded by name. name: when it bears a relevant name."""

    def __post_init__(self) -> None:
        """Raise ValueError for a way of grading that there is not."""
        if self.by not in WAYS:
            msg = f"by={self.by!r} is no way of grading; use {' or '.join(map(repr, WAYS))}"
            raise ValueError(msg)

    def can_grade(self, judgment: Judgment) -> bool:
        """Whether the catalog holds an item that the judgment pins (or names, if none).

        The same for both ways of grading, so that their figures are over the same judgments.
        """
        if judgment.exemplars:
            return any(exemplar in self.items for exemplar in judgment.exemplars)
        return any(item.name in judgment.relevant for item in self.items.values())

    def rank(self, judgment: Judgment, ids: Iterable[str]) -> int | None:
        """Where the first document that answers stands, from 1, or None.

        Args:
            judgment: What was asked.
            ids: The ids of the documents, best first.
        """
        pinned = judgment.exemplars if self.by == "exemplar" else ()
        digests = {self.items[each].digest for each in pinned if each in self.items} - {""}
        for rank, found in enumerate(ids, start=1):
            item = self.items.get(found)
            if found in pinned or (
                item is not None
                and (item.digest in digests if pinned else item.name in judgment.relevant)
            ):
                return rank
        return None


def open_grader(by: GradedBy = "exemplar") -> Grader:
    """A grader over the catalog of the boost home in force; it is read, and nothing is written.

    Args:
        by: "exemplar" or "name", see `Grader.by`.

    Raises:
        ValueError: `by` is something else.
        BoostRetrievalError: The catalog cannot be read, or a registry was never scanned.
    """
    catalog = open_catalog()
    for tap, cache in catalog.cache_stats.items():
        if cache is None:  # its items would pass for ones that are not tapped
            msg = f"{tap} has no catalog cache to grade by; run `boost update {tap}`"
            raise BoostRetrievalError(msg)
    return Grader(
        {
            item_id(entry): CatalogItem(entry["name"], content_digest(entry))
            for tap in catalog.taps
            for entry in catalog.entries(tap, write=False)
        },
        by,
    )
