"""Our declarations of TensorFlow's messages, against TensorFlow's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fuseconv.load import protos

# Messages that stand at the top here, but in another message there.
NESTED = {
    "MetaInfoDef": "MetaGraphDef.MetaInfoDef", "NodeList": "CollectionDef.NodeList", "AnyList": "CollectionDef.AnyList",
    "CooSparse": "TensorInfo.CooSparse", "CompositeTensor": "TensorInfo.CompositeTensor",
    "ArgAttrs": "FunctionDef.ArgAttrs", "ArgDef": "OpDef.ArgDef", "AttrDef": "OpDef.AttrDef",
    "ListValue": "AttrValue.ListValue", "Dim": "TensorShapeProto.Dim", "Extent": "TensorSliceProto.Extent",
    "TrackableObject": "TrackableObjectGraph.TrackableObject",
    "ObjectReference": "TrackableObjectGraph.TrackableObject.ObjectReference",
    # One of ours for several of theirs.
    "StructuredValues": "ListValue",
    "SerializedTensor": "TrackableObjectGraph.TrackableObject.SerializedTensor",
}  # fmt: skip


@pytest.fixture(scope="module")
def theirs(tf: Any) -> dict[str, Any]:
    from tensorflow.core.protobuf import saved_model_pb2, tensor_bundle_pb2, trackable_object_graph_pb2

    found: dict[str, Any] = {}
    pending = [saved_model_pb2.SavedModel, tensor_bundle_pb2.BundleHeaderProto, tensor_bundle_pb2.BundleEntryProto]
    pending.append(trackable_object_graph_pb2.TrackableObjectGraph)
    stack = [message.DESCRIPTOR for message in pending]
    while stack:
        descriptor = stack.pop()
        name = re.sub(r"^(tensorflow|google\.protobuf)\.", "", descriptor.full_name)
        if name not in found:
            found[name] = descriptor
            stack += [field.message_type for field in descriptor.fields if field.message_type]
    return found


# Whose message each outline is.
OUTLINES = {
    "SavedModelOutline": "SavedModel", "MetaGraphOutline": "MetaGraphDef", "GraphOutline": "GraphDef",
    "LibraryOutline": "FunctionDefLibrary", "FunctionOutline": "FunctionDef", "OpOutline": "OpDef",
}  # fmt: skip


@pytest.mark.parametrize("name", protos.classes)
def test_fields(theirs: dict[str, Any], name: str) -> None:
    other = theirs[(NESTED | OUTLINES).get(name, name)].fields_by_name
    for field in protos.classes[name].DESCRIPTOR.fields:
        twin = other[field.name]
        assert field.number == twin.number
        assert field.is_repeated == twin.is_repeated
        if name in OUTLINES and field.type == field.TYPE_BYTES:
            assert twin.type == twin.TYPE_MESSAGE
            continue
        enum = twin.type == twin.TYPE_ENUM
        assert field.type == (twin.TYPE_INT32 if enum else twin.type), field.name
        assert (field.containing_oneof is None) == (twin.containing_oneof is None), field.name


def test_round_trip_keeps_unknown_fields(tf2: Path) -> None:
    from tensorflow.core.protobuf import saved_model_pb2

    data = (tf2 / "saved_model.pb").read_bytes()
    again = protos.classes["SavedModel"].FromString(data).SerializeToString()
    assert saved_model_pb2.SavedModel.FromString(again) == saved_model_pb2.SavedModel.FromString(data)
