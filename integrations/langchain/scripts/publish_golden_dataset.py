"""Forwards to scripts/publish_golden_dataset.py; people have this path in their notes."""

from pathlib import Path
from runpy import run_path

run_path(str(Path(__file__).parents[3] / "scripts" / Path(__file__).name), run_name="__main__")
