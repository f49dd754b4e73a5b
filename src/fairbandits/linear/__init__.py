"""What reward, and how sure? Ridge regression learned one row at a time. Knows arrays, and no groups."""

from fairbandits.linear.arm_bank import ArmBank
from fairbandits.linear.bank import RidgeBank
from fairbandits.linear.confidence import (
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
    linucb_regret_bound,
)
from fairbandits.linear.features import MapError
from fairbandits.linear.hybrid import HybridBank
from fairbandits.linear.logistic import look
from fairbandits.linear.model import Bank, Model, as_model
from fairbandits.linear.rows import (
    FullRows,
    Row,
    Rows,
    SparseRows,
    as_floats,
    as_rows,
    check_width,
    checked_csr,
    checked_entries,
    refuse_unusable,
    stack_rows,
)
from fairbandits.linear.sums import RowSums

__all__ = [
    "ArmBank",
    "Bank",
    "FullRows",
    "HybridBank",
    "MapError",
    "Model",
    "RidgeBank",
    "Row",
    "RowSums",
    "Rows",
    "SparseRows",
    "alpha_from_delta",
    "alpha_schedule",
    "as_floats",
    "as_model",
    "as_rows",
    "check_width",
    "checked_csr",
    "checked_entries",
    "fair_linucb_regret_bound",
    "linucb_regret_bound",
    "look",
    "refuse_unusable",
    "stack_rows",
]
