"""The built-in converter modules, one file a fused op or a family."""

from fuseconv.fusions import constant_arithmetic, linear_input, linear_output, lstm, moves

MODULES = (lstm, linear_output, linear_input, moves, constant_arithmetic)
