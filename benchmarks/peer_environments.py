"""Environments in which peers run our policies: each has one peer and this checkout of fairbandits."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from contenders import ONE_PER_USER, Contender
from environments import python_of

_HERE = Path(__file__).parent
# What fairbandits needs; it is installed without its requirements, so that all of them are pinned here.
_OURS = (
    "numpy==2.4.6", "scipy==1.17.1", "numba==0.68.1", "scikit-learn==1.9.1", "safetensors==0.8.0", "pandas==3.1.1",
    "pyarrow==26.0.1", "narwhals==2.28.0", "joblib==1.6.0",
)  # fmt: skip


def _peer(name: str, *pins: str, bare: tuple[str, ...] = ()) -> Contender:
    bare = (*bare, "--editable", str(_HERE.parent))
    return Contender(name, f"{name}_runner", name, "", ONE_PER_USER, pins=(*_OURS, *pins), bare=bare)


#: The release of obp requires Python below 3.11 and PyTorch; it runs without (peer_runs/torch_stub.py).
PEERS = {
    "obp": _peer("obp", "matplotlib==3.11.2", "seaborn==0.13.2", "tqdm==4.70.1", "pyyaml", bare=("obp==0.5.7",)),
    "coba": _peer("coba", "coba==8.1.0", "vowpalwabbit==9.11.9"),
    "mabwiser": _peer("mabwiser", "mabwiser==2.7.4"),
    "mlflow": _peer("mlflow", "mlflow-skinny==3.17.2", "sqlalchemy==2.1.8", "alembic==1.20.1"),
}


def run_in(peer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the environment of a peer, which is created if needed (a minute); capture what it prints."""
    return subprocess.run(
        [str(python_of(PEERS[peer])), *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=_HERE,
        env={**os.environ, "PYTHONWARNINGS": "ignore", "TQDM_DISABLE": "1"},
    )
