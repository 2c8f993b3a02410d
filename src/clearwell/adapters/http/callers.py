"""The caller of a request: the holder of its key, or the local user.

Without any key only the person at this machine is answered (local mode). A web page cannot pose as that person: a
foreign name that resolves to 127.0.0.1 (DNS rebinding) shows in ``Host``, a page of another site in ``Origin`` or
``Sec-Fetch-Site``, and a proxy that would make strangers look local in its own headers. Bodies must be
``application/json``, which no HTML form can send.
"""

from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from starlette.requests import HTTPConnection

from clearwell.adapters.http.problems import Malformed
from clearwell.app import Clearwell
from clearwell.errors import ConfigurationError, InvalidInput, NotAllowed, Unauthenticated
from clearwell.flow.access.keys import hash_secret
from clearwell.records import Principal
from clearwell.views.flaws import make_printable

ACTOR = "Clearwell-Actor"
AGENT = "agent"
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
PROXY_HEADERS = frozenset(
    {
        "via",
        "cdn-loop",
        "proxy-connection",
        "x-proxyuser-ip",
        "x-request-start",
        "x-rewrite-url",
        "x-scheme",
    }
)
"""What a proxy adds to the requests of strangers."""
PROXY_PREFIXES = (
    *("cf-", "cloudfront-", "ngrok-", "tailscale-"),
    *("x-envoy-", "x-amzn-", "x-appengine-", "x-azure-", "x-arr-"),
)
PROXY_PARTS = (
    *("forwarded", "client-ip", "real-ip", "cloud-trace", "original-host", "original-url", "original-uri"),
    *("client-connection-ip", "connecting-ip", "remote-ip", "remote-addr", "originating-ip", "peer-ip", "client-port"),
)
"""What the headers of proxies have in their names, whoever made them, with hyphens or underscores."""
DEFAULT_PORTS = {"http": 80, "https": 443}


async def identify(
    request: HTTPConnection, clearwell: Clearwell, *, as_agent: bool = False, counts: bool = True
) -> Principal:
    """Return the caller, with reduced rights if it acts for an agent. Raises Unauthenticated or NotAllowed.

    With ``as_agent`` every caller acts for an agent, whatever the request says. ``counts``: whether this is a request
    of its key that was not counted before.
    """
    secret = _read_secret(request)
    local = secret is None and is_loopback(clearwell.settings.host)
    principal = await clearwell.keys.authenticate(secret, local=local, counts=counts)
    if secret is None:
        require_local(request, port=clearwell.settings.port)
    return principal.lowered() if _acts_for_agent(request) or as_agent else principal


def read_turn_key(request: HTTPConnection) -> bytes:
    """What the requests of one caller have in common before the caller is known: the key that they present."""
    return hash_secret(request.headers.get("authorization", ""))


def _read_secret(request: HTTPConnection) -> str | None:
    headers = request.headers.getlist("authorization")
    if not headers:
        return None
    if len(headers) > 1:
        raise Malformed("http_authorization_twice")
    (header,) = headers
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated("http_authorization_form")
    return secret.strip()


def _acts_for_agent(request: HTTPConnection) -> bool:
    actor = request.headers.get(ACTOR)
    if actor is None:
        return False
    if actor.strip().lower() != AGENT:
        raise InvalidInput("http_actor_unknown", field=ACTOR, limit=AGENT)
    return True


async def require_closed_or_local(clearwell: Clearwell) -> None:
    """Refuse to listen on an address that other machines can reach while no key is required."""
    host = clearwell.settings.host
    if not is_loopback(host) and not await clearwell.keys.any_key_ever():
        raise ConfigurationError("bind_without_key", host=host)


@lru_cache(maxsize=256)
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
    """Refuse a request that may not come from the local user. ``port`` is used if the server names none."""
    scheme = request.scope["scheme"]
    hosts = _own_hosts(scheme, _own_port(request, port))
    _require_peer(request)
    _require_no_proxy(request)
    _require_host(request, hosts)
    _require_own_pages(request, scheme, hosts)


def _own_port(request: HTTPConnection, port: int) -> int:
    server = request.scope.get("server")
    return int(server[1]) if server and server[1] else port


@lru_cache(maxsize=16)
def _own_hosts(scheme: str, port: int) -> tuple[str, ...]:
    hosts = tuple(f"{name}:{port}" for name in LOCAL_NAMES)
    return hosts + LOCAL_NAMES if DEFAULT_PORTS.get(scheme) == port else hosts


def _require_peer(request: HTTPConnection) -> None:
    """The bind address is a setting, and a server can be started past it: the peer's address cannot lie."""
    if request.client is None or not is_loopback(request.client.host):
        raise NotAllowed("http_local_peer")


def _require_no_proxy(request: HTTPConnection) -> None:
    for name in request.headers:
        if _is_of_proxy(name.lower().replace("_", "-")):
            raise NotAllowed("http_local_proxy", header=make_printable(name))


def _is_of_proxy(name: str) -> bool:
    return name in PROXY_HEADERS or name.startswith(PROXY_PREFIXES) or any(part in name for part in PROXY_PARTS)


def _require_host(request: HTTPConnection, hosts: tuple[str, ...]) -> None:
    named = request.headers.getlist("host")
    if len(named) != 1 or named[0].lower() not in hosts:
        raise NotAllowed("http_local_host", allowed=hosts[0], host=make_printable(", ".join(named)) or "?")


def _require_own_pages(request: HTTPConnection, scheme: str, hosts: tuple[str, ...]) -> None:
    origin = request.headers.get("origin")
    if origin is not None and origin.lower() not in {f"{scheme}://{host}" for host in hosts}:
        raise NotAllowed("http_local_origin", origin=make_printable(origin) or "?")
    site = request.headers.get("sec-fetch-site", "none")
    if site not in {"same-origin", "none"}:
        raise NotAllowed("http_local_origin", origin=make_printable(site))
