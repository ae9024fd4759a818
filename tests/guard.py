"""Whether the tests would meet the installed wheel of this checkout, and nothing else."""

import importlib.util
import json
from importlib.metadata import distribution
from pathlib import Path

from support import ROOT


def wrong_package() -> str | None:
    """Why these tests would not test the code under test, or None."""
    ours = distribution("boost-langchain")
    origin = json.loads(ours.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        return "the install is editable, where the engine's own copy of the package can win"
    imported = Path(importlib.util.find_spec("boost_langchain.retriever").origin)
    if imported != Path(str(ours.locate_file("boost_langchain/retriever/__init__.py"))):
        return f"boost_langchain.retriever is {imported}, not the installed wheel's"
    for source in sorted((ROOT / "boost_langchain").rglob("*.py")):
        relative = source.relative_to(ROOT)
        # The engine's wheel may own the top __init__.py: it must not matter.
        if relative.as_posix() == "boost_langchain/__init__.py":
            continue
        installed = Path(str(ours.locate_file(relative)))
        if not installed.is_file() or installed.read_bytes() != source.read_bytes():
            return f"the installed wheel is not this checkout ({relative} differs)"
    return None
