"""A LangSmith service on loopback, as far as its own Python client uses it here.

Keeps datasets, examples, sessions, runs and feedback in memory, and fails on request. Tests
never call it but through `langsmith.Client`.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import zstandard

KEY = "lsv2_pt_double"
TENANT = "11111111-1111-4111-8111-111111111111"
PAGE = 100
"""The most rows that one listing gives."""


@dataclass(frozen=True)
class Request:
    """One request, numbered from 1; the client's own retries are requests too."""

    number: int
    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_write(self) -> bool:
        """Whether it would change a dataset or its rows."""
        return self.method != "GET" and ("/datasets" in self.path or "/examples" in self.path)

    @property
    def parts(self) -> dict[str, Any]:
        """The JSON parts of a multipart body, by name."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        return {
            part.get_param("name", header="content-disposition"): json.loads(
                part.get_payload(decode=True)
            )
            for part in message_from_bytes(head + self.body).get_payload()
        }

    @property
    def json(self) -> Any:
        """The JSON body."""
        return json.loads(self.body)


class RefusalError(Exception):
    """An answer that is no success."""

    def __init__(self, status, detail="", headers=None):
        super().__init__(detail)
        self.status = status
        self.body = {"detail": detail or f"status {status}"}
        self.headers = headers or {}


class CutError(Exception):
    """The connection is closed without an answer."""


@dataclass
class Fault:
    """What goes wrong, with which requests, how often."""

    answer: Exception
    matches: Callable[[Request], bool]
    times: float
    afterwards: bool


class LangSmithDouble:
    """The service; a context manager. Its state is plain dicts, for tests to look at."""

    def __init__(self, *, multipart=True):
        self.multipart = multipart
        self.datasets: dict[str, dict] = {}
        self.examples: dict[str, dict] = {}
        self.sessions: dict[str, dict] = {}
        self.runs: dict[str, dict] = {}
        self.feedback: list[dict] = []
        self.requests: list[Request] = []
        self.html = False
        """Answer every request as a web application would: 200, a page."""
        self._used: set[str] = set()
        self._faults: list[Fault] = []
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.double = self
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self):
        """Serve."""
        self._thread.start()
        return self

    def __exit__(self, *_exception):
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self):
        """The endpoint."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def writes(self):
        """The requests that would change a dataset or its rows."""
        return [request for request in self.requests if request.is_write]

    def rows(self, dataset="boost-golden-retrieval"):
        """The examples of a dataset, by name."""
        ids = {id_ for id_, each in self.datasets.items() if each["name"] == dataset}
        return [each for each in self.examples.values() if each["dataset_id"] in ids]

    def forget_requests(self):
        """Start counting requests again; faults are over."""
        self.requests.clear()
        self._faults.clear()

    def refuse(self, status, *, method=None, path="", times=float("inf"), **headers):
        """Answer matching requests with a status, before anything is done."""
        self._fault(RefusalError(status, headers=headers), method, path, times, afterwards=False)

    def cut_from(self, number):
        """Close the connection on request `number` and on every one after it."""
        self._faults.append(
            Fault(
                CutError(), lambda request: request.number >= number, float("inf"), afterwards=False
            )
        )

    def lose_answer(self, method, path="", times=1):
        """Do what a matching request asks, then close the connection instead of answering."""
        self._fault(CutError(), method, path, times, afterwards=True)

    def _fault(self, answer, method, path, times, *, afterwards):
        def matches(request):
            return method in (None, request.method) and path in request.path

        self._faults.append(Fault(answer, matches, times, afterwards))

    def answer(self, method, target, headers, body):
        """One request: its status and JSON body. Raises RefusalError or CutError."""
        with self._lock:
            url = urlsplit(target)
            request = Request(
                len(self.requests) + 1, method, url.path, parse_qs(url.query), headers, body
            )
            self.requests.append(request)
            fault = next((f for f in self._faults if f.times > 0 and f.matches(request)), None)
            if fault is None:
                return self._route(request)
            fault.times -= 1
            if fault.afterwards:
                self._route(request)
            raise fault.answer

    def _route(self, request):
        if request.headers.get("x-api-key") != KEY:
            raise RefusalError(401, "Invalid token")
        steps = request.path.strip("/").split("/")
        if steps[:3] == ["v1", "platform", "datasets"] and steps[4:] == ["examples"]:
            steps, dataset = ["rows"], steps[3]
        else:
            dataset = None
        name = f"_{request.method}_{steps[0]}".lower()
        if request.path.endswith("/bulk"):
            name += "_bulk"
        handle = getattr(self, name, None)
        if handle is None:
            raise RefusalError(404, f"no {request.method} {request.path}")
        return handle(request, dataset or (steps[1] if len(steps) > 1 else None))

    def _get_info(self, _request, _id):
        return 200, {
            "version": "0.12.0",
            "instance_flags": {
                "dataset_examples_multipart_enabled": self.multipart,
                "zstd_compression_enabled": True,
            },
            "batch_ingest_config": {
                "use_multipart_endpoint": True,
                "scale_up_qsize_trigger": 1000,
                "scale_up_nthreads_limit": 4,
                "scale_down_nempty_trigger": 4,
                "size_limit": 100,
                "size_limit_bytes": 20_971_520,
            },
        }

    def _get_datasets(self, request, id_):
        for each in self.datasets.values():
            each["example_count"] = len(self.rows(each["name"]))
        if id_ is not None:
            return 200, _found(self.datasets, id_)
        return 200, _page(request, _named(self.datasets, request))

    def _post_datasets(self, request, _id):
        if any(each["name"] == request.json["name"] for each in self.datasets.values()):
            raise RefusalError(409, "Dataset with this name already exists.")
        made = {**request.json, "id": str(uuid4()), "tenant_id": TENANT, "created_at": _now()}
        made |= {"modified_at": made["created_at"], "session_count": 0}
        self.datasets[made["id"]] = made
        return 200, made

    def _get_examples(self, request, id_):
        if id_ is not None:
            return 200, _found(self.examples, id_)
        (dataset,) = request.query["dataset"]
        _found(self.datasets, dataset)
        return 200, _page(
            request, [each for each in self.examples.values() if each["dataset_id"] == dataset]
        )

    def _post_rows(self, request, dataset):
        _found(self.datasets, dataset)
        ids = self._store(dataset, _gathered(request.parts))
        return 201, {"example_ids": ids, "count": len(ids)}

    def _patch_rows(self, request, dataset):
        _found(self.datasets, dataset)
        return self._change(_gathered(request.parts))

    def _post_examples_bulk(self, request, _id):
        (dataset,) = {row["dataset_id"] for row in request.json}
        ids = self._store(dataset, {row.get("id") or str(uuid4()): row for row in request.json})
        return 200, [{"id": id_} for id_ in ids]

    def _patch_examples_bulk(self, request, _id):
        return self._change({row["id"]: row for row in request.json})

    def _delete_examples(self, request, _id):
        for id_ in request.query["example_ids"]:
            _found(self.examples, id_)
        for id_ in request.query["example_ids"]:
            del self.examples[id_]
        return 200, {}

    def _store(self, dataset, rows):
        """All rows or none; an id is used once, even when its row was removed since."""
        if taken := self._used & rows.keys():
            raise RefusalError(409, f"Example id already in use: {min(taken)}")
        now = _now()
        for id_, row in rows.items():
            self._used.add(id_)
            self.examples[id_] = {
                "id": id_,
                "dataset_id": dataset,
                "inputs": row.get("inputs"),
                "outputs": row.get("outputs"),
                "metadata": {"dataset_split": ["base"], **(row.get("metadata") or {})},
                "created_at": now,
                "modified_at": now,
            }
        return list(rows)

    def _change(self, rows):
        for id_ in rows:
            _found(self.examples, id_)
        for id_, row in rows.items():
            given = {key: row[key] for key in ("inputs", "outputs", "metadata") if row.get(key)}
            self.examples[id_] |= {**given, "modified_at": _now()}
        return 200, {"count": len(rows), "example_ids": list(rows)}

    def _get_sessions(self, request, id_):
        if id_ is not None:
            return 200, _found(self.sessions, id_)
        return 200, _page(request, _named(self.sessions, request))

    def _post_sessions(self, request, _id):
        made = {**request.json, "tenant_id": TENANT, "start_time": _now()}
        self.sessions[made["id"]] = made
        return 200, made

    def _patch_sessions(self, request, id_):
        session = _found(self.sessions, id_)
        session |= {key: value for key, value in request.json.items() if value is not None}
        return 200, session

    def _post_runs(self, request, _id):
        for name, value in request.parts.items():
            event, id_, *what = name.split(".")
            if event == "feedback":
                self.feedback.append(value)
            elif what:
                self.runs.setdefault(id_, {})[what[0]] = value
            else:
                self.runs.setdefault(id_, {}).update(value)
        return 202, {"message": "Runs batch ingested"}

    def _post_feedback(self, request, _id):
        self.feedback.append(request.json)
        return 200, request.json


def _found(things, id_):
    if id_ not in things:
        raise RefusalError(404, f"{id_} not found")
    return things[id_]


def _named(things, request):
    names = request.query.get("name")
    return [each for each in things.values() if names is None or each["name"] in names]


def _page(request, things):
    offset = int(request.query.get("offset", ["0"])[0])
    limit = int(request.query.get("limit", ["100"])[0])
    if limit > PAGE:
        raise RefusalError(422, f"limit={limit} is more than {PAGE}")
    return things[offset : offset + limit]


def _gathered(parts):
    """The parts `<id>`, `<id>.inputs` and `<id>.outputs` of each row, as one dict a row."""
    rows = {}
    for name, value in parts.items():
        id_, _, what = name.partition(".")
        rows.setdefault(id_, {}).update({what: value} if what else value)
    return rows


def _now():
    return datetime.now(UTC).isoformat()


class _Handler(BaseHTTPRequestHandler):
    """HTTP to and from `LangSmithDouble.answer`."""

    protocol_version = "HTTP/1.1"
    timeout = 30

    def handle_any(self):
        body = self._body()
        headers = {key.lower(): value for key, value in self.headers.items()}
        try:
            status, found = self.server.double.answer(self.command, self.path, headers, body)
            answer, extra = json.dumps(found).encode(), {}
        except RefusalError as e:
            status, answer, extra = e.status, json.dumps(e.body).encode(), e.headers
        except CutError:
            self.close_connection = True
            return
        if self.server.double.html:
            status, answer = 200, b"<!doctype html><title>LangSmith</title>"
        self.send_response(status)
        for key, value in extra.items():
            self.send_header(key.replace("_", "-"), str(value))
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - http.server's names

    def _body(self):
        body = self._raw_body()
        if self.headers.get("Content-Encoding") == "zstd":
            stream = zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True)
            return stream.read()
        return body

    def _raw_body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            chunks = []
            while size := int(self.rfile.readline(), 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    @override
    def log_message(self, *arguments):
        """Say nothing; the double keeps the requests."""
