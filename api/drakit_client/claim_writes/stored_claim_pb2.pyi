# mypy: disable-error-code="type-arg"
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Envelope(_message.Message):
    __slots__ = ("type_meta", "raw", "content_encoding", "content_type")
    TYPE_META_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    CONTENT_ENCODING_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    type_meta: bytes
    raw: bytes
    content_encoding: str
    content_type: str
    def __init__(self, type_meta: _Optional[bytes] = ..., raw: _Optional[bytes] = ..., content_encoding: _Optional[str] = ..., content_type: _Optional[str] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("metadata", "status")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    metadata: Metadata
    status: Status
    def __init__(self, metadata: _Optional[_Union[Metadata, _Mapping]] = ..., status: _Optional[_Union[Status, _Mapping]] = ...) -> None: ...

class Metadata(_message.Message):
    __slots__ = ("uid", "resource_version", "annotations", "finalizers")
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    UID_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    FINALIZERS_FIELD_NUMBER: _ClassVar[int]
    uid: str
    resource_version: str
    annotations: _containers.ScalarMap[str, str]
    finalizers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, uid: _Optional[str] = ..., resource_version: _Optional[str] = ..., annotations: _Optional[_Mapping[str, str]] = ..., finalizers: _Optional[_Iterable[str]] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ("allocation", "reserved_for", "devices")
    ALLOCATION_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FOR_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    allocation: bytes
    reserved_for: _containers.RepeatedCompositeFieldContainer[Consumer]
    devices: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, allocation: _Optional[bytes] = ..., reserved_for: _Optional[_Iterable[_Union[Consumer, _Mapping]]] = ..., devices: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Consumer(_message.Message):
    __slots__ = ("api_group", "resource", "name", "uid")
    API_GROUP_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    api_group: str
    resource: str
    name: str
    uid: str
    def __init__(self, api_group: _Optional[str] = ..., resource: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[str] = ...) -> None: ...
