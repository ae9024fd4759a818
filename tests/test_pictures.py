"""The README's pictures are what the script draws."""

import subprocess
import sys
from xml.etree import ElementTree as ET

from support import ROOT

PICTURES = ROOT / "scripts" / "pictures"


def test_pictures_are_current(tmp_path):
    """Drawing them again changes no byte, and each is well-formed."""
    script = ROOT / "scripts" / "draw_pictures.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, cwd="/")
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_bytes() for path in PICTURES.iterdir()}
    for data in drawn.values():
        assert ET.fromstring(data).tag.endswith("svg")  # noqa: S314 - our own file
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"scripts/pictures/{name}" in readme for name in drawn)
