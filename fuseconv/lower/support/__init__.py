"""What lowering rules share."""
