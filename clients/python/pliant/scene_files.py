"""Files that a scene names, and their upload to a server that lacks them."""

from __future__ import annotations

import hashlib
import os
import pathlib
import urllib.parse
from typing import Iterable

from pliant import errors
from pliant.channel import Connection
from pliant.v1 import objects_pb2

_MAX_FILES = 50_000
_CHUNK = 1 << 20
# extensions of files that may name others; in meshes and materials the names are at the beginning
_NAME_FILES = {".urdf", ".xml", ".sdf", ".mjcf", ".config", ".obj", ".mtl", ".gltf", ".dae"}
_MAX_TEXT = 4 << 20  # of a file that is searched for names [B]
_MANIFESTS = {"package.xml", "model.config"}


def mentions(text: str, name: str) -> bool:
    """True if the text has the name, and not as a part of a longer one.

    >>> mentions("mesh: {file: parts/ball.vtk}", "ball.vtk")
    True
    >>> mentions("mesh: {file: football.vtk}", "ball.vtk")
    False
    """
    names = {name, urllib.parse.quote(name)}  # glTF names files by URIs
    return any(_has_word(text, each) for each in names)


def _has_word(text: str, word: str) -> bool:
    # searching for the plain text is a hundred times faster than for a regular expression
    at = text.find(word)
    while at >= 0:
        around = text[max(at - 1, 0) : at] + text[at + len(word) : at + len(word) + 1]
        if not any(one.isalnum() or one in "_.-" for one in around):
            return True
        at = text.find(word, at + 1)
    return False


def _list_files(folder: pathlib.Path) -> list[pathlib.Path]:
    files = []
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [(pathlib.Path(at) / name).relative_to(folder) for name in sorted(names)]
        if len(files) > _MAX_FILES:
            raise errors.InvalidRequest(
                f"{folder}: has more than {_MAX_FILES} files; put the scene and its files into a folder of "
                "their own",
                place=str(folder),
            )
    return files


def find_named_files(scene: str, folder: pathlib.Path) -> list[str]:
    """Paths, relative to the folder, of the files below it that a scene names, and of those that
    robots and meshes among them name. A file counts as named if its name without folders is
    mentioned; the server resolves packages."""
    if "file:" not in scene and '"file"' not in scene:
        return []
    named, left, texts = [], _list_files(folder), [scene]
    while texts:
        text = texts.pop()
        has_packages = "package://" in text or "model://" in text
        rest = []
        for file in left:
            if not ((file.name in _MANIFESTS and has_packages) or mentions(text, file.name)):
                rest.append(file)
                continue
            named.append(file.as_posix())
            if file.suffix.lower() in _NAME_FILES:
                texts.append(read_file(folder / file)[:_MAX_TEXT].decode("utf-8", "replace"))
        left = rest
    return sorted(named)


def read_file(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise errors.InvalidRequest(
            f"{path}: cannot be read ({error.strerror}); check the path", place=str(path)
        ) from error


def upload_missing(
    connection: Connection, files: Iterable[pathlib.Path]
) -> dict[pathlib.Path, str]:
    """Sends the files that the server lacks. Returns the SHA-256 of each."""
    contents = {file: read_file(file) for file in files}
    sums = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
    wanted = sorted(set(sums.values()))
    by_sum = {sums[file]: content for file, content in contents.items()}
    for at in range(0, len(wanted), 1000):
        request = objects_pb2.FindMissingObjectsRequest(sha256=wanted[at : at + 1000])
        missing = connection.call("ObjectService/FindMissingObjects", request, repeat=True).sha256
        for sha256 in missing:
            upload(connection, by_sum[sha256], sha256)
    return sums


def upload(connection: Connection, content: bytes, sha256: str) -> None:
    """Sends an object in chunks, each from where the server's copy ends."""
    offset, complete = 0, False
    while not complete:
        request = objects_pb2.UploadObjectRequest(
            sha256=sha256, size=len(content), offset=offset, data=content[offset : offset + _CHUNK]
        )
        response = connection.call("ObjectService/UploadObject", request, timeout=60, repeat=True)
        offset, complete = response.received, response.complete
