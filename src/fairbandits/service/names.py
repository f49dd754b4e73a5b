"""Names and labels that requests and configurations may contain, which are short and safe to print anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

#: The maximum number of characters in a name.
MAX_TEXT = 200
# Characters that count as letters, marks or symbols, although they are invisible: the grapheme joiner, Korean
# fillers, two Khmer vowels, the Mongolian variation selectors, and the Braille blank.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


def check_visible(text: str) -> str:
    """Return a name; raise ValueError if it could look like another one, or break a line.

    Spaces of other widths, joiners and all invisible characters are refused rather than removed, because the log
    records exactly the data that was sent.
    """
    hidden = next((each for each in text if not each.isprintable() or each in _BLANK), None)
    if hidden is not None:
        raise ValueError(
            "names must not contain control characters, invisible characters or spaces other than U+0020, got "
            f"U+{ord(hidden):04X}"
        )
    if text != text.strip():
        raise ValueError("names must not begin or end with a space")
    return text


#: The name of an arm, attribute, group or feature.
Name = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), AfterValidator(check_visible)]
#: A label of any kind: text, an integer or a Boolean.
Label = (
    Annotated[str, Field(min_length=1, max_length=MAX_TEXT), Strict(), AfterValidator(check_visible)]
    | Annotated[int, Strict()]
    | Annotated[bool, Strict()]
)


def label_type(known: Iterable[Any] = ()) -> Any:
    """Return the type of labels, including known labels from a file that would otherwise be refused."""
    odd = tuple(label for label in known if isinstance(label, str) and not _is_visible(label))
    return Label | Literal[odd] if odd else Label


def _is_visible(label: str) -> bool:
    try:
        check_visible(label)
    except ValueError:
        return False
    return True


def check_name(name: str) -> str:
    """Return a name given on the command line, such as that of a key; raise ValueError if it is not valid.

    Examples
    --------
    >>> check_name("shop")
    'shop'
    """
    if not 0 < len(name) <= MAX_TEXT:
        raise ValueError(f"name must have 1 to {MAX_TEXT} characters, got {len(name)}")
    try:
        return check_visible(name)
    except ValueError as error:
        raise ValueError(str(error).replace("names", "name", 1)) from None
