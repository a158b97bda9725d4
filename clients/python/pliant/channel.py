"""The connection to a server: address, TLS, token, reconnection, and calls that end with a reply or
with an exception."""

from __future__ import annotations

import http.client
import os
import pathlib
import random
import re
import socket
import ssl
import threading
import time
from typing import Any, Callable, Iterator, Optional, Union

import grpc
from google.protobuf import message_factory

from pliant import errors
from pliant.v1 import control_pb2, objects_pb2, record_pb2, stream_pb2, world_pb2

Message = Any  # of the generated modules

DEFAULT_ADDRESS = "127.0.0.1:50051"
CALL_TIMEOUT = 10.0  # [s], of quick calls
RECONNECT_TIMEOUT = 10.0  # [s], how long a call waits for a server that was reachable before
_MAX_MESSAGE = 256 << 20
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE),
    ("grpc.max_send_message_length", _MAX_MESSAGE),
    ("grpc.keepalive_time_ms", 15_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.enable_http_proxy", 0),
    # reconnect within a second after the server listens again
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5_000),  # limit of one attempt
    ("grpc.max_reconnect_backoff_ms", 600),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.client_idle_timeout_ms", 2**31 - 1),
]
_MODULES = {
    "WorldService": world_pb2,
    "ObjectService": objects_pb2,
    "ControlService": control_pb2,
    "StreamService": stream_pb2,
    "RecordService": record_pb2,
}


class Backoff:
    """Waits between attempts to connect: 0.1 s, growing to 0.6 s, with ±20 % jitter so that clients
    do not reconnect at the same moment.

    >>> waits = Backoff(random=lambda: 0.5)
    >>> [round(waits.next(), 3) for _ in range(6)]
    [0.1, 0.16, 0.256, 0.41, 0.6, 0.6]
    >>> waits.reset()
    >>> waits.next()
    0.1
    """

    def __init__(self, random: Callable[[], float] = random.random) -> None:
        self._random = random
        self._attempts = 0

    def next(self) -> float:
        base = min(0.6, 0.1 * 1.6 ** min(self._attempts, 20))
        self._attempts += 1
        return base * (0.8 + 0.4 * self._random())

    def reset(self) -> None:
        self._attempts = 0


def check_address(address: str) -> str:
    """Returns HOST:PORT or raises.

    >>> check_address("lab:50051")
    'lab:50051'
    >>> check_address("[::1]:50051")
    '[::1]:50051'
    >>> check_address("lab")
    Traceback (most recent call last):
    ...
    pliant.errors.InvalidRequest: address "lab": the port is missing; expected HOST:PORT, for example lab:50051
    >>> check_address("http://lab:8080")
    Traceback (most recent call last):
    ...
    pliant.errors.InvalidRequest: address "http://lab:8080": is that of a page; expected HOST:PORT of gRPC, for example lab:50051
    """
    host = re.sub(r"^\w+://", "", address)
    host = re.sub(r"[:/].*", "", host) or "127.0.0.1"
    example = f"for example {host}:50051"
    if "://" in address:
        raise errors.InvalidRequest(
            f'address "{address}": is that of a page; expected HOST:PORT of gRPC, {example}'
        )
    found = re.fullmatch(r"(\[[0-9a-fA-F:.%]+\]|[^:\[\]/\s]+):(\d{1,5})", address)
    if found and 0 < int(found[2]) < 65536:
        return address
    if re.fullmatch(r"[^:/\s]+|\[[^\]]*\]", address):
        raise errors.InvalidRequest(
            f'address "{address}": the port is missing; expected HOST:PORT, {example}'
        )
    raise errors.InvalidRequest(
        f'address "{address}": is not allowed; expected HOST:PORT, {example}'
    )


def _read(path: Union[str, "os.PathLike[str]"], what: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise errors.InvalidRequest(
            f"{os.fspath(path)}: {what} cannot be read ({error.strerror}); check the path"
        ) from error


class Connection:
    """Calls to one server. Thread-safe, but not for use in a forked child."""

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        token: Optional[str] = None,
        token_file: Union[str, "os.PathLike[str]", None] = None,
        ca: Union[str, "os.PathLike[str]", None] = None,
        tls: bool = False,
        cert: Union[str, "os.PathLike[str]", None] = None,
        key: Union[str, "os.PathLike[str]", None] = None,
        timeout: float = CALL_TIMEOUT,
        reconnect_timeout: float = RECONNECT_TIMEOUT,
    ) -> None:
        environment = os.environ.get
        self.address = check_address(address or environment("PLIANT_SERVER") or DEFAULT_ADDRESS)
        ca = ca or environment("PLIANT_CA")
        if token is not None and token_file is not None:
            raise errors.InvalidRequest("token, token_file: both are given; expected one of them")
        if token is None and token_file is None:
            token, token_file = environment("PLIANT_TOKEN"), environment("PLIANT_TOKEN_FILE")
        if token is None and token_file is not None:
            token = _read(token_file, "the token").decode("utf-8", "replace").strip()
        if token and not token.isprintable():
            raise errors.InvalidRequest(
                "token: has characters that no token has; give the line that `pliantd token` printed"
            )
        self.timeout = timeout
        self.reconnect_timeout = reconnect_timeout
        self.tls = bool(tls or ca or cert)
        self._ca = ca
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._process = os.getpid()
        self._methods: dict[str, Any] = {}
        self._closed = False
        self._was_ready = False
        self._state = grpc.ChannelConnectivity.IDLE
        self._changed = threading.Condition()
        if bool(cert) != bool(key):
            raise errors.InvalidRequest(
                "cert, key: one is missing; a client certificate needs both files"
            )
        if self.tls:
            credentials = grpc.ssl_channel_credentials(
                _read(ca, "the certificate authority") if ca else None,
                _read(key, "the key") if key else None,
                _read(cert, "the certificate") if cert else None,
            )
            self._channel = grpc.secure_channel(self.address, credentials, _OPTIONS)
        else:
            self._channel = grpc.insecure_channel(self.address, _OPTIONS)
        self._channel.subscribe(self._on_state, try_to_connect=True)

    # --- connection -------------------------------------------------------------------------------

    def close(self) -> None:
        if self._closed or self.is_inherited:
            return
        self._closed = True
        with self._changed:
            self._changed.notify_all()
        self._channel.unsubscribe(self._on_state)
        # the channel's thread checks every 0.2 s whether its state still has subscribers
        later = threading.Timer(0.5, self._channel.close)
        later.daemon = True
        later.start()

    @property
    def is_inherited(self) -> bool:
        """True in a forked child. The locks of its copy may be held by threads that the child
        lacks."""
        return os.getpid() != self._process

    @property
    def closed(self) -> bool:
        return self._closed

    def _on_state(self, state: grpc.ChannelConnectivity) -> None:
        with self._changed:
            self._state = state
            if state is grpc.ChannelConnectivity.READY:
                self._was_ready = True
            self._changed.notify_all()
        if state is grpc.ChannelConnectivity.IDLE and self._was_ready and not self._closed:
            # reconnect at once, not with the next call
            self._channel.subscribe(_ignore_state, try_to_connect=True)
            self._channel.unsubscribe(_ignore_state)

    @property
    def is_connected(self) -> bool:
        return self._state is grpc.ChannelConnectivity.READY

    def check(self) -> None:
        """Raises if the connection cannot be used: in a forked child, or after close()."""
        if self.is_inherited:
            raise errors.Forked(
                f"the connection to {self.address} was made by process {self._process}, before this one was forked from it; "
                'call pliant.connect in this process, or start processes with multiprocessing\'s method "spawn"'
            )
        if self._closed:
            raise errors.Unreachable(
                f"the connection to {self.address} is closed; call pliant.connect again"
            )

    def wait_for_server(self) -> None:
        """Waits while a broken connection is re-established. Raises Unreachable if it takes too
        long."""
        self.check()
        if self.is_connected or not self._was_ready:
            return
        with self._changed:
            back = self._changed.wait_for(
                lambda: self._closed or self.is_connected, self.reconnect_timeout
            )
        self.check()
        if not back:
            raise self.unreachable(f"no answer for {self.reconnect_timeout:g} s")

    def unreachable(self, why: str) -> errors.Unreachable:
        return errors.Unreachable(
            f"no server answers at {self.address}: {why}; start one with `pliantd serve`, or name another "
            "with HOST:PORT or PLIANT_SERVER",
            code="UNAVAILABLE",
        )

    # --- calls ------------------------------------------------------------------------------------

    def call(
        self, method: str, request: Message, *, timeout: Optional[float] = -1, repeat: bool = False
    ) -> Message:
        """Calls SERVICE/METHOD. `timeout`: None for calls that may take long. `repeat`: the call
        changes nothing, so it may be repeated when the connection breaks; other calls never are."""
        self.wait_for_server()
        invoke = self.method(method)
        seconds = self.timeout if timeout == -1 else timeout
        deadline = time.monotonic() + self.reconnect_timeout
        while True:
            try:
                return invoke(request, timeout=seconds, metadata=self._metadata)
            except grpc.RpcError as error:
                if (
                    error.code() is grpc.StatusCode.UNAVAILABLE
                    and repeat
                    and self._was_ready
                    and time.monotonic() < deadline
                ):
                    time.sleep(0.02)
                    self.wait_for_server()
                    continue
                raise self._error(error, method, repeat) from None
            except ValueError:  # the channel was closed meanwhile
                self.check()
                raise

    def start(self, method: str, request: Message, timeout: Optional[float]) -> Any:
        """Starts a call and returns its future, whose result() raises grpc.RpcError."""
        self.wait_for_server()
        return self.method(method).future(request, timeout=timeout, metadata=self._metadata)

    def stream(self, method: str, requests: Iterator[Message]) -> Any:
        self.wait_for_server()
        return self.method(method)(requests, metadata=self._metadata)

    def error(self, error: grpc.RpcError, method: str) -> errors.PliantError:
        return self._error(error, method, False)

    @property
    def metadata(self) -> Any:
        return self._metadata

    def method(self, method: str) -> Any:
        """The callable of grpc for SERVICE/METHOD."""
        self.check()
        invoke = self._methods.get(method)
        if invoke is None:
            service, name = method.split("/")
            found = _MODULES[service].DESCRIPTOR.services_by_name[service].methods_by_name[name]
            request = message_factory.GetMessageClass(found.input_type)
            response = message_factory.GetMessageClass(found.output_type)
            kind = (
                self._channel.stream_stream if found.server_streaming else self._channel.unary_unary
            )
            invoke = self._methods[method] = kind(
                f"/pliant.v1.{method}", request.SerializeToString, response.FromString
            )
        return invoke

    def _error(self, error: grpc.RpcError, method: str, repeat: bool) -> errors.PliantError:
        name = method.split("/")[1]
        if error.code() is grpc.StatusCode.UNAVAILABLE and not self._closed:
            if not self._was_ready:
                return self.diagnose(error.details() or "")
            if not repeat and "drain" not in (error.details() or ""):
                return errors.Unreachable(
                    f"the connection to {self.address} broke during {name} ({error.details()}); whether the server did it is "
                    "unknown: look at the state of the world before you repeat it",
                    code="UNAVAILABLE",
                )
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            return errors.VersionMismatch(
                f"the server at {self.address} knows no {name}: it is older than this client; "
                "update the server",
                code="UNIMPLEMENTED",
            )
        return errors.from_rpc(error, f"{name} at {self.address}")

    def diagnose(self, details: str) -> errors.PliantError:
        """Finds why no connection can be made, by probing the port."""
        host, _, port = self.address.rpartition(":")
        host = host.strip("[]")
        try:
            with socket.create_connection((host, int(port)), 2):
                pass
        except OSError as error:
            return self.unreachable(error.strerror or str(error))
        if self.tls:
            return self._diagnose_tls(host, int(port), details)
        if _speaks_http(http.client.HTTPConnection(host, int(port), timeout=2)):
            return self._http_port()
        if _speaks_tls(host, int(port)):
            return errors.Unreachable(
                f"the server at {self.address} wants TLS; give the file of its certificate authority: ca=FILE",
                code="UNAVAILABLE",
            )
        return self.unreachable(details)

    def _http_port(self) -> errors.Unreachable:
        return errors.Unreachable(
            f"{self.address} is the port of pages (HTTP), not of gRPC; give the one of `--grpc-port`, 50051 by default",
            code="UNAVAILABLE",
        )

    def _diagnose_tls(self, host: str, port: int, details: str) -> errors.PliantError:
        context = ssl.create_default_context(cafile=os.fspath(self._ca) if self._ca else None)
        context.set_alpn_protocols(["h2"])
        try:
            with (
                socket.create_connection((host, port), 2) as plain,
                context.wrap_socket(plain, server_hostname=host) as secure,
            ):
                if secure.selected_alpn_protocol() is None and _speaks_http(
                    http.client.HTTPSConnection(host, port, timeout=2, context=context)
                ):
                    return self._http_port()
        except ssl.SSLCertVerificationError as error:
            return errors.Unreachable(
                f"the certificate of {self.address} is refused: {error.verify_message}; connect to a name that the certificate "
                "has, and give the authority that signed it: ca=FILE",
                code="UNAVAILABLE",
            )
        except ssl.SSLError as error:
            if _speaks_http(http.client.HTTPConnection(host, port, timeout=2)):
                return self._http_port()
            return errors.Unreachable(
                f"the server at {self.address} speaks no TLS ({error.reason}); connect without ca and tls",
                code="UNAVAILABLE",
            )
        except OSError:
            pass
        return self.unreachable(details)


def _ignore_state(state: grpc.ChannelConnectivity) -> None:
    pass


def _speaks_http(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().version in (10, 11)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _speaks_tls(host: str, port: int) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), 2) as plain:
            plain.settimeout(2)
            with context.wrap_socket(plain, server_hostname=host):
                return True
    except OSError:
        return False
