"""Evaluations as a picture: a panel per metric, a row per slice, a dot per evaluation."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from boost_langchain.evaluation import Evaluation

# Blue and orange of Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#E69F00")


def require_drawable(path: Path) -> None:
    """Raise ValueError where `draw` could not: matplotlib is missing, or another ending."""
    if path.suffix not in {".svg", ".png"}:
        msg = f"--plot {path}: name a file that ends in .svg or .png"
        raise ValueError(msg)
    if find_spec("matplotlib") is None:
        msg = "--plot needs matplotlib: pip install matplotlib"
        raise ValueError(msg)


def draw(evaluations: Mapping[str, Evaluation], path: Path) -> None:
    """Draw one evaluation, or two side by side.

    Args:
        evaluations: By the name that the legend shows; in the order of time.
        path: An .svg or .png file, which is replaced.

    Raises:
        ValueError: See `require_drawable`.
    """
    require_drawable(path)
    import matplotlib as mpl  # noqa: PLC0415 - only a picture needs it

    mpl.use("agg")
    # The same figures give the same file: no date, no random ids.
    mpl.rcParams["svg.hashsalt"] = "boost-langchain"
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of backend

    slices = {name: each.slices() for name, each in evaluations.items()}
    labels = next(iter(evaluations.values())).labels()
    parts = [part for part in next(iter(slices.values())) if part != "all"] + ["all"]
    figure, axes = plt.subplots(
        1, len(labels), figsize=(10, 0.9 + 0.45 * len(parts)), sharey=True, layout="constrained"
    )
    for axis, (metric, shown_as) in zip(axes, labels.items(), strict=True):
        axis.set_title(shown_as, fontsize=11)
        axis.set_xlim(0, 1)
        axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        axis.set_ylim(len(parts) - 0.5, -0.5)
        axis.grid(axis="x", color="#dddddd")
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(left=False)
        values = [[found[part].figure(metric) for part in parts] for found in slices.values()]
        if len(values) > 1:
            axis.hlines(range(len(parts)), values[0], values[-1], color="#999999", linewidth=2)
        for name, colour, shown in zip(slices, COLOURS, values, strict=False):
            # Not clipped: a dot at 1 would lose its right half.
            axis.scatter(
                shown, range(len(parts)), s=55, color=colour, label=name, zorder=3, clip_on=False
            )
        for place, value in enumerate(values[-1]):
            axis.annotate(
                f"{value:.3f}",
                (value, place),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
    counts = [next(iter(slices.values()))[part].judgments for part in parts]
    names = [f"{part} ({count})" for part, count in zip(parts, counts, strict=True)]
    axes[0].set_yticks(range(len(parts)), names)
    if len(evaluations) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
