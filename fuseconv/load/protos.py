"""TensorFlow's messages, as far as a model is read from them, without TensorFlow.

The table below gives for each message its fields as `name number type`. The numbers are TensorFlow's stable wire
contract (tensorflow/core/framework and tensorflow/core/protobuf). `*` after a type: repeated; `map<type>`: a map from
string (`imap`: from uint32); `?`: a member of the message's oneof. Messages that TensorFlow nests stand at the top,
enums are int32: neither shows on the wire. Fields that are not named here are unknown fields, and survive. An outline
is the message of that name with its functions left as bytes, or with nothing but its name.

Each message is an attribute of this module's `classes`: `classes["GraphDef"].FromString(data)`.
"""

from __future__ import annotations

import re
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

_TABLE = """
SavedModel: saved_model_schema_version 1 int64, meta_graphs 2 MetaGraphDef*
MetaGraphDef: meta_info_def 1 MetaInfoDef, graph_def 2 GraphDef, saver_def 3 SaverDef,
  collection_def 4 map<CollectionDef>, signature_def 5 map<SignatureDef>, asset_file_def 6 AssetFileDef*,
  object_graph_def 7 SavedObjectGraph
SavedObjectGraph: nodes 1 SavedObject*, concrete_functions 2 map<SavedConcreteFunction>
SavedObject: children 1 ObjectReference*, asset 5 SavedAsset?, function 6 SavedFunction?, variable 7 SavedVariable?,
  constant 9 SavedConstant?
SavedAsset: asset_file_def_index 1 int32
SavedFunction: concrete_functions 1 string*
SavedVariable: dtype 1 int32, shape 2 TensorShapeProto, name 6 string
SavedConstant: operation 1 string
SavedConcreteFunction: bound_inputs 2 int32*, canonicalized_input_signature 3 StructuredValue,
  output_signature 4 StructuredValue
StructuredValue: bool_value 14 bool?, tensor_spec_value 33 TensorSpecProto?, type_spec_value 34 TypeSpecProto?,
  bounded_tensor_spec_value 35 TensorSpecProto?, list_value 51 StructuredValues?, tuple_value 52 StructuredValues?,
  dict_value 53 DictValue?, named_tuple_value 54 NamedTupleValue?
StructuredValues: values 1 StructuredValue*
DictValue: fields 1 map<StructuredValue>
NamedTupleValue: name 1 string, values 2 PairValue*
PairValue: key 1 string, value 2 StructuredValue
TensorSpecProto: name 1 string, shape 2 TensorShapeProto, dtype 3 int32
TypeSpecProto: type_spec_class_name 3 string
ObjectReference: node_id 1 int32, local_name 2 string
TrackableObjectGraph: nodes 1 TrackableObject*
TrackableObject: children 1 ObjectReference*, attributes 2 SerializedTensor*
SerializedTensor: name 1 string, full_name 2 string, checkpoint_key 3 string
MetaInfoDef: stripped_op_list 2 OpList, tags 4 string*, tensorflow_version 5 string
SaverDef: filename_tensor_name 1 string, save_tensor_name 2 string, restore_op_name 3 string
CollectionDef: node_list 1 NodeList?, any_list 5 AnyList?
NodeList: value 1 string*
AnyList: value 1 Any*
Any: type_url 1 string, value 2 bytes
SignatureDef: inputs 1 map<TensorInfo>, outputs 2 map<TensorInfo>, method_name 3 string, defaults 4 map<TensorProto>
TensorInfo: name 1 string?, coo_sparse 4 CooSparse?, composite_tensor 5 CompositeTensor?, dtype 2 int32,
  tensor_shape 3 TensorShapeProto
CooSparse: values_tensor_name 1 string, indices_tensor_name 2 string, dense_shape_tensor_name 3 string
CompositeTensor: components 2 TensorInfo*
AssetFileDef: tensor_info 1 TensorInfo, filename 2 string
GraphDef: node 1 NodeDef*, versions 4 VersionDef, library 2 FunctionDefLibrary
VersionDef: producer 1 int32, min_consumer 2 int32
NodeDef: name 1 string, op 2 string, input 3 string*, device 4 string, attr 5 map<AttrValue>
FunctionDefLibrary: function 1 FunctionDef*
SavedModelOutline: meta_graphs 2 MetaGraphOutline*
MetaGraphOutline: meta_info_def 1 MetaInfoDef, graph_def 2 GraphOutline, saver_def 3 SaverDef,
  collection_def 4 map<CollectionDef>, signature_def 5 map<SignatureDef>, asset_file_def 6 AssetFileDef*,
  object_graph_def 7 SavedObjectGraph
GraphOutline: node 1 NodeDef*, versions 4 VersionDef, library 2 LibraryOutline
LibraryOutline: function 1 bytes*
FunctionOutline: signature 1 OpOutline
OpOutline: name 1 string
FunctionDef: signature 1 OpDef, attr 5 map<AttrValue>, arg_attr 7 imap<ArgAttrs>, node_def 3 NodeDef*,
  ret 4 map<string>, control_ret 6 map<string>
ArgAttrs: attr 1 map<AttrValue>
OpList: op 1 OpDef*
OpDef: name 1 string, input_arg 2 ArgDef*, output_arg 3 ArgDef*, control_output 20 string*, attr 4 AttrDef*,
  is_stateful 17 bool
ArgDef: name 1 string, type 3 int32, type_attr 4 string, number_attr 5 string, type_list_attr 6 string, is_ref 16 bool
AttrDef: name 1 string, type 2 string, default_value 3 AttrValue, has_minimum 5 bool, minimum 6 int64,
  allowed_values 7 AttrValue
AttrValue: s 2 bytes?, i 3 int64?, f 4 float?, b 5 bool?, type 6 int32?, shape 7 TensorShapeProto?,
  tensor 8 TensorProto?, list 1 ListValue?, func 10 NameAttrList?, placeholder 9 string?
ListValue: s 2 bytes*, i 3 int64*, f 4 float*, b 5 bool*, type 6 int32*, shape 7 TensorShapeProto*,
  tensor 8 TensorProto*, func 9 NameAttrList*
NameAttrList: name 1 string, attr 2 map<AttrValue>
TensorShapeProto: dim 2 Dim*, unknown_rank 3 bool
Dim: size 1 int64, name 2 string
TensorProto: dtype 1 int32, tensor_shape 2 TensorShapeProto, version_number 3 int32, tensor_content 4 bytes,
  half_val 13 int32*, float_val 5 float*, double_val 6 double*, int_val 7 int32*, string_val 8 bytes*,
  scomplex_val 9 float*, int64_val 10 int64*, bool_val 11 bool*, dcomplex_val 12 double*, uint32_val 16 uint32*,
  uint64_val 17 uint64*
BundleHeaderProto: num_shards 1 int32, endianness 2 int32
BundleEntryProto: dtype 1 int32, shape 2 TensorShapeProto, shard_id 3 int32, offset 4 int64, size 5 int64,
  crc32c 6 fixed32, slices 7 TensorSliceProto*
TensorSliceProto: extent 1 Extent*
Extent: start 1 int64, length 2 int64?
"""

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name: getattr(_Field, f"TYPE_{name.upper()}")
    for name in ("string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "fixed32", "float", "double")
}
_FIELD = re.compile(r"(\w+) (\d+) (map<|imap<)?(\w+)>?([*?]?)")


def _set_type(field: Any, type_name: str) -> None:
    if type_name in _SCALARS:
        field.type = _SCALARS[type_name]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".tensorflow.{type_name}"


def _declare() -> dict[str, Any]:
    """Return message classes by the lines of _TABLE: message: field=number type, ... A map becomes a repeated entry of
    key and value, as protobuf has it; fields with "?" are the members of one oneof."""
    file = descriptor_pb2.FileDescriptorProto(name="fuseconv/tensorflow.proto", package="tensorflow", syntax="proto3")
    for line in _TABLE.strip().replace(",\n", ",").splitlines():
        name, _, fields = line.partition(":")
        message = file.message_type.add(name=name)
        for field_name, number, map_kind, type_name, mark in _FIELD.findall(fields):
            field = message.field.add(name=field_name, number=int(number), label=_Field.LABEL_OPTIONAL)
            if map_kind:
                entry_name = field_name.title().replace("_", "") + "Entry"
                entry = message.nested_type.add(name=entry_name)
                entry.options.map_entry = True
                key = entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL)
                _set_type(key, "string" if map_kind == "map<" else "uint32")
                _set_type(entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), type_name)
                type_name, mark = f"{name}.{entry_name}", "*"
            if mark == "*":
                field.label = _Field.LABEL_REPEATED
            elif mark == "?":
                if not message.oneof_decl:
                    message.oneof_decl.add(name="kind")
                field.oneof_index = 0
            _set_type(field, type_name)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    messages = pool.FindFileByName(file.name).message_types_by_name
    return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in messages.items()}


# The message classes have no static types: they are made from the table.
classes: dict[str, Any] = _declare()

__all__ = ["DecodeError", "classes"]
