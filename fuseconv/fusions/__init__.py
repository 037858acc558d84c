"""The built-in converter modules, one file a fused op or a family."""

from fuseconv.fusions import constant_arithmetic, linear_output, lstm

MODULES = (lstm, linear_output, constant_arithmetic)
