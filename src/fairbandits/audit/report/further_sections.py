"""The sections of a report besides gaps, and their JSON values."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from fairbandits.audit.audit import Audit
from fairbandits.audit.report.adjusted_section import adjusted_section
from fairbandits.audit.report.exposure_section import exposure_section
from fairbandits.audit.report.impact_section import impact_section
from fairbandits.audit.report.reference_section import reference_section
from fairbandits.audit.report.sections import Section
from fairbandits.audit.results import Comparison, GroupResult
from fairbandits.report.number_formats import json_number


def further_sections(audit: Audit, comparison: Comparison) -> list[Section]:
    """Return the sections of a comparison; none if small cells are suppressed, since counts would reveal them."""
    if audit.settings.min_cell:
        return []
    makers = (reference_section, adjusted_section, impact_section, exposure_section)
    return [section for make in makers if (section := make(audit, comparison)) is not None]


def further_to_dict(comparison: Comparison, min_cell: int) -> dict[str, Any]:
    """Return the analyses of a comparison as JSON values, with None for those that are missing or suppressed."""
    names = "reference", "adjusted", "impact", "exposure"
    return {name: None if min_cell else _to_json(getattr(comparison, name)) for name in names}


def _to_json(value: Any) -> Any:
    """Return results as JSON values: groups become their labels, and non-finite numbers become None."""
    if isinstance(value, GroupResult):
        return list(value.labels)
    if is_dataclass(value):
        return {field.name: _to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [_to_json(each) for each in value]
    return json_number(value) if isinstance(value, float) else value
