"""Agents on the public Python SDK's own server parts, driven by lines of JSON."""

import loopback_only  # noqa: F401  # isort: skip

import asyncio
import json
import secrets
import socket
from typing import Any

import httpx
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt.algorithms import ECAlgorithm
from starlette.applications import Starlette
from starlette.authentication import SimpleUser
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types.a2a_pb2 import AgentCard, Message, Part, Role, Task, TaskState, TaskStatus
from a2a.utils.signing import create_agent_card_signer
from lines import serve

EVERY_KIND = [
    {'text': 'é 漢'},
    {'raw': 'AAH6/w==', 'filename': 'x.bin', 'mediaType': 'application/octet-stream'},
    {'url': 'https://example.com/a.pdf'},
    {'data': {'a': 0, 'b': False, 'c': '', 'd': [], 'e': None, 'f': {'n': 3}}},
]


class Worker(AgentExecutor):
    """Does what the text of a message says; anything else is answered with an artifact."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)

        def words(said: str) -> Message:
            return updater.new_agent_message([new_text_part(said)])

        if text == 'hello':
            await event_queue.enqueue_event(
                Message(message_id='greeting', role=Role.ROLE_AGENT, parts=[new_text_part('on hello')])
            )
            return
        if context.current_task is None:
            first = Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                history=[context.message],
            )
            await event_queue.enqueue_event(first)
        await updater.start_work(words(f'on {text}'))
        match text.split()[0]:
            case 'wait':
                await self.gate.wait()
            case 'crash':
                raise RuntimeError('secret-of-the-agent')
            case 'fail':
                return await updater.failed(words('It cannot be done.'))
            case 'reject':
                return await updater.reject(words('It will not be done.'))
            case 'ask':
                return await updater.requires_input(words('Which colour?'))
            case 'auth':
                return await updater.requires_auth(words('Sign in first.'))
            case 'chunks':
                for i, chunk in enumerate(['one ', 'two ', 'three']):
                    await updater.add_artifact(
                        [new_text_part(chunk)], 'chunked', append=i > 0, last_chunk=i == 2
                    )
                return await updater.complete()
            case 'parts':
                await updater.add_artifact([ParseDict(each, Part()) for each in EVERY_KIND], 'kinds')
                return await updater.complete()
        await updater.add_artifact([new_text_part(f'done: {text}')], name='result')
        await updater.complete(words('Done.'))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class AtTheDoor:
    """Keeps a record of each request, lets in nobody without the token but to the card, and drops streams."""

    def __init__(self, app: ASGIApp, agent: 'Agent') -> None:
        self._app = app
        self._agent = agent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope['type'] != 'http':
            return await self._app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in scope['headers']}
        body = b''
        more = scope['method'] == 'POST'
        while more:
            part = await receive()
            body += part.get('body', b'')
            more = part.get('more_body', False)
        rpc = json.loads(body) if body else {}
        self._agent.seen.append(
            {'path': scope['path'], 'headers': headers, 'method': rpc.get('method'), 'params': rpc.get('params')}
        )
        scope['user'] = SimpleUser('gateway')
        if body and headers.get('authorization') != f'Bearer {self._agent.token}':
            start = {'type': 'http.response.start', 'status': 401, 'headers': [(b'www-authenticate', b'Bearer')]}
            await send(start)
            return await send({'type': 'http.response.body', 'body': b''})

        given = False

        async def replay() -> Any:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {'type': 'http.request', 'body': body, 'more_body': False}

        answering = asyncio.ensure_future(self._app(scope, replay, send))
        self._agent.answering.add(answering)
        try:
            await answering
        except asyncio.CancelledError:
            if not answering.cancelled():
                raise
        finally:
            self._agent.answering.discard(answering)


class Agent:
    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.worker = Worker()
        self.seen: list[dict[str, Any]] = []
        self.answering: set[asyncio.Future[Any]] = set()

    def start(self, calls_back: bool, card_changes: dict[str, Any]) -> dict[str, Any]:
        listening = socket.create_server(('127.0.0.1', 0))
        base = f'http://127.0.0.1:{listening.getsockname()[1]}'
        card = card_of(base, card_changes)
        key = ec.generate_private_key(ec.SECP256R1())
        signer = create_agent_card_signer(key, {'kid': 'agent', 'alg': 'ES256', 'typ': 'JOSE', 'jku': None})
        extended = AgentCard()
        extended.CopyFrom(card)
        extended.name = 'Extended'
        configs = InMemoryPushNotificationConfigStore()
        handler = DefaultRequestHandler(
            self.worker,
            InMemoryTaskStore(),
            card,
            push_config_store=configs,
            push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs) if calls_back else None,
            extended_agent_card=extended,
        )
        routes = [*create_agent_card_routes(signer(card)), *create_jsonrpc_routes(handler, '/rpc')]
        app = Starlette(routes=routes, middleware=[Middleware(AtTheDoor, agent=self)])
        config = uvicorn.Config(app, log_level='warning', lifespan='off')
        asyncio.get_running_loop().create_task(uvicorn.Server(config).serve(sockets=[listening]))
        return {
            'cardUrl': f'{base}/.well-known/agent-card.json',
            'token': self.token,
            'key': json.loads(ECAlgorithm.to_jwk(key.public_key())),
            'card': MessageToDict(card),
        }


def card_of(base: str, changes: dict[str, Any]) -> AgentCard:
    stated = {
        'name': 'Agent',
        'description': 'An agent of the public Python SDK.',
        'version': '1.0.0',
        'supportedInterfaces': [{'url': f'{base}/rpc', 'protocolBinding': 'JSONRPC', 'protocolVersion': '1.0'}],
        'capabilities': {'streaming': True, 'pushNotifications': True, 'extendedAgentCard': True},
        'defaultInputModes': ['text/plain'],
        'defaultOutputModes': ['text/plain'],
        'skills': [{'id': 's', 'name': 's', 'description': 's', 'tags': ['t']}],
    }
    return ParseDict(stated | changes, AgentCard())


agents: list[Agent] = []


async def start(calls_back: bool = True, card: dict[str, Any] | None = None) -> dict[str, Any]:
    """An agent on a port of its own. Without `calls_back` it takes push configs and never calls anybody."""
    agents.append(Agent())
    return {'agent': len(agents) - 1, **agents[-1].start(calls_back, card or {})}


async def seen(agent: int) -> list[dict[str, Any]]:
    """Its requests so far."""
    return agents[agent].seen


async def proceed(agent: int) -> None:
    """Lets what waits go on, and all that comes to wait later."""
    agents[agent].worker.gate.set()


async def cut(agent: int) -> int:
    """Drops the connections that are being answered."""
    dropped = list(agents[agent].answering)
    for each in dropped:
        each.cancel()
    return len(dropped)


if __name__ == '__main__':
    asyncio.run(serve({'start': start, 'seen': seen, 'proceed': proceed, 'cut': cut}))
