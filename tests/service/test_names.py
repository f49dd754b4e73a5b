"""Names that could look like others are refused, in the same way everywhere."""

import pytest
from pydantic import TypeAdapter, ValidationError

from fairbandits.service.names import Label, Name, check_name, label_type

HIDDEN = [
    "\xa0",
    "\u200b",
    "\u200c",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u202e",
    "\u3000",
    "\u3164",
    "\u2800",
    "\n",
    "\x7f",
]


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda each: f"U+{ord(each):04X}")
def test_invisible_characters_are_refused(hidden):
    for text in (f"a{hidden}b", f"a{hidden}", hidden):
        for kind in (Name, Label):
            with pytest.raises(ValidationError, match=f"invisible characters .* got U.{ord(hidden):04X}"):
                TypeAdapter(kind).validate_python(text)
        with pytest.raises(ValueError, match=f"name must not contain control characters.*{ord(hidden):04X}"):
            check_name(text)


@pytest.mark.parametrize("name", ["a b", "algèbre", "数学", "हिन्दी", "👩", "a-b_c/d"])
def test_visible_names_are_accepted(name):
    assert TypeAdapter(Name).validate_python(name) == TypeAdapter(Label).validate_python(name) == check_name(name)


def test_labels_that_a_saved_recommender_has_learned_are_accepted():
    kind = TypeAdapter(label_type(["a\xa0b", "plain", 3]))
    assert kind.validate_python("a\xa0b") == "a\xa0b"
    assert kind.validate_python("new") == "new"
    with pytest.raises(ValidationError):
        kind.validate_python("c\xa0d")
