"""Reports of a conversion: records, and their output as JSON and on the terminal."""
