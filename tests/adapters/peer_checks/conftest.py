"""The checks import libraries that are not installed here: pytest must not collect them."""

collect_ignore_glob = ["*_checks.py"]
