"""Facts of the TFLite dialect: the op table, type inference, kernel limits and operator versions."""
