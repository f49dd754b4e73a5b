"""Installations without extras: the library works, and everything else says which extra it needs."""

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import fairbandits
from fairbandits.extras import install_hint

pytestmark = pytest.mark.slow

NEEDS_SERVICE = ("serve", "export out.csv", "keys list")
NEEDS_LOGS = (
    "fit log.csv",
    "audit log.csv",
    "evaluate log.csv --policy Uniform",
    "sample log.csv",
    "recommend policy.safetensors --users users.csv",
)


def needed(name, extras=()):
    """Yield the distributions that one needs, and itself."""
    found = metadata.distribution(name)
    yield found
    for line in found.requires or ():
        other, _, marker = line.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        if extra is None and "sys_platform" in marker:
            continue
        if extra is not None and not (name == "fairbandits" and extra[1] in extras):
            continue
        match = re.match(r"[\w.-]+(\[([\w,]+)\])?", other.strip())
        bare = re.match(r"[\w.-]+", other.strip())[0]
        if bare == "fairbandits":
            yield from needed("fairbandits", tuple(match[2].split(",")))
        elif bare != "pytest":
            try:
                metadata.distribution(bare)
            except metadata.PackageNotFoundError:
                continue  # for another platform
            yield from needed(bare)


@pytest.fixture(scope="module")
def install(tmp_path_factory):
    """Make a folder with links to the packages of an installation; return what runs Python with nothing else."""
    made = {}

    def runner(*extras):
        if extras not in made:
            folder = tmp_path_factory.mktemp("site")
            for found in needed("fairbandits", extras):
                for top in {Path(file).parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                    target, link = Path(found.locate_file(top)), folder / top
                    if target.exists() and not link.exists() and not top.endswith(".pth"):
                        link.symlink_to(target)
            if not (folder / "fairbandits").exists():
                (folder / "fairbandits").symlink_to(Path(fairbandits.__file__).parent)
            made[extras] = folder

        def run(*arguments):
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            return subprocess.run(
                # Without the packages of this environment.
                [sys.executable, "-S", *arguments],
                cwd=made[extras],
                env=environment | {"PYTHONPATH": str(made[extras])},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )

        return run

    return runner


def assert_refused(ended, message):
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr == f"error: {message}\n"


def test_the_library_works(install):
    code = (
        "import fairbandits as f\n"
        "policy = f.EvenLinUCB(random_state=0)\n"
        "decision = policy.choose([[1.0, 0.0], [0.0, 1.0]], 'female')\n"
        "policy.learn(decision, 0.5)\n"
        "policy.save('p.safetensors'); print(f.Policy.load('p.safetensors').rounds_learned)\n"
    )
    ended = install()("-c", code)
    assert ended.stdout == "1\n", ended.stderr


def test_the_version_needs_no_extra(install):
    ended = install()("-m", "fairbandits", "--version")
    assert (ended.returncode, ended.stdout) == (0, f"fairbandits {fairbandits.__version__}\n"), ended.stderr


@pytest.mark.parametrize("command", ["", "--help", "reproduce", "audit log.csv", "serve", "keys"])
def test_commands_need_an_extra(install, command):
    ended = install()("-m", "fairbandits", *command.split())
    assert_refused(ended, f"the command needs typer; {install_hint('cli,plot')}")


def test_gymnasium_needs_an_extra(install):
    code = (
        "from fairbandits.adapters.gymnasium import as_gymnasium\n"
        "from fairbandits.worlds import LinearWorld\n"
        "as_gymnasium(LinearWorld())"
    )
    ended = install()("-c", code)
    assert ended.stderr.splitlines()[-1] == f"ImportError: as_gymnasium needs Gymnasium; {install_hint('gym')}"


@pytest.mark.parametrize("command", NEEDS_SERVICE)
def test_the_service_needs_an_extra(install, command):
    ended = install("cli", "plot")("-m", "fairbandits", *command.split())
    assert ended.returncode == 2
    assert re.fullmatch(rf"error: the service needs [\w, ]+; {re.escape(install_hint('service'))}\n", ended.stderr)


@pytest.mark.parametrize("command", NEEDS_LOGS)
def test_logs_need_an_extra(install, command):
    ended = install("cli", "plot")("-m", "fairbandits", *command.split())
    assert_refused(ended, f"logs need pyarrow; {install_hint('logs')}")


def test_the_other_commands_need_no_more(install):
    run = install("cli", "plot")
    for command in ("--help", "data", "simulate --help", "compare --help", "reproduce --help", "keys --help"):
        ended = run("-m", "fairbandits", *command.split())
        assert ended.returncode == 0, ended.stderr
