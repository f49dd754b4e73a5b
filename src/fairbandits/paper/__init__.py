"""The paper's experiments: published and measured numbers side by side, figures, and a report."""
