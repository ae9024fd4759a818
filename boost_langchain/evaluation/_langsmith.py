"""LangSmith seen from here: a client with a key, and its failures as one line.

langsmith is imported only by what is called: a base import of this package stays without it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from boost_langchain.errors import LangSmithServiceError

if TYPE_CHECKING:
    from langsmith import Client

KEYS = ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")
"""The environment variables that may hold the key; a blank one is none."""

_INSTALL = "pip install --upgrade 'boost-langchain[langsmith]'"
_API = "https://api.smith.langchain.com, or that of your region"
_NO_API = f"it does not answer as the API does: set LANGSMITH_ENDPOINT to {_API}"
_NEXT_STEP = {
    401: "it does not know the key: check LANGSMITH_API_KEY, and that LANGSMITH_ENDPOINT is the "
    "region that the key belongs to",
    403: "the key may not do this: use one that may write to the workspace, and with an "
    "organization's key set LANGSMITH_WORKSPACE_ID",
    404: f"there is no LangSmith API: set LANGSMITH_ENDPOINT to {_API}",
    405: "it does not take this request, as the web application's address would not: set "
    f"LANGSMITH_ENDPOINT to {_API}",
    409: "the name or an id is taken: run it again, or give another --name",
    413: "the rows are too large for it: shorten them",
    429: "it still limits the rate after several tries: run it again in a minute",
}


def open_client(*, tracing: bool = True) -> "Client":
    """A LangSmith client with the key and the endpoint of the environment.

    The key is LANGSMITH_API_KEY or LANGCHAIN_API_KEY, the endpoint LANGSMITH_ENDPOINT or
    LANGCHAIN_ENDPOINT.

    Args:
        tracing: Whether it sends runs in the background. False for `mirror` alone, in a command
            that may end before the client's threads have begun.

    Raises:
        LangSmithServiceError: There is no key, langsmith is not installed or too old, or the
            endpoint is no address.
    """
    key = next((key for name in KEYS if (key := os.environ.get(name, "").strip())), None)
    if key is None:
        msg = "no LangSmith key: set LANGSMITH_API_KEY (smith.langchain.com, Settings, API Keys)"
        raise LangSmithServiceError(msg)
    try:
        from langsmith import Client  # noqa: PLC0415 - an extra
        from langsmith.schemas import ExampleCreate  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as e:
        msg = f"langsmith is not installed: {_INSTALL}"
        raise LangSmithServiceError(msg) from e
    # langchain-core brings an older one along, which would drop a row's outputs in silence.
    if "reference_outputs" not in ExampleCreate.model_fields:
        msg = f"langsmith is older than 0.15: {_INSTALL}"
        raise LangSmithServiceError(msg)
    endpoint = os.environ.get("LANGSMITH_ENDPOINT") or os.environ.get("LANGCHAIN_ENDPOINT") or ""
    if any(not character.isprintable() for character in key):
        msg = "the LangSmith key holds a control character or a line break: copy it anew"
        raise LangSmithServiceError(msg)
    if endpoint.strip() and not _is_address(endpoint):
        msg = f"LANGSMITH_ENDPOINT={endpoint!r} is no address: set it to {_API}"
        raise LangSmithServiceError(msg)
    with langsmith_errors(endpoint):
        return Client(api_key=key, auto_batch_tracing=tracing)


@contextmanager
def langsmith_errors(endpoint: str) -> Iterator[None]:
    """Turn what a request to LangSmith raises into a `LangSmithServiceError` of one line.

    For code of your own that calls the client: `mirror` and `open_client` do it themselves.
    What else fails in the block stays what it is: a missing file, a mistake in an evaluator.

    Args:
        endpoint: What the line names: `client.api_url`.

    Raises:
        LangSmithServiceError: The client raised, or a connection failed.

    Example:
        ```python
        from boost_langchain.evaluation import langsmith_errors, open_client

        def experiments(dataset: str) -> int:
            client = open_client()
            with langsmith_errors(client.api_url):
                return client.read_dataset(dataset_name=dataset).session_count or 0
        ```
    """
    from langsmith.utils import LangSmithError  # noqa: PLC0415 - an extra
    from requests import RequestException  # noqa: PLC0415 - langsmith's own client

    try:
        yield
    except (LangSmithError, RequestException, ConnectionError, TimeoutError) as e:
        raise _service_error(endpoint, explain(e)) from e


@contextmanager
def langsmith_answers(endpoint: str) -> Iterator[None]:
    """The same around the reading of an answer, where one of another shape is no API's."""
    try:
        with langsmith_errors(endpoint):
            yield
    except (AttributeError, LookupError, TypeError, ValueError) as e:
        raise _service_error(endpoint, _NO_API) from e


def explain(error: Exception) -> str:
    """What happened and what to do, without the endpoint, on one line."""
    from langsmith.utils import LangSmithConnectionError, LangSmithError  # noqa: PLC0415 - an extra

    status = status_of(error)
    if status in _NEXT_STEP:
        return f"{status}, {_NEXT_STEP[status]}"
    if status is not None:
        return f"{status}, it failed: run it again later"
    # To requests an answer that is not JSON is a failed request as well.
    if isinstance(error, ValueError):
        return _NO_API
    if isinstance(error, LangSmithError) and not isinstance(error, LangSmithConnectionError):
        return " ".join(str(error).split())
    return "it cannot be reached: check LANGSMITH_ENDPOINT and the network, and run it again"


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status behind one of the client's exceptions, or None.

    403 and 405 arrive as a plain LangSmithError: the response hangs on what that came from.
    """
    while error is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int):
            return status
        error = error.__cause__ or error.__context__
    return None


def _service_error(endpoint: str, what: str) -> LangSmithServiceError:
    return LangSmithServiceError(f"LangSmith at {_shown(endpoint)}: {what}")


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _shown(endpoint: str) -> str:
    """The endpoint without a password that its address may hold."""
    try:
        parts = urlsplit(endpoint)
    except ValueError:
        return endpoint
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
