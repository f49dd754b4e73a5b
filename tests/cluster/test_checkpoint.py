"""Work that is interrupted and resumes from the states of its finished parts."""

import operator
import os
import signal
import subprocess
import sys

import pytest

from fairbandits.cluster import LOCAL, Checkpoint, resumable_map_reduce
from tests.polling import wait_until

PARTS = list("abcdefg")
# Computes the parts of a work, of which the fourth does not end.
ENDLESS = """
import sys, time
from pathlib import Path
from tests.cluster.test_checkpoint import run
run(Path(sys.argv[1]), sys.argv[2], lambda part: time.sleep(600) if part == "d" else part)
"""


def run(folder, fingerprint="work", compute=str, parts=PARTS, cluster=None):
    with Checkpoint(folder, fingerprint) as checkpoint:
        return resumable_map_reduce(parts, compute, operator.add, cluster, checkpoint, "letters")


def files(folder):
    return sorted(file.name for file in folder.rglob("*.pickle"))


def fail_at(letter):
    def compute(part):
        if part == letter:
            raise KeyboardInterrupt
        return part

    return compute


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_neighbours_are_merged_in_order(tmp_path, n):
    assert run(tmp_path / "states", parts=PARTS[:n]) == "abcdefg"[:n]
    assert resumable_map_reduce(PARTS[:n], str, operator.add, None, None, "letters") == "abcdefg"[:n]
    assert not list(tmp_path.iterdir())


def test_an_interrupted_work_resumes(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, compute=fail_at("d"))
    assert files(tmp_path) == ["letters-0.pickle", "letters-1.pickle", "letters-2.pickle"]
    computed = []
    assert run(tmp_path, compute=lambda part: computed.append(part) or part) == "abcdefg"
    assert computed == list("defg")


def test_a_killed_work_resumes_on_a_cluster(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, tmp_path, "work"], env=environment)
    wait_until(lambda: len(files(tmp_path)) == 3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (folder,) = tmp_path.iterdir()
    (folder / ".letters-3.pickle.0a1b").write_bytes(b"incomplete")
    assert run(tmp_path, compute=str.upper, cluster=LOCAL) == "abcDEFG"


def test_other_work_does_not_see_the_states(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, compute=fail_at("d"))
    assert run(tmp_path, fingerprint="other", compute=str.upper) == "ABCDEFG"
    assert len(files(tmp_path)) == 3
    assert run(tmp_path, compute=str.upper) == "abcDEFG"


def test_other_files_of_the_folder_stay(tmp_path):
    (tmp_path / "evaluation.html").touch()
    assert run(tmp_path) == "abcdefg"
    assert [file.name for file in tmp_path.iterdir()] == ["evaluation.html"]


def test_states_are_private(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, compute=fail_at("b"))
    (folder,) = tmp_path.iterdir()
    (file,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    file.chmod(0o666)
    with pytest.raises(
        PermissionError, match=r"files of an interrupted run must belong to you .* mode 666; remove"
    ):
        run(tmp_path)
    file.chmod(0o600)
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match=r"must belong to you and be writable by you alone, .* mode 777"):
        run(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_states_of_another_user_are_refused(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, compute=fail_at("b"))
    (file,) = tmp_path.rglob("*.pickle")
    os.chown(file, 65534, 65534)
    with pytest.raises(PermissionError, match=r"must belong to you .*, got owner 65534 and mode 600"):
        run(tmp_path)
