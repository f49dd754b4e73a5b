"""The file of the secret that turns ids of users into pseudonyms."""

import stat

import pytest

from fairbandits.service.auth.user_secret import create_user_secret, read_user_secret
from tests.commands import run_command
from tests.service.conftest import write_config

CREATE = r"create it with `\(umask 077; head -c 32 /dev/urandom > FILE\)`"


def write(path, content, mode=0o600):
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640])
def test_every_byte_of_the_file_counts(tmp_path, mode):
    content = b"\n" + bytes(range(30)) + b" \n"
    assert read_user_secret(write(tmp_path / "secret", content, mode)) == content


def test_a_new_secret_is_private_random_and_never_replaced(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    create_user_secret(one)
    create_user_secret(other)
    secret = read_user_secret(one)
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert len(secret) == 32
    assert read_user_secret(other) != secret
    create_user_secret(one)
    assert read_user_secret(one) == secret


def make_missing(path):
    return rf"must be a file that can be read, got {path} \(No such file or directory\); {CREATE}"


def make_folder(path):
    path.mkdir()
    return rf"must be a file that can be read, got {path} \(Is a directory\); {CREATE}"


def make_empty(path):
    write(path, b"")
    return rf"must have at least 32 bytes, got {path} with 0; {CREATE}"


def make_short(path):
    write(path, b"x" * 31)
    return rf"must have at least 32 bytes, got {path} with 31; {CREATE}"


def make_readable(path):
    write(path, b"x" * 32, 0o644)
    return (
        rf"must not be accessible to other users, got {path} with mode 0644; make it private with `chmod 600 FILE`"
    )


@pytest.mark.parametrize("make", [make_missing, make_folder, make_empty, make_short, make_readable])
def test_unusable_files(tmp_path, make):
    path = tmp_path / "secret"
    message = make(path)
    with pytest.raises(ValueError, match=f"^users.secret_file {message}$"):
        read_user_secret(path)


@pytest.mark.parametrize(
    ("make", "workers"),
    [
        (make_missing, 1),
        (make_missing, 2),
        (make_empty, 1),
        (make_short, 1),
        (make_readable, 1),
        (make_readable, 2),
    ],
)
def test_a_server_without_a_usable_secret_does_not_start(tmp_path, make, workers):
    make(tmp_path / "secret")
    path = write_config(tmp_path, store={"url": f"sqlite:///{tmp_path}/log.db"}, users={"secret_file": "secret"})
    ended = run_command("serve", path, "--port", "0", "--workers", workers, folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: users.secret_file must ")
    assert len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "log.db").exists()
