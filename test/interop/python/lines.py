"""Takes requests as lines of JSON from standard input and answers each with a line of JSON, in any order."""

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

Operation = Callable[..., Awaitable[Any]]

LONGEST_LINE = 16 * 1024 * 1024


async def serve(operations: dict[str, Operation]) -> None:
    """Ends with its input, and takes along what is still under way."""
    # What anything prints must not stand among the answers.
    answers = os.fdopen(os.dup(1), 'w', buffering=1)
    os.dup2(2, 1)

    async def answer(request: dict[str, Any]) -> None:
        told: dict[str, Any] = {'id': request['id']}
        try:
            told['result'] = await operations[request['operation']](**request['input'])
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            told['error'] = describe(error)
        answers.write(json.dumps(told) + '\n')

    lines = asyncio.StreamReader(limit=LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    under_way: set[asyncio.Task[None]] = set()
    while line := await lines.readline():
        task = asyncio.create_task(answer(json.loads(line)))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    os._exit(0)


def describe(error: BaseException) -> dict[str, Any]:
    """Names of the exception's classes, most derived first, and what it holds."""
    cause = error.__cause__
    return {
        'types': [each.__name__ for each in type(error).__mro__],
        'message': str(error),
        'data': getattr(error, 'data', None),
        'status': cause.response.status_code if isinstance(cause, httpx.HTTPStatusError) else None,
    }
