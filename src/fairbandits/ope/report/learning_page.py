"""The HTML page of certified learning: the certified policy, and the family on both parts of the log."""

from __future__ import annotations

from html import escape

from fairbandits.ope.certification.certified_learning import CertifiedLearning
from fairbandits.ope.report.learning_sentences import HEADERS, NOTES, LearningSentences
from fairbandits.report import elements
from fairbandits.report.page import html_table, render_page


def learning_page(result: CertifiedLearning) -> str:
    """Return the page."""
    sentences = LearningSentences(result)
    rows = [(member.title, [escape(cell) for cell in sentences.cells(member)]) for member in result.members]
    parts = [
        f'<p class="lead">{escape(sentences.headline())}</p>',
        elements.paragraphs((*sentences.details(), f"{sentences.split()}")),
        f"<h2>The family</h2>\n{elements.scrollable(html_table(HEADERS, rows))}",
        elements.bullet_list("How to read this report", NOTES),
    ]
    return render_page("Certified learning", f"{result.log}: {result.rows_read:,} decisions.", "\n".join(parts))
