"""Read Keras files through Keras, which makes the model for TensorFlow to trace; `load/keras/` reads them as data."""
