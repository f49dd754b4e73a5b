"""COMPAS, German Credit and warfarin: parsing and cleaning, against facts counted without the library."""

import csv
from collections import Counter

import numpy as np
import pytest

from fairbandits.worlds.datasets.compas import clean_compas, read_compas
from fairbandits.worlds.datasets.errors import DataError
from fairbandits.worlds.datasets.german import clean_german, read_german
from fairbandits.worlds.datasets.published import DATASETS
from fairbandits.worlds.datasets.warfarin import clean_warfarin, read_warfarin

COMPAS_LINES = """\
sex,age,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,days_b_screening_arrest,c_charge_degree,\
is_recid,score_text,two_year_recid,name
Male,30,Asian,0,0,0,4,-1,F,1,Low,1,"a, b"
Female,40,Caucasian,0,1,0,0,30,M,0,Low,0,c
Male,30,Caucasian,0,0,0,0,31,F,1,Low,1,too late
Male,30,Caucasian,0,0,0,0,,F,1,Low,1,no arrest
Male,30,Caucasian,0,0,0,0,0,O,1,Low,1,traffic
Male,30,Caucasian,0,0,0,0,0,F,-1,Low,0,no case
Male,30,Caucasian,0,0,0,0,0,F,1,N/A,1,no score
"""
GERMAN_LINE = "A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1\n"


def counts(table, *names):
    return Counter(zip(*(table[name].tolist() for name in names), strict=True))


def write(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text)
    return path


def test_compas_keeps_the_defendants_whom_propublica_analysed(tmp_path):
    table = read_compas(write(tmp_path, COMPAS_LINES))
    assert len(table) == 7
    defendants = clean_compas(table)
    assert defendants["race"].tolist() == ["Other", "Caucasian"]
    assert defendants["charge"].tolist() == ["felony", "misdemeanour"]
    assert defendants["label"].tolist() == ["new charge", "no new charge"]
    assert defendants["priors_count"].tolist() == [np.log(5), 0]


def test_compas_as_published(published_folder):
    path = published_folder("compas")
    table = read_compas(path)
    with path.open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["days_b_screening_arrest"]]
    kept = [row for row in rows if abs(int(row["days_b_screening_arrest"])) <= 30]
    defendants = clean_compas(table)
    # 6,172 is ProPublica's own number.
    assert (len(table), len(defendants), len(kept)) == (7214, 6172, 6172)
    assert counts(defendants, "race") == {
        ("African-American",): 3175,
        ("Caucasian",): 2103,
        ("Hispanic",): 509,
        ("Other",): 343 + 31 + 11,
    }
    by_sex = Counter((row["sex"].lower(), row["two_year_recid"]) for row in kept)
    labels = {"1": "new charge", "0": "no new charge"}
    assert counts(defendants, "sex", "label") == {(sex, labels[is_]): n for (sex, is_), n in by_sex.items()}


def test_german_derives_sex_and_age_band(tmp_path):
    lines = [GERMAN_LINE, GERMAN_LINE.replace("A93", "A92").replace(" 67 ", " 25 ").replace("A201 1", "A201 2")]
    applicants = clean_german(read_german(write(tmp_path, "".join(lines))))
    assert applicants["sex"].tolist() == ["male", "female"]
    assert applicants["age_band"].tolist() == ["over 25", "up to 25"]
    assert applicants["label"].tolist() == ["good", "bad"]
    assert applicants["amount"].tolist() == [np.log(1169)] * 2
    assert "risk" not in applicants.columns


def test_german_as_published(published_folder):
    applicants = clean_german(read_german(published_folder("german")))
    assert counts(applicants, "sex", "label") == {
        ("female", "good"): 201,
        ("female", "bad"): 109,
        ("male", "good"): 30 + 402 + 67,
        ("male", "bad"): 20 + 146 + 25,
    }
    assert counts(applicants, "age_band", "label") == {
        ("up to 25", "good"): 110,
        ("up to 25", "bad"): 80,
        ("over 25", "good"): 590,
        ("over 25", "bad"): 220,
    }


def test_warfarin_doses_become_arms(tmp_path):
    text = "Gender,Race,Age,Height (cm),Weight (kg),Amiodarone (Cordarone),Aspirin,Current Smoker,Diabetes"
    genes = "CYP2C9 consensus,VKORC1 -1639 consensus,VKORC1 1173 consensus"
    drugs = "Carbamazepine (Tegretol),Phenytoin (Dilantin),Rifampin or Rifampicin"
    names = f"{text},{genes},{drugs},Therapeutic Dose of Warfarin"
    values = "male,Unknown,NA,NA,80,1,0,NA,1,*1/*1,A/G,NA,NA,1,0,{}"
    lines = [names, *(values.format(dose) for dose in (20.99, 21, 49, 49.01, "NA")), "," * names.count(",")]
    table = read_warfarin(write(tmp_path, "\r\n".join(lines)))
    assert len(table) == 5
    patients = clean_warfarin(table)
    assert patients["label"].tolist() == ["low", "medium", "medium", "high"]
    assert (patients["race"][0], patients["age_band"][0], patients["smoker"][0]) == ("unknown", None, "unknown")
    assert np.isnan(patients["height"][0])
    assert (patients["weight"][0], patients["inducer"][0]) == (80, 1)


def test_warfarin_as_published(published_folder):
    path = published_folder("warfarin")
    table = read_warfarin(path)
    patients = clean_warfarin(table)
    assert (len(table), len(patients)) == (5700, 5528)
    with path.open(encoding="utf-8-sig") as lines:
        doses = [row["Therapeutic Dose of Warfarin"] for row in csv.DictReader(lines)]
    known = [float(dose) for dose in doses if dose not in ("", "NA")]
    is_low, is_high = sum(dose < 21 for dose in known), sum(dose > 49 for dose in known)
    assert (is_low, is_high) == (1495, 651)
    assert counts(patients, "label") == {("low",): is_low, ("medium",): 3382, ("high",): is_high}
    assert counts(patients, "race") == {
        ("White",): 2969,
        ("Asian",): 1619,
        ("Black or African American",): 462,
        ("unknown",): 478,
    }
    assert counts(patients, "sex") == {("male",): 3220, ("female",): 2304, (None,): 4}
    old = 1528 + 650 + 33
    assert counts(patients, "age_band") == {("70 and over",): old, ("under 70",): 5528 - 39 - old, (None,): 39}


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_compas, "sex,age\nMale,3\n", "line 1: the first line must name the column 'race', got"),
        (read_compas, COMPAS_LINES + "Male,30\n", "line 9: the line must have 13 fields.*with none for 'race'"),
        (read_compas, COMPAS_LINES.replace("Male,30", "Male,old"), "line 2: age must be a number, got 'old'"),
        (read_compas, COMPAS_LINES[: COMPAS_LINES.index("Male")], "line 1: the file must have at least one row"),
        (read_compas, "", "line 1: the first line must name the column 'sex', got"),
        (read_german, "A11 6\n", "line 1: the line must have 21 fields.*with none for 'history_code'"),
        (read_german, GERMAN_LINE[:-2] + "3\n", "line 1: risk must be a number from 1 to 2, got '3'"),
        (read_warfarin, "Gender\n", "line 1: the first line must name the column 'Therapeutic Dose of Warfarin'"),
    ],
)
def test_damaged_files_are_errors_that_name_the_line(tmp_path, read, text, message):
    with pytest.raises(DataError, match=message):
        read(write(tmp_path, text))


@pytest.mark.parametrize("name", [name for name in DATASETS if name not in ("adult", "youtube")])
def test_a_stand_in_has_the_columns_of_the_published_file(published_folder, name):
    real = DATASETS[name].read(published_folder(name))
    stand_in = DATASETS[name].stand_in()
    assert real.real
    assert not stand_in.real
    assert {key: column.dtype.kind for key, column in stand_in.columns.items()} == {
        key: column.dtype.kind for key, column in real.columns.items()
    }
