"""The trained networks without torch, one module each; see train/models for their formulas."""
