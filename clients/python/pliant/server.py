"""A server, and the worlds on it."""

from __future__ import annotations

import os
import pathlib
import re
from importlib import metadata
from typing import Any, Iterator, Mapping, Optional, Union

import grpc

from pliant import errors, scene_files
from pliant.channel import Connection
from pliant.description import Descriptions
from pliant.recordings import Recording, recording_name
from pliant.v1 import record_pb2, world_pb2
from pliant.world import World, load_scene, world_name

VERSION: str = metadata.version("pliant")  # of the tree from which the package was built


def check_versions(server: str, client: str, address: str) -> None:
    """Raises VersionMismatch unless both have the same major version, or before 1.0 the same minor
    one.

    >>> check_versions("0.1.7", "0.1.0", "lab:50051")
    >>> check_versions("0.3.0", "0.1.0", "lab:50051")
    Traceback (most recent call last):
    ...
    pliant.errors.VersionMismatch: the server at lab:50051 has version 0.3.0, this client 0.1.0, which is older; update the client
    """
    theirs, ours = _significant(server), _significant(client)
    if theirs is None or ours is None or theirs == ours:
        return
    older, mend = (
        ("older", "update the client")
        if ours < theirs
        else ("newer", "update the server, or install the client of its version")
    )
    raise errors.VersionMismatch(
        f"the server at {address} has version {server}, this client {client}, which is {older}; {mend}"
    )


def _significant(version: str) -> Optional[tuple[int, int]]:
    found = re.match(r"(\d+)\.(\d+)", version)
    if not found:
        return None
    major, minor = int(found[1]), int(found[2])
    return (major, 0) if major > 0 else (0, minor)


class Server:
    """A connection to a server, made by `pliant.connect`. Thread-safe."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._descriptions = Descriptions(connection)
        self.info: Any = None  # pliant.v1.ServerInfo

    @property
    def address(self) -> str:
        return self._connection.address

    @property
    def version(self) -> str:
        return str(self.info.version)

    @property
    def shipped_scenes(self) -> tuple[str, ...]:
        return tuple(self.info.shipped_scenes)

    @property
    def is_connected(self) -> bool:
        """True while the connection is up. A broken one is re-established automatically."""
        return self._connection.is_connected

    def __repr__(self) -> str:
        return f"<Server {self.address}, version {self.version}>"

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def greet(self) -> "Server":
        """Asks for the version. Raises Unreachable, Unauthenticated or VersionMismatch."""
        self.info = self._connection.call("WorldService/GetServer", world_pb2.GetServerRequest())
        check_versions(self.info.version, VERSION, self.address)
        return self

    # --- worlds -----------------------------------------------------------------------------------

    def create_world(
        self,
        scene: Union[str, "os.PathLike[str]", None] = None,
        *,
        scene_yaml: Optional[str] = None,
        shipped: str = "",
        world_id: str = "",
        durable: bool = False,
        labels: Optional[Mapping[str, str]] = None,
        idle_timeout: float = 0,
        folder: Union[str, "os.PathLike[str]", None] = None,
        timeout: Optional[float] = None,
    ) -> World:
        """Creates a world from a scene file, from its text, or from a scene that comes with the
        server (`shipped`).

        Meshes and robots that the scene names are uploaded if the server lacks them. Paths in a
        text are relative to `folder`, by default the working directory. Raises SceneError with the
        server's lines FILE:LINE:COL if the scene does not load.
        """
        if sum((scene is not None, scene_yaml is not None, bool(shipped))) != 1:
            raise errors.InvalidRequest("scene, scene_yaml, shipped: expected exactly one of them")
        request = world_pb2.CreateWorldRequest(
            world_id=world_id, durable=durable, labels=labels or {}, idle_timeout=idle_timeout
        )
        if shipped:
            if shipped not in self.shipped_scenes:
                raise errors.unknown_name(
                    "shipped scene", shipped, self.shipped_scenes, f"the server at {self.address}"
                )
            request.shipped_scene = shipped
        else:
            text, file_name, root = load_scene(scene, scene_yaml)
            root = pathlib.Path(folder) if folder is not None else root
            request.scene_yaml, request.file_name = text, file_name
            named = {name: root / name for name in scene_files.find_named_files(text, root)}
            sums = scene_files.upload_missing(self._connection, named.values())
            request.files.update({name: sums[path] for name, path in named.items()})
        try:
            message = self._connection.call("WorldService/CreateWorld", request, timeout=timeout)
        except errors.InvalidRequest as error:
            raise errors.SceneError(
                error.message, code=error.code, violations=error.violations
            ) from None
        return World(self._connection, self._descriptions, message)

    def world(self, name: str) -> World:
        """A world by its name or id. Raises UnknownName, which lists the existing ones."""
        request = world_pb2.GetWorldRequest(name=world_name(name))
        try:
            message = self._connection.call("WorldService/GetWorld", request, repeat=True)
        except errors.NotFound:
            ids = [world.name.split("/", 1)[1] for world in self.list_worlds()]
            raise errors.unknown_name(
                "world", world_name(name).split("/", 1)[1], ids, f"the server at {self.address}"
            ) from None
        return World(self._connection, self._descriptions, message)

    def list_worlds(self, labels: Optional[Mapping[str, str]] = None) -> list[Any]:
        """pliant.v1.World of each world with all of the labels, by id, including worlds under
        construction."""
        return list(self._pages(labels or {}))

    def _pages(self, labels: Mapping[str, str]) -> Iterator[Any]:
        token = ""
        while True:
            request = world_pb2.ListWorldsRequest(page_token=token, labels=labels)
            response = self._connection.call("WorldService/ListWorlds", request, repeat=True)
            yield from response.worlds
            token = response.next_page_token
            if not token:
                return

    # --- recordings -------------------------------------------------------------------------------

    def list_recordings(self, world: str = "") -> list[Recording]:
        request = record_pb2.ListRecordingsRequest(world=world_name(world) if world else "")
        response = self._connection.call("RecordService/ListRecordings", request, repeat=True)
        return [Recording(self._connection, one) for one in response.recordings]

    def recording(self, name: str) -> Recording:
        recordings = {one.name: one for one in self.list_recordings()}
        if recording_name(name) not in recordings:
            ids = [one.split("/", 1)[1] for one in recordings]
            raise errors.unknown_name(
                "recording",
                recording_name(name).split("/", 1)[1],
                ids,
                f"the server at {self.address}",
            )
        return recordings[recording_name(name)]


def connect(
    address: Optional[str] = None,
    *,
    token: Optional[str] = None,
    token_file: Union[str, "os.PathLike[str]", None] = None,
    ca: Union[str, "os.PathLike[str]", None] = None,
    tls: bool = False,
    cert: Union[str, "os.PathLike[str]", None] = None,
    key: Union[str, "os.PathLike[str]", None] = None,
    timeout: float = 10.0,
    reconnect_timeout: float = 10.0,
) -> Server:
    """Connects to a server, by default PLIANT_SERVER or 127.0.0.1:50051.

    token, token_file   the token, or a file with it; by default PLIANT_TOKEN or the file
                        PLIANT_TOKEN_FILE
    ca                  file of the authority that signed the server's certificate (PLIANT_CA);
                        turns on TLS
    tls                 TLS with the authorities of the system
    cert, key           files of this client's certificate and key, if the server asks for them
    timeout             of quick calls [s]
    reconnect_timeout   how long calls wait for a server that was lost [s]
    """
    connection = Connection(
        address,
        token=token,
        token_file=token_file,
        ca=ca,
        tls=tls,
        cert=cert,
        key=key,
        timeout=timeout,
        reconnect_timeout=reconnect_timeout,
    )
    try:
        return Server(connection).greet()
    except (errors.PliantError, grpc.RpcError, KeyboardInterrupt):
        connection.close()
        raise
