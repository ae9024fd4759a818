"""Draw the README's pictures as SVG, readable on light and on dark pages.

    python scripts/draw_pictures.py [DIRECTORY]

Standard library only; the same input gives the same bytes.
"""

import argparse
from dataclasses import dataclass
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent

STYLE = """
  text { font: 15px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
  .small { font-size: 12.5px; fill: #59636e }
  .code { font-family: ui-monospace, monospace; font-size: 13px }
  rect { fill: #f6f8fa; stroke: #8c959f; rx: 8px }
  .ours { fill: #ddf4ff; stroke: #0969da }
  path { fill: none; stroke: #59636e; stroke-width: 1.6; marker-end: url(#head) }
  #head path { fill: #59636e; stroke: none; marker-end: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .small { fill: #9198a1 }
    rect { fill: #151b23; stroke: #656c76 }
    .ours { fill: #0c2d6b; stroke: #4493f8 }
    path { stroke: #9198a1 }
    #head path { fill: #9198a1 }
  }
"""
HEAD = (
    '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker>'
)


@dataclass(frozen=True)
class Box:
    """A labelled box: a title, and one smaller line below it."""

    x: int
    y: int
    width: int
    title: str
    note: str = ""
    ours: bool = False
    height: int = 56

    def svg(self) -> str:
        """The box as SVG."""
        middle = self.x + self.width // 2
        mark = ' class="ours"' if self.ours else ""
        place = f'x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}"'
        parts = [f"<rect{mark} {place}/>"]
        top = self.y + (24 if self.note else 33)
        face = ' class="code"' if self.ours else ""
        parts.append(f'<text{face} x="{middle}" y="{top}">{escape(self.title)}</text>')
        if self.note:
            note = escape(self.note)
            parts.append(f'<text class="small" x="{middle}" y="{top + 20}">{note}</text>')
        return "\n".join(parts)


def arrow(*points: tuple[int, int]) -> str:
    """An arrow through the given points."""
    return f'<path d="M{" L".join(f"{x} {y}" for x, y in points)}"/>'


def label(x: int, y: int, text: str) -> str:
    """A small remark."""
    return f'<text class="small" x="{x}" y="{y}">{escape(text)}</text>'


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    """A whole SVG file."""
    view = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} role="img">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n<defs>{HEAD}</defs>\n"
        f"{body}\n</svg>\n"
    )


def seams() -> str:
    """Three seams over one engine."""
    above = [
        ("a chain", "LCEL"),
        ("a graph, an agent", "LangGraph, create_agent"),
        ("an index", "any vector store"),
    ]
    ours = [
        ("BoostRetriever", "documents with provenance"),
        ("skill_context_node", "one system message a turn"),
        ("CatalogLoader", "SkillMarkdownLoader: one file"),
    ]
    parts = []
    for column, ((top, note), (name, does)) in enumerate(zip(above, ours, strict=True)):
        x = 20 + column * 250
        parts += [
            Box(x, 20, 220, top, note).svg(),
            arrow((x + 110, 78), (x + 110, 118)),
            Box(x, 120, 220, name, does, ours=True).svg(),
            arrow((x + 110, 178), (x + 110, 218)),
        ]
    parts += [
        Box(
            20, 220, 720, "the boost engine", "BM25, vectors where they are built, fusion, dedupe"
        ).svg(),
        arrow((380, 278), (380, 318)),
        Box(
            20, 320, 720, "tapped git repositories", "skills, rules, workflows, each at a commit"
        ).svg(),
    ]
    return picture(760, 396, "Three seams over one engine", parts)


def run() -> str:
    """One turn of a graph run."""
    parts = [
        Box(20, 60, 130, "question", "human message").svg(),
        arrow((152, 88), (198, 88)),
        Box(200, 60, 190, "skill_context_node", "searches the question", ours=True).svg(),
        arrow((392, 88), (438, 88)),
        Box(440, 60, 150, "leading_system", "joins, puts first", ours=True).svg(),
        arrow((592, 88), (638, 88)),
        Box(640, 60, 100, "model").svg(),
        arrow((690, 118), (690, 158)),
        Box(640, 160, 100, "tools").svg(),
        arrow((638, 188), (515, 188), (515, 118)),
        label(576, 180, "same turn"),
        arrow((295, 118), (295, 158)),
        Box(180, 160, 230, "state: one message of ours", "replaced by the next question").svg(),
        label(380, 36, "one turn"),
    ]
    return picture(760, 240, "One turn of a graph run", parts)


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description="Draw the README's pictures as SVG.")
    parser.add_argument("directory", nargs="?", type=Path, default=HERE / "pictures")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    for name, text in {"seams": seams(), "run": run()}.items():
        (options.directory / f"{name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
