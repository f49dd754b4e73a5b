"""Labels that differ only by spaces or case."""

from hypothesis import given
from hypothesis import strategies as st

from fairbandits.logs import label_variants


def test_spaces_and_case():
    labels = ["New York", "new york", "Rome", " Rome", "NewYork", "Paris", "STRASSE", "straße", 1, "1 ", 2]
    assert label_variants(labels) == [
        ("New York", "new york", "NewYork"),
        ("Rome", " Rome"),
        ("STRASSE", "straße"),
        ("1", "1 "),
    ]
    assert label_variants(["a", "a", "b"]) == []
    assert label_variants([]) == []


@given(st.lists(st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1), unique=True))
def test_different_words_are_no_variants(labels):
    assert label_variants(labels) == []
    assert label_variants([*labels, *(label.upper() for label in labels)]) == [
        (each, each.upper()) for each in labels
    ]
