"""Evaluations and certified learning as plain text, as `print` shows them."""

from __future__ import annotations

from fairbandits.audit.report.plain_text import text_table
from fairbandits.ope.certification.certified_learning import CertifiedLearning
from fairbandits.ope.report.learning_sentences import HEADERS, LearningSentences
from fairbandits.ope.report.notebook import evaluation_parts
from fairbandits.ope.results import Evaluation

# The column of the verdict; the columns before it concern the selection part.
_FIRST_OF_TEST = 3
_MAX_TITLE = 100


def evaluation_text(evaluation: Evaluation) -> str:
    """Return the sentences of an evaluation, the value and the gaps of every policy, and warnings."""
    sentences, columns, rows, warnings = evaluation_parts(evaluation)
    return "\n\n".join(filter(None, ["\n".join(sentences), text_table(columns, rows), "\n".join(warnings)]))


def learning_text(result: CertifiedLearning) -> str:
    """Return the sentences of certified learning, and the policies that were tested."""
    sentences = LearningSentences(result)
    text = "\n".join([sentences.headline(), *sentences.details(), sentences.split()])
    columns = ["tested policies", *HEADERS[_FIRST_OF_TEST:]]
    tested = [
        [member.title, *sentences.cells(member)[_FIRST_OF_TEST:]]
        for member in result.members
        if member.test is not None
    ]
    return f"{text}\n\n{text_table(columns, tested, max_name=_MAX_TITLE)}" if tested else text
