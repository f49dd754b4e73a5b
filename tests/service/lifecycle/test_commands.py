"""The commands of the operator."""

import json
import os
import time

import numpy as np
import pytest

from fairbandits.cli.app import main
from fairbandits.service.auth.user_secret import create_user_secret, read_user_secret
from fairbandits.service.http.messages import make_pseudonymiser
from fairbandits.service.lifecycle.retention import prune
from tests.service.conftest import write_toml
from tests.service.lifecycle.services import fill, opened, visit
from tests.service.lifecycle.test_retention import DAY, Clock
from tests.service.small import PLAIN


@pytest.fixture
def service(tmp_path, monkeypatch):
    """The path of a configuration whose log has visits of Ada."""
    monkeypatch.chdir(tmp_path)
    create_user_secret(tmp_path / "users.secret")
    changed = {
        "store": {"url": f"sqlite:///{tmp_path}/log.db"},
        "users": {"secret_file": "users.secret"},
        "retention": {"decisions": "7 days"},
        "reward": {"window_days": 7},
    }
    path = write_toml(tmp_path / "config.toml", PLAIN | changed)
    ada = make_pseudonymiser(read_user_secret(tmp_path / "users.secret"))("ada")
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    with opened(changed["store"]["url"], **{name: changed[name] for name in ("retention", "reward")}) as engine:
        fill(engine, 10)
        clock.now += 8 * DAY
        fill(engine, 5, seed=1)
        visit(engine, 2, np.random.default_rng(2), user=ada)
        prune(engine.store, engine.config, clock.now)
    return str(path)


def run(capsys, *arguments):
    """Run a command; return its status and its output."""
    status = main([*arguments])
    printed = capsys.readouterr()
    return status, (printed.out + printed.err).splitlines()


def test_users_are_exported_and_forgotten(service, tmp_path, capsys):
    out = str(tmp_path / "ada.json")
    assert run(capsys, "export", out, service, "--user", "ada") == (0, [f"{out}: 1 decision(s)"])
    assert len(json.loads((tmp_path / "ada.json").read_text())["decisions"]) == 1
    assert (tmp_path / "ada.json").stat().st_mode & 0o777 == 0o600
    status, lines = run(capsys, "forget-user", service, "--user", "ada")
    assert status == 0
    assert lines == [
        "forgotten: 1 decision(s), 1 reward(s), 0 stored response(s), and what was learned from them",
        "What was learned before 2027-01-16 remains: the content of 10 decision(s) was deleted because of its "
        "age, so their users are unknown.",
        "Earlier backups and exports still contain the user's data.",
    ]
    assert run(capsys, "export", out, service, "--user", "ada") == (0, [f"{out}: 0 decision(s)"])
    assert run(capsys, "export", "ada.csv", service, "--user", "ada") == (
        2,
        ["error: OUT must end with .json if --user is given, got ada.csv"],
    )


def test_an_export_removes_what_a_killed_one_has_left(service, tmp_path, capsys):
    left = tmp_path / ".ada.json.00000000-1-00000000"
    left.write_text("half of the data of ada")
    os.utime(left, (0, 0))
    assert run(capsys, "export", str(tmp_path / "ada.json"), service, "--user", "ada")[0] == 0
    assert not left.exists()


def test_an_export_says_what_was_pruned(service, tmp_path, capsys):
    out = str(tmp_path / "log.csv")
    assert run(capsys, "export", out, service) == (
        0,
        [f"{out}: 6 row(s)", "The content of 10 decision(s) before 2027-01-16 was deleted because of its age."],
    )


def test_a_policy_is_replaced_and_comes_back(service, capsys):
    status, lines = run(capsys, "replace", service, "--policy", "LinUCB(alpha=0.3)")
    assert status == 0
    assert lines[0].startswith("LinUCB(alpha=0.3) (")
    assert lines[0].endswith(
        "having learned from 5 reward(s); `fairbandits replace --back` restores FairLinUCB(alpha=0.3, gamma=1)"
    )
    assert lines[1] == "It has not learned from 8 reward(s), whose content was deleted because of its age."
    status, lines = run(capsys, "replace", service, "--back")
    assert (status, lines[0].startswith("FairLinUCB(alpha=0.3, gamma=1) (")) == (0, True)


def test_backup_and_restore(service, tmp_path, capsys):
    status, [line] = run(capsys, "backup", service, "-o", "log.backup")
    assert (status, line.endswith("; read back and verified")) == (0, True)
    (tmp_path / "log.db").unlink()
    status, [line] = run(capsys, "restore", "log.backup", service)
    assert (status, line.startswith("restored: ")) == (0, True)
    status, [line] = run(capsys, "restore", "log.backup", service)
    assert status == 2
    assert "must be empty, got " in line
    assert run(capsys, "restore", "log.backup", service, "--replace")[0] == 0


def test_users_cannot_be_found_without_a_secret(tmp_path, capsys):
    path = write_toml(tmp_path / "config.toml", PLAIN | {"store": {"url": f"sqlite:///{tmp_path}/log.db"}})
    assert run(capsys, "forget-user", str(path), "--user", "ada") == (
        2,
        ["error: users.secret_file must be configured: without it, the log holds no pseudonyms"],
    )
