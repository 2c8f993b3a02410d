"""The address to listen on.

The port is taken before anything is started, so that one in use is reported at once.
"""

import errno
import socket
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

import httpx
import psutil

from clearwell.adapters.cli.command import program
from clearwell.client.discovery import find_servers
from clearwell.errors import ConfigurationError
from clearwell.settings import Settings

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not bound
NEIGHBOURS = 50
ALIVE = {"status": "alive"}


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that listens on a port."""

    name: str
    pid: int


def take_port(settings: Settings) -> list[socket.socket]:
    """Sockets bound to every address of the host. They listen when the servers behind them are up."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror:
        raise ConfigurationError("cli_host_unknown", host=settings.host) from None
    bound: list[socket.socket] = []
    failed: OSError | None = None
    for family, address in dict.fromkeys((one[0], one[4]) for one in found):
        try:
            bound.append(_bind(family, address))
        except OSError as error:
            failed = error
            if error.errno == errno.EADDRINUSE:
                break
    if failed is not None and (not bound or failed.errno == errno.EADDRINUSE):
        for one in bound:
            one.close()
        raise port_problem(failed, settings)
    return bound


def listen(sockets: list[socket.socket], settings: Settings) -> None:
    """Two programs can bind one port while neither listens: the second finds out here."""
    try:
        for one in sockets:
            one.listen(2048)
    except OSError as error:
        raise port_problem(error, settings) from error


def port_problem(error: OSError, settings: Settings) -> ConfigurationError:
    match error.errno:
        case errno.EADDRINUSE:
            return _explain_taken(settings)
        case errno.EACCES:
            return ConfigurationError("cli_port_denied", port=settings.port)
        case errno.EADDRNOTAVAIL:
            return ConfigurationError("cli_host_elsewhere", host=settings.host)
        case _:
            return ConfigurationError("cli_port_failed", port=settings.port, host=settings.host, reason=error.strerror)


def find_holder(port: int) -> Holder | None:
    """Who listens on a port, if the system tells."""
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port
            if listens and connection.pid:
                return Holder(psutil.Process(connection.pid).name(), connection.pid)
    return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def address(settings: Settings) -> str:
    """The address of the API as seen from this machine."""
    host = ANY_ADDRESS.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def find_api(settings: Settings) -> str | None:
    """Return where a server on this data folder responds, on whatever port."""
    return next((server.url for server in find_servers(settings) if _responds(server.url)), None)


def find_foreign_api(settings: Settings) -> str | None:
    """Return the address that is set if a server of Clearwell responds there that is not on this data folder."""
    url = address(settings)
    return url if url not in {server.url for server in find_servers(settings)} and _responds(url) else None


def _responds(url: str) -> bool:
    """Whether it is a server of Clearwell."""
    try:
        answer = httpx.get(f"{url}/healthz", timeout=2.0, trust_env=False)
        return answer.is_success and bool(answer.json() == ALIVE)
    except (httpx.HTTPError, ValueError):
        return False


def is_listened_on(settings: Settings) -> bool:
    host = ANY_ADDRESS.get(settings.host, settings.host)
    with suppress(OSError), socket.create_connection((host, settings.port), timeout=2.0):
        return True
    return False


def _explain_taken(settings: Settings) -> ConfigurationError:
    for server in find_servers(settings):
        return ConfigurationError("cli_serve_already", url=server.url, pid=server.pid)
    params = {"port": settings.port, "other": _free_neighbour(settings), "program": program()}
    by = find_holder(settings.port)
    if by is None:
        return ConfigurationError("cli_port_taken", **params)
    return ConfigurationError("cli_port_taken_by", **params, name=by.name, pid=by.pid)


def _free_neighbour(settings: Settings) -> int:
    for port in range(settings.port + 1, min(settings.port + NEIGHBOURS, 65536)):
        with suppress(OSError):
            _bind(socket.AF_INET, ("127.0.0.1", port)).close()
            return port
    return 8081


def _bind(family: int, where: tuple[object, ...]) -> socket.socket:
    # Without the protocol's number asyncio does not turn Nagle's algorithm off for the connections it accepts.
    one = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(where)
    except OSError:
        one.close()
        raise
    return one
