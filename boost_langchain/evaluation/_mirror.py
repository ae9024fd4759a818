"""A golden file mirrored to a LangSmith dataset by difference, so that experiments stay comparable.

Rows that stay keep the server's ids. The listing is read whole before the first write, and
rows are created before any is removed: whatever request fails, the dataset holds the old rows
or the new ones, and the next run finishes the job.
"""

import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from boost_langchain.errors import LangSmithServiceError
from boost_langchain.evaluation._golden import Judgment
from boost_langchain.evaluation._langsmith import langsmith_answers, langsmith_errors

if TYPE_CHECKING:
    from langsmith import Client

type Row = dict[str, Any]
"""A row of a dataset, as the service lists it: id, inputs, outputs, metadata, ..."""

BATCH = 100
"""Rows per request. Ids to remove are part of an address: 100 make 5 kB."""

CONFLICTS = 3
"""How often a conflict is answered by listing and comparing again."""

_DESCRIPTION = "Retrieval judgments, mirrored from a golden file: edit the file, not the rows."


@dataclass(frozen=True)
class Difference:
    """What makes the dataset's rows the file's."""

    create: tuple[Judgment, ...] = ()
    update: tuple[tuple[Row, Judgment], ...] = ()
    remove: tuple[Row, ...] = ()
    unchanged: int = 0

    def __str__(self) -> str:
        """The counts, as they are printed."""
        return (
            f"{len(self.create)} created, {len(self.update)} updated, "
            f"{len(self.remove)} removed, {self.unchanged} unchanged"
        )


def difference(judgments: Sequence[Judgment], rows: Sequence[Row]) -> Difference:
    """Compare a golden file with a dataset.

    A row is a judgment's when its `golden_id` is; one without a golden_id (made by hand, or
    by another tool) when its query and kind are. Any further row is to be removed.

    Args:
        judgments: The file's, no two with one golden_id.
        rows: All rows of the dataset.
    """
    by_id: dict[str, Row] = {}
    # Those that were mirrored before come first: experiments hang on their ids.
    known_first = sorted(rows, key=lambda row: not _written_id(row))
    surplus = [row for row in known_first if by_id.setdefault(_golden_id(row), row) is not row]
    create: list[Judgment] = []
    update: list[tuple[Row, Judgment]] = []
    for judgment in judgments:
        kept = by_id.pop(judgment.golden_id, None)
        if kept is None:
            create.append(judgment)
        elif not _holds(kept, judgment):
            update.append((kept, judgment))
    return Difference(
        tuple(create),
        tuple(update),
        (*by_id.values(), *surplus),
        len(judgments) - len(create) - len(update),
    )


def mirror(
    client: "Client", name: str, judgments: Sequence[Judgment], *, dry_run: bool = False
) -> Difference:
    """Make the dataset hold exactly the judgments.

    Args:
        client: From `open_client`.
        name: The dataset; it is created when there is none.
        judgments: From `read_golden`.
        dry_run: Compare, and write nothing.

    Returns:
        What was changed, or would be.

    Raises:
        LangSmithServiceError: A request failed; the message says what was done before it.
    """
    done = _Done()
    try:
        with langsmith_errors(client.api_url):
            dataset_id = _dataset_id(client, name)
            if dataset_id is None and dry_run:
                return difference(judgments, ())
            if dataset_id is None:
                dataset_id = _create_dataset(client, name)
            changes = difference(judgments, list(_rows(client, dataset_id)))
            if not dry_run:
                _create(client, dataset_id, judgments, changes, done)
                _update(client, dataset_id, changes, done)
                _remove(client, dataset_id, changes, done)
    except LangSmithServiceError as e:
        if done == _Done():
            raise
        msg = f"{e} (before it: {done}; no row was lost, and the next run finishes)"
        raise LangSmithServiceError(msg) from e.__cause__
    return changes


@dataclass
class _Done:
    """How many rows were written before a request failed."""

    created: int = 0
    updated: int = 0
    removed: int = 0

    def __str__(self) -> str:
        return f"{self.created} created, {self.updated} updated, {self.removed} removed"


def _dataset_id(client: "Client", name: str) -> str | None:
    with langsmith_answers(client.api_url):
        for dataset in client.list_datasets(dataset_name=name, limit=1):
            if dataset.name == name:
                return str(dataset.id)
    return None


def _create_dataset(client: "Client", name: str) -> str:
    from langsmith.utils import LangSmithConflictError  # noqa: PLC0415 - an extra

    with langsmith_answers(client.api_url):
        try:
            return str(client.create_dataset(name, description=_DESCRIPTION).id)
        except LangSmithConflictError:
            # The answer to an attempt before this one may have been lost.
            made = _dataset_id(client, name)
            if made is None:
                raise
            return made


def _rows(client: "Client", dataset_id: str) -> Iterator[Row]:
    """Every row, a page at a time.

    `client.list_examples` would ask for the workspace again after every row for as long as
    the workspace has no tracing project, and that with retries where the service is down.
    """
    seen: set[str] = set()
    while True:
        with langsmith_answers(client.api_url):
            page = _page(
                client.request_with_retries(
                    "GET",
                    "/examples",
                    params={"dataset": dataset_id, "offset": len(seen), "limit": BATCH},
                ).json()
            )
        fresh = [row for row in page if row["id"] not in seen]
        yield from fresh
        seen.update(row["id"] for row in fresh)
        if len(page) < BATCH or not fresh:
            return


def _page(answer: object) -> list[Row]:
    """The rows of one answer.

    Raises:
        ValueError: It holds something else.
    """
    if isinstance(answer, list) and all(map(_is_row, answer)):
        return answer
    msg = f"no list of rows: {reprlib.repr(answer)}"
    raise ValueError(msg)


def _is_row(row: object) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("id"), str)
        and all(isinstance(row.get(key), dict | None) for key in ("inputs", "outputs", "metadata"))
    )


def _create(
    client: "Client",
    dataset_id: str,
    judgments: Sequence[Judgment],
    changes: Difference,
    done: _Done,
) -> None:
    from langsmith.utils import LangSmithConflictError  # noqa: PLC0415 - an extra

    missing = changes.create
    for attempt in range(CONFLICTS + 1):
        try:
            for batch in batched(missing, BATCH):
                client.create_examples(dataset_id=dataset_id, examples=[*map(_new_row, batch)])
                done.created += len(batch)
        except LangSmithConflictError:
            # The client repeats a request whose answer was lost, and its rows are there
            # already: what is missing is a matter of another look.
            if attempt == CONFLICTS:
                raise
            still = difference(judgments, list(_rows(client, dataset_id))).create
            done.created = len(changes.create) - len(still)
            missing = still
        else:
            return


def _update(client: "Client", dataset_id: str, changes: Difference, done: _Done) -> None:
    for batch in batched(changes.update, BATCH):
        client.update_examples(
            dataset_id=dataset_id,
            updates=[
                {
                    "id": row["id"],
                    "inputs": judgment.inputs,
                    "outputs": judgment.outputs,
                    # Whole, because it replaces the old: a row's split is in there too.
                    "metadata": {
                        **(row.get("metadata") or {}),
                        "golden_id": judgment.golden_id,
                    },
                }
                for row, judgment in batch
            ],
        )
        done.updated += len(batch)


def _remove(client: "Client", dataset_id: str, changes: Difference, done: _Done) -> None:
    from langsmith.utils import LangSmithNotFoundError  # noqa: PLC0415 - an extra

    for batch in batched(changes.remove, BATCH):
        ids = [row["id"] for row in batch]
        try:
            client.delete_examples(ids)
        except LangSmithNotFoundError:
            # As with a conflict: the answer to an attempt before this one may have been lost.
            if any(row["id"] in ids for row in _rows(client, dataset_id)):
                raise
        done.removed += len(batch)


def _new_row(judgment: Judgment) -> Row:
    return {
        # Ours, so that a request sent twice meets a conflict; fresh, because the service
        # refuses the id of a row that was removed.
        "id": str(uuid4()),
        "inputs": judgment.inputs,
        "reference_outputs": judgment.outputs,
        "metadata": {"golden_id": judgment.golden_id},
    }


def _holds(row: Row, judgment: Judgment) -> bool:
    return (
        row.get("inputs") == judgment.inputs
        and row.get("outputs") == judgment.outputs
        and (row.get("metadata") or {}).get("golden_id") == judgment.golden_id
    )


def _written_id(row: Row) -> str:
    return str((row.get("metadata") or {}).get("golden_id") or "")


def _golden_id(row: Row) -> str:
    if written := _written_id(row):
        return written
    return Judgment.from_row(row.get("inputs") or {}, row.get("outputs") or {}).golden_id
