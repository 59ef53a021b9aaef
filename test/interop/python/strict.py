"""Reads ProtoJSON as the generated classes of the proto have it, and forgives nothing."""

from typing import Any, TypeVar

from google.protobuf.json_format import Parse, ParseDict
from google.protobuf.message import Message

from a2a.client import card_resolver
from a2a.client.transports import jsonrpc
from a2a.types.a2a_pb2 import ListTaskPushNotificationConfigsResponse, ListTasksResponse
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import validate_proto_required_fields

Any_Message = TypeVar('Any_Message', bound=Message)


def parse(data: Any, message: Any_Message, **_: Any) -> Any_Message:
    """No unknown field, no unknown name of an enum, and every REQUIRED field is there."""
    if isinstance(data, str | bytes):
        Parse(data, message)
    else:
        ParseDict(data, message)
    # A page without entries is one, though the SDK takes an empty list for a missing one.
    if isinstance(message, ListTasksResponse):
        checked: list[Message] = list(message.tasks)
    elif isinstance(message, ListTaskPushNotificationConfigsResponse):
        checked = list(message.configs)
    else:
        checked = [message]
    for each in checked:
        try:
            validate_proto_required_fields(each)
        except InvalidParamsError as error:
            raise ValueError(f'{message.DESCRIPTOR.name}: {error.data}') from error
    return message


def hold_the_client_to_it() -> None:
    """The SDK's client passes over what it does not know; here that would hide faults of the server."""
    jsonrpc.parse_lenient = parse
    card_resolver.ParseDict = parse
