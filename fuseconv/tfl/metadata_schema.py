"""Schema of TFLite's model metadata, whose flatbuffer stands in the metadata TFLITE_METADATA of a file: who made the
model, what its inputs and outputs hold, and which files go with it.

The facts are those of tflite-support's metadata_schema.fbs 1.5.0; ai_edge_litert has no such schema.
"""

from __future__ import annotations

NAME = "TFLITE_METADATA"
IDENTIFIER = b"M001"

# The fields of each table in their order; with the struct code of those that are numbers.
FIELDS = {
    "ModelMetadata": "name description version subgraph_metadata author license associated_files min_parser_version",
    "SubGraphMetadata": "name description input_tensor_metadata output_tensor_metadata associated_files "
    "input_process_units output_process_units input_tensor_groups output_tensor_groups custom_metadata",
    "TensorMetadata": "name description dimension_names content process_units stats associated_files",
    "AssociatedFile": "name description type:b locale version",
    "Content": "content_properties_type:B content_properties range",
    "ImageProperties": "color_space:b default_size",
    "ProcessUnit": "options_type:B options",
    "NormalizationOptions": "mean std",
}
# Of AssociatedFile.type: each label names a place along the last axis, or a value of the tensor.
AXIS_LABELS, VALUE_LABELS = 2, 3
# Of the unions, and of ImageProperties.color_space.
IMAGE_PROPERTIES = 2
NORMALIZATION_OPTIONS = 1
COLOR_SPACES = {3: 1, 1: 2}  # RGB and grayscale, by the number of channels
