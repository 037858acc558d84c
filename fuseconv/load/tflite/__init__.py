"""A .tflite file -> `ir` module of "tfl" ops."""
