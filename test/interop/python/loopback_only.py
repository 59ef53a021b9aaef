"""Imported first: like the rest of the suite, this process may reach this machine only."""

import ipaddress
import sys
from typing import Any


def _is_this_machine(host: Any) -> bool:
    if host in (None, '', b'', 'localhost', b'localhost'):
        return True
    try:
        text = host.decode() if isinstance(host, bytes) else str(host)
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


def _refuse_others(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ('socket.connect', 'socket.sendto', 'socket.sendmsg'):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event in ('socket.getaddrinfo', 'socket.gethostbyname'):
        host = arguments[0]
    else:
        return
    if not _is_this_machine(host):
        raise PermissionError(f'Tests may reach this machine only, not {host}.')


sys.addaudithook(_refuse_others)
