"""Atomic files, and the temporary ones that killed processes leave behind."""

import os
import time

from fairbandits.storage import atomic_file, atomic_write, remove_abandoned


def test_a_file_is_complete_or_not_there(tmp_path):
    path = tmp_path / "file"
    atomic_write(path, b"first")
    try:
        with atomic_file(path) as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"first"


def test_temporary_files_of_other_machines_are_removed_when_they_are_old(tmp_path):
    recent, old = tmp_path / ".file.00000000-1-00000000", tmp_path / ".file.00000000-1-00000001"
    unrelated = tmp_path / ".file.swp"
    for each in (recent, old, unrelated):
        each.touch()
    os.utime(old, (time.time() - 90_000,) * 2)
    os.utime(unrelated, (0, 0))
    remove_abandoned(tmp_path / "file")
    assert sorted(each.name for each in tmp_path.iterdir()) == [recent.name, unrelated.name]
