"""The readers: what a good row gives, and what is said of a bad one."""

import numpy as np
import pytest

from fairbandits.worlds.datasets.tables import DataError, read_students, read_videos

ADULT = "20, Without-pay, 1, Doctorate, 16, Widowed, Armed-Forces, Unmarried, Other, Male, 0, 0, 44, ?, >50K"
VIDEO = "an-id\tsomeone\t100\tComedy\t60\t1000\t4.5\t8\t6\tanother-id"


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def test_students_are_read(tmp_path):
    table = read_students(write(tmp_path / "adult.data", ADULT, "", ADULT.replace("Male", "Female"), ""))
    assert len(table) == 2
    assert table.labels("sex").tolist() == ["Male", "Female"]
    assert table.labels("native-country").tolist() == ["?", "?"]
    assert table["age"].tolist() == [20, 20]
    assert table.real


def test_videos_are_read_but_for_those_gone_and_those_unseen(tmp_path):
    unseen = VIDEO.replace("1000", "0")
    table = read_videos(write(tmp_path / "1.txt", VIDEO, "gone", unseen, VIDEO.replace("4.5", "0")))
    assert table["rate"].tolist() == [4.5, 0]
    assert table["comments"].tolist() == [6, 6]


def test_tables_cannot_be_written_to(tmp_path):
    table = read_videos(write(tmp_path / "1.txt", VIDEO))
    with pytest.raises(ValueError, match="read-only"):
        table["rate"][0] = 1
    assert not table.take(np.array([0, 0]))["rate"].flags.writeable


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ADULT.rsplit(",", 1)[0],
            r"line 2 has 14 fields and ends before 'income'; expected 15 fields: age, workclass",
        ),
        (ADULT.replace("Male", "Malle"), r"line 2 has sex 'Malle'; expected one of Female, Male"),
        (ADULT.replace("20", "young"), r"line 2 has age 'young'; expected a number from 17 to 90"),
        (ADULT.replace(" 44", " 400"), r"line 2 has hours-per-week '400'; expected a number from 1 to 99"),
        (ADULT.replace("20", "nan"), r"line 2 has age 'nan'; expected a number"),
    ],
)
def test_a_bad_student_is_refused(tmp_path, line, message):
    path = write(tmp_path / "adult.data", ADULT, line)
    with pytest.raises(DataError, match=message) as caught:
        read_students(path)
    assert str(path) in str(caught.value)
    assert "Replace it" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "an-id\tsomeone\t100",
            r"line 2 has 3 fields and ends before 'category'; expected the id alone, or 9 fields",
        ),
        (VIDEO.replace("1000", "many"), r"line 2 has views 'many'; expected a number"),
        (VIDEO.replace("4.5", "6"), r"line 2 has rate '6'; expected a number from 0 to 5"),
    ],
)
def test_a_bad_video_is_refused(tmp_path, line, message):
    with pytest.raises(DataError, match=message):
        read_videos(write(tmp_path / "1.txt", VIDEO, line))


@pytest.mark.parametrize("read", [read_students, read_videos])
def test_an_empty_file_is_refused(tmp_path, read):
    with pytest.raises(DataError, match="expected at least one row"):
        read(write(tmp_path / "empty", ""))


def test_any_bytes_get_a_message_about_rows(tmp_path):
    path = tmp_path / "adult.data"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(DataError, match="line 1 has"):
        read_students(path)
