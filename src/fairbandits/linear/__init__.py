"""What reward, and how sure? Ridge regression learned one row at a time. Knows arrays, and no groups."""

from fairbandits.linear.bank import RidgeBank
from fairbandits.linear.confidence import (
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
    linucb_regret_bound,
)
from fairbandits.linear.rows import Row, Rows, as_rows, stack_rows

__all__ = [
    "RidgeBank",
    "Row",
    "Rows",
    "alpha_from_delta",
    "alpha_schedule",
    "as_rows",
    "fair_linucb_regret_bound",
    "linucb_regret_bound",
    "stack_rows",
]
