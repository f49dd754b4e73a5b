"""What reward, and how sure? Ridge regression learned one row at a time. Knows arrays, and no groups."""

from fairbandits.models.confidence import (
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
    linucb_regret_bound,
)
from fairbandits.models.disjoint import ArmBank
from fairbandits.models.feature_maps import MapError
from fairbandits.models.hybrid import HybridBank
from fairbandits.models.logistic import look
from fairbandits.models.model import Bank, Model, as_model
from fairbandits.models.normal_equations import RowSums
from fairbandits.models.ridge import RidgeBank
from fairbandits.models.rows import (
    DenseRows,
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

__all__ = [
    "ArmBank",
    "Bank",
    "DenseRows",
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
