"""Whose classes are imported: the wheel beside the engine's own copy of the package."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from support import ROOT

UV = find_uv_bin()
ENGINE = "boost-skill-cli>=1.2.209,<1.3"
WHERE = """
import inspect
import boost_langchain
for name in boost_langchain.__all__:
    print(name, inspect.getsourcefile(getattr(boost_langchain, name)))
"""


def run(*command, **options):
    """Run a command; return what it printed."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of this checkout."""
    directory = tmp_path_factory.mktemp("wheel")
    run(UV, "build", "--quiet", "--wheel", "--out-dir", directory, ROOT)
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture
def environment(tmp_path):
    """A fresh virtual environment; its Python."""
    run(UV, "venv", "--quiet", "--seed", "--python", sys.executable, tmp_path / "env")
    return tmp_path / "env" / "bin" / "python"


def pip(python, *arguments):
    """Install with pip."""
    run(python, "-m", "pip", "install", "--quiet", *arguments)


def uv(python, *arguments):
    """Install with uv."""
    run(UV, "pip", "install", "--quiet", "--python", python, *arguments)


def assert_ours(python):
    """The three names come from our packages, whichever __init__.py is on disk."""
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    found = dict(line.split() for line in run(python, "-c", WHERE, cwd="/").splitlines())
    for name, package in {
        "BoostRetriever": "retriever",
        "SkillMarkdownLoader": "loader",
        "skill_context_node": "graph",
    }.items():
        assert Path(found[name]).is_relative_to(site / "boost_langchain" / package)
    assert set(found) == {"BoostRetriever", "SkillMarkdownLoader", "skill_context_node"}


def test_pip_in_both_orders_and_after_an_engine_reinstall(environment, wheel):
    """Pip: ours with its dependencies, the engine again, ours again."""
    pip(environment, wheel)
    assert_ours(environment)
    pip(environment, "--force-reinstall", "--no-deps", ENGINE)
    assert_ours(environment)
    pip(environment, "--force-reinstall", "--no-deps", wheel)
    assert_ours(environment)


def test_uv_in_both_orders_and_after_an_engine_reinstall(environment, wheel):
    """Uv: ours with its dependencies, the engine again, ours again."""
    uv(environment, wheel)
    assert_ours(environment)
    uv(environment, "--reinstall", "--no-deps", ENGINE)
    assert_ours(environment)
    uv(environment, "--reinstall", "--no-deps", wheel)
    assert_ours(environment)


@pytest.mark.slow
def test_same_sources_give_the_same_bytes(tmp_path):
    """Neither the time, the place, the umask nor the order of files changes sdist or wheel."""
    built = []
    for number, (umask, when) in enumerate(((0o022, 1_700_000_000), (0o077, 1_600_000_000))):
        copy = tmp_path / ("deeper/" * number) / "checkout"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".git", ".tox", ".venv", ".*_cache")
        )
        for path in [*copy.rglob("*"), copy]:
            path.chmod(
                0o777 & ~umask if path.is_dir() or os.access(path, os.X_OK) else 0o666 & ~umask
            )
            os.utime(path, (when, when))
        run(UV, "build", "--quiet", "--out-dir", tmp_path / f"dist{number}", copy)
        files = sorted((tmp_path / f"dist{number}").glob("*.*z")) + sorted(
            (tmp_path / f"dist{number}").glob("*.whl")
        )
        built.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert len(built[0]) == 2
    assert built[0] == built[1]


@pytest.mark.slow
def test_editable_install_refuses_to_test(environment):
    """In an editable install the tests say why they do not run."""
    uv(environment, "--editable", ROOT, "--group", f"{ROOT / 'pyproject.toml'}:test")
    pytest_ = environment.parent / "pytest"
    unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    done = subprocess.run(
        [pytest_, "tests/test_cli.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=unmeasured,
    )
    assert done.returncode != 0
    assert "refusing to test: the install is editable" in done.stdout + done.stderr


@pytest.mark.slow
def test_engines_eval_extra_is_refused(environment, wheel):
    """The engine's [eval] extra pins langchain 0.3: pip says that the two do not go together."""
    done = subprocess.run(
        [environment, "-m", "pip", "install", "--dry-run", wheel, "boost-skill-cli[eval]>=1.2.209"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "ResolutionImpossible" in done.stderr
    assert "langchain-core" in done.stdout + done.stderr
