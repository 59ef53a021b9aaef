"""Clients of the public Python SDK, driven by lines of JSON; requests and answers are ProtoJSON."""

import loopback_only  # noqa: F401  # isort: skip

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import uvicorn
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import strict
from a2a.client import Client, ClientCallContext, ClientConfig, create_client
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.signing import create_signature_verifier
from lines import serve

strict.hold_the_client_to_it()

CALLS: dict[str, tuple[str, type]] = {
    'SendMessage': ('send_message', SendMessageRequest),
    'GetTask': ('get_task', GetTaskRequest),
    'ListTasks': ('list_tasks', ListTasksRequest),
    'CancelTask': ('cancel_task', CancelTaskRequest),
    'SubscribeToTask': ('subscribe', SubscribeToTaskRequest),
    'CreateTaskPushNotificationConfig': (
        'create_task_push_notification_config',
        TaskPushNotificationConfig,
    ),
    'GetTaskPushNotificationConfig': (
        'get_task_push_notification_config',
        GetTaskPushNotificationConfigRequest,
    ),
    'ListTaskPushNotificationConfigs': (
        'list_task_push_notification_configs',
        ListTaskPushNotificationConfigsRequest,
    ),
    'DeleteTaskPushNotificationConfig': (
        'delete_task_push_notification_config',
        DeleteTaskPushNotificationConfigRequest,
    ),
    'GetExtendedAgentCard': ('get_extended_agent_card', GetExtendedAgentCardRequest),
}

clients: list[Client] = []
streams: list[AsyncIterator[StreamResponse]] = []
pushed: list[dict[str, Any]] = []


class OneToken(CredentialService):
    """The SDK asks by the name of the scheme that the card requires."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_credentials(
        self, security_scheme_name: str, context: ClientCallContext | None
    ) -> str | None:
        return self._token


async def connect(
    url: str,
    token: str,
    path: str | None = None,
    verify: bool = False,
    config: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A client as the SDK's documentation sets it up: by the URL alone. `path`: where another card stands."""
    client = await create_client(
        url,
        ClientConfig(**(config or {})),
        interceptors=[AuthInterceptor(OneToken(token))],
        relative_card_path=path,
        signature_verifier=verify_signature if verify else None,
    )
    clients.append(client)
    return {'client': len(clients) - 1, 'card': MessageToDict(client._card)}


async def call(
    client: int, method: str, request: dict[str, Any], **more: Any
) -> dict[str, Any] | None:
    """One call with one answer."""
    answer = start(client, method, request, **more)
    if method != 'SendMessage':
        found = await answer
        return None if found is None else MessageToDict(found)
    answers = [each async for each in answer]
    if len(answers) != 1:
        raise ValueError(f'{len(answers)} answers to a message')
    return MessageToDict(answers[0])


async def stream(client: int, method: str, request: dict[str, Any], **more: Any) -> int:
    streams.append(start(client, method, request, **more))
    return len(streams) - 1


async def event(stream: int) -> dict[str, Any] | None:
    """The stream's next event, or null: it ended."""
    found = await anext(streams[stream], None)
    return None if found is None else MessageToDict(found)


def start(
    client: int,
    method: str,
    request: dict[str, Any],
    headers: dict[str, str] | None = None,
    timeout: float | None = 30,
) -> Any:
    name, model = CALLS[method]
    context = ClientCallContext(service_parameters=dict(headers or {}), timeout=timeout)
    return getattr(clients[client], name)(ParseDict(request, model()), context=context)


async def verify(card: dict[str, Any]) -> None:
    """Raises unless one of the card's signatures is by the key that it names."""
    await asyncio.to_thread(verify_signature, strict.parse(card, AgentCard()))


def key_of(kid: str | None, jku: str | None) -> PyJWK:
    keys = httpx.get(jku or '').raise_for_status().json()['keys']
    return PyJWK(next(key for key in keys if key['kid'] == kid))


verify_signature = create_signature_verifier(key_of, ['ES256'])


async def listen() -> str:
    """Starts a webhook, and answers its URL."""

    async def take(request: Request) -> Response:
        body = strict.parse(await request.body(), StreamResponse())
        pushed.append({'headers': dict(request.headers), 'event': MessageToDict(body)})
        return Response(status_code=204)

    listening = socket.create_server(('127.0.0.1', 0))
    app = Starlette(routes=[Route('/hook', take, methods=['POST'])])
    server = uvicorn.Server(uvicorn.Config(app, log_level='warning', lifespan='off'))
    asyncio.get_running_loop().create_task(server.serve(sockets=[listening]))
    return f'http://127.0.0.1:{listening.getsockname()[1]}/hook'


async def received() -> list[dict[str, Any]]:
    return pushed


if __name__ == '__main__':
    asyncio.run(
        serve(
            {
                'connect': connect,
                'call': call,
                'stream': stream,
                'event': event,
                'verify': verify,
                'listen': listen,
                'received': received,
            }
        )
    )
