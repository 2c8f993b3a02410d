"""Local mode: without any key, only the person at this machine is answered.

A web page cannot pose as that person. A foreign name that resolves to 127.0.0.1 (DNS rebinding) shows in ``Host``;
a page of another site shows in ``Origin`` or ``Sec-Fetch-Site``; a proxy that would make strangers look local shows
in its headers. Bodies must be ``application/json``, which no HTML form can send.
"""

from ipaddress import IPv6Address, ip_address

from starlette.requests import HTTPConnection

from clearwell.adapters.http.problems import shown
from clearwell.errors import NotAllowed

NAMES = ("localhost", "127.0.0.1", "[::1]")
DEFAULT_PORTS = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def require_local(request: HTTPConnection, *, port: int) -> None:
    """Refuse what may not come from the person at this machine. ``port`` holds where the server names none."""
    scheme = request.scope["scheme"]
    hosts = _own_hosts(scheme, _own_port(request, port))
    _require_peer(request)
    _require_no_proxy(request)
    _require_host(request, hosts)
    _require_own_pages(request, {f"{scheme}://{host}" for host in hosts})


def _own_port(request: HTTPConnection, port: int) -> int:
    server = request.scope.get("server")
    return int(server[1]) if server and server[1] else port


def _own_hosts(scheme: str, port: int) -> list[str]:
    hosts = [f"{name}:{port}" for name in NAMES]
    return [*hosts, *NAMES] if DEFAULT_PORTS.get(scheme) == port else hosts


def _require_peer(request: HTTPConnection) -> None:
    """The bind address is a setting, and a server can be started past it: the peer's address cannot lie."""
    if request.client is None or not is_loopback(request.client.host):
        raise NotAllowed("http_local_peer")


def _require_no_proxy(request: HTTPConnection) -> None:
    for name in request.headers:
        if name in {"forwarded", "x-real-ip"} or name.startswith("x-forwarded-"):
            raise NotAllowed("http_local_proxy", header=shown(name))


def _require_host(request: HTTPConnection, hosts: list[str]) -> None:
    named = request.headers.getlist("host")
    if len(named) != 1 or named[0].lower() not in hosts:
        raise NotAllowed("http_local_host", allowed=hosts[0], host=shown(", ".join(named)) or "?")


def _require_own_pages(request: HTTPConnection, origins: set[str]) -> None:
    origin = request.headers.get("origin")
    if origin is not None and origin.lower() not in origins:
        raise NotAllowed("http_local_origin", origin=shown(origin) or "?")
    site = request.headers.get("sec-fetch-site", "none")
    if site not in {"same-origin", "none"}:
        raise NotAllowed("http_local_origin", origin=shown(site))
