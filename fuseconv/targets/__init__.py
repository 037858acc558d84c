"""What accelerators and microcontrollers take of a file: rules as data, a module each target."""
