"""Labels of CSV files, kept as written: 001 stays '001', and only a column of plain integers holds integers."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from fairbandits.logs.byte_kernels import INTEGERS, OTHER_TEXT, classify_cells
from fairbandits.logs.column_kinds import BOOLEAN, INTEGER, NUMBER, TEXT
from fairbandits.logs.csv_parsing import CsvFormat
from fairbandits.logs.errors import Location
from fairbandits.logs.fragments import LogFragment
from fairbandits.logs.text_blocks import as_bytes
from fairbandits.logs.text_files import TextFragment


def settle_label_kinds(
    fragments: Sequence[LogFragment],
    kinds: Mapping[str, str],
    columns: Sequence[str],
    as_text: Collection[str] = (),
) -> dict[str, str]:
    """Return the kinds of all columns, with the kinds of label columns settled for the whole log.

    A column of labels holds integers if all of its cells are written like 64-bit integers, without a leading plus
    or zero; otherwise it holds text. The integer 2 may be written as 2.0, as pandas does in a column with missing
    values. For this, the files are read until a cell settles the question. Continuous values remain numbers, which
    the reader rejects as labels.

    Parameters
    ----------
    fragments : sequence of LogFragment
        The whole log. Only CSV files are affected; other sources know the types of their columns.
    kinds : mapping
        The kinds inferred from the first rows.
    columns : sequence of str
        The columns of labels.
    as_text : collection of str
        The label columns that are text in any case, because the labels with which they are compared are text.
    """
    text = [f for f in fragments if isinstance(f, TextFragment) and isinstance(f.format, CsvFormat)]
    if not text:
        return dict(kinds)
    in_files = [column for column in columns if column in text[0].columns and column not in text[0].partition]
    settled = {**kinds, **{column: TEXT for column in in_files if column in as_text or kinds[column] == BOOLEAN}}
    candidates = [column for column in in_files if kinds[column] in (INTEGER, NUMBER) and column not in as_text]
    for column, form in _forms(text, candidates).items():
        if form != OTHER_TEXT:
            settled[column] = INTEGER if form == INTEGERS else NUMBER
        elif kinds[column] == INTEGER or not _is_continuous(text[0], column):
            settled[column] = TEXT
    return settled


def _is_continuous(fragment: TextFragment, column: str) -> bool:
    block = next(fragment.blocks())
    table = fragment.format.parse(block.text, fragment.columns, {column: NUMBER}, Location(fragment.file))
    values = table.column(0).drop_null().to_numpy()
    return bool((values != np.floor(values)).any())


def _forms(fragments: Sequence[TextFragment], candidates: Sequence[str]) -> dict[str, int]:
    """Return the form in which the cells of some columns are written."""
    positions = {column: fragments[0].columns.index(column) for column in candidates}
    form = np.full(len(fragments[0].columns), OTHER_TEXT, np.int8)
    form[list(positions.values())] = INTEGERS
    for fragment in fragments:
        tokens = [token.encode() for token in fragment.format.na]
        ends = np.array([0, *itertools.accumulate(map(len, tokens))], np.int64)
        for block in fragment.blocks() if (form != OTHER_TEXT).any() else ():
            classify_cells(as_bytes(block.text), fragment.format.delimiter, as_bytes(b"".join(tokens)), ends, form)
            if (form == OTHER_TEXT).all():
                break
    return {column: form[position] for column, position in positions.items()}
