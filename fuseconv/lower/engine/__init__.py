"""The lowering engine: the driver, custom ops, coverage and the reasons for unsupported ops."""
