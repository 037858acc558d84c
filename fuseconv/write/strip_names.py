"""Names of tensors that nobody reads on the device: TFLite Micro goes by numbers.

In small files they take a sixth to a third of what is no weight. Tools that look into a file want them, so that they
stay in .tflite files.
"""

from __future__ import annotations

from fuseconv.write.table_encoder import Table

# Of a name in a table: its place, its length, and the zero behind it.
_AROUND = 9


def leave_out_names(model: Table) -> int:
    """Leave out the names of all tensors but the inputs and outputs of subgraphs; return the bytes that they took."""
    saved = 0
    for subgraph in model.fields["subgraphs"]:
        fields = subgraph.fields
        ends = {*fields["inputs"], *fields["outputs"]}
        for number, tensor in enumerate(fields["tensors"]):
            if number not in ends:
                saved += -(-(len(tensor.fields.pop("name").encode()) + _AROUND) // 4) * 4
    return saved
