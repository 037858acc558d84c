"""The built-in converter modules, one file a fused op."""

from fuseconv.fusions import lstm

MODULES = (lstm,)
