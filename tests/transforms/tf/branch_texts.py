"""A branch in IR text, for the tests of several passes."""

SIDES = """
neg {
  input %x: float32[2]
  %y: float32[2] = tf.Neg(%x)
  return %y
}
exp {
  input %x: float32[2]
  %y: float32[2] = tf.Exp(%x)
  return %y
}
"""
BRANCH = """
main {
  input %c: bool[]
  input %x: float32[2]
  %y: float32[2] = tf.If(%c, %x) {'then_branch': @neg, 'else_branch': @exp}
  return %y
}
""" + SIDES
