"""What applies lowering rules: the driver, custom ops, and what has no rule."""
