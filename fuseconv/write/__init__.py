"""Export of a module of "tfl" ops to a .tflite file."""
