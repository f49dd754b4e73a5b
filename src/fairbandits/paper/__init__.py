"""The paper's experiments: published beside measured, figures, report."""
