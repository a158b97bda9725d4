"""Recordings: MCAP files on the server, and their download, which can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from typing import Any, Callable, NamedTuple, Optional, Union

from pliant import errors
from pliant.channel import Connection
from pliant.v1 import record_pb2

_CHUNK = 1 << 20
_OVERLAP = (
    64 << 10
)  # bytes that are compared with the server's before a download is resumed


class Replay(NamedTuple):
    """Result of a replay. `mismatch_step`: first step whose state differs; None if none."""

    steps: int
    compared: int
    mismatch_step: Optional[int]
    is_complete: bool


class Download(NamedTuple):
    path: pathlib.Path
    size: int
    sha256: str
    resumed_at: int  # bytes that an earlier download had fetched


def recording_name(name: str) -> str:
    """
    >>> recording_name("drop"), recording_name("recordings/drop")
    ('recordings/drop', 'recordings/drop')
    """
    return name if name.startswith("recordings/") else f"recordings/{name}"


class Recording:
    """A recording on a server."""

    def __init__(self, connection: Connection, message: Any) -> None:
        self._connection = connection
        self.name: str = message.name
        self.world: str = message.world
        self.message = message  # pliant.v1.Recording, as of the last call

    def __repr__(self) -> str:
        return f"<Recording {self.name} of {self.world}: {self.state}, {self.size} bytes>"

    @property
    def state(self) -> str:
        """ACTIVE, COMPLETE or CUT_OFF."""
        return str(record_pb2.Recording.State.Name(self.message.state)).replace("STATE_", "")

    @property
    def size(self) -> int:
        return int(self.message.size)

    @property
    def end_reason(self) -> str:
        return str(self.message.end_reason)

    def stop(self) -> "Recording":
        request = record_pb2.StopRecordingRequest(name=self.name)
        self.message = self._connection.call("RecordService/StopRecording", request, timeout=60)
        return self

    def delete(self) -> None:
        self._connection.call(
            "RecordService/DeleteRecording", record_pb2.DeleteRecordingRequest(name=self.name)
        )

    def replay(self) -> Replay:
        """Replays the recording on the server, in a separate world, and compares the states."""
        response = self._connection.call(
            "RecordService/Replay", record_pb2.ReplayRequest(name=self.name), timeout=None
        )
        mismatch = response.mismatch.step if response.HasField("mismatch") else None
        return Replay(response.steps, response.compared, mismatch, response.is_complete)

    def download(
        self,
        path: Union[str, "os.PathLike[str]"],
        progress: Optional[Callable[[int, int], Any]] = None,
    ) -> Download:
        """Copies the file. `progress` is called with the bytes received and the total, and may
        raise to interrupt.

        Until the file is complete it is PATH.part, beside PATH.part.json with its size and SHA-256.
        A later call resumes it if the file still has that hash and its last bytes are the server's;
        otherwise it starts over. At the end its hash is compared with that of the server's file; if
        they differ, a download that was resumed starts over.
        """
        path = pathlib.Path(path)
        part = _Part(path)
        if path.is_dir():
            raise errors.InvalidRequest(f"{path}: is a folder; name a file", place=str(path))
        try:
            resumed = self._resume(part)
            while True:
                chunk = self._read(part.size)
                if chunk.data:
                    part.append(chunk.data)
                    if progress is not None:
                        progress(part.size, chunk.size)
                elif resumed and chunk.sha256 not in ("", part.sum.hexdigest()):
                    # the earlier part was of another recording with the same last bytes
                    part.restart()
                    resumed = 0
                else:
                    return part.finish(resumed, chunk.sha256)
        except OSError as error:
            if isinstance(error, errors.PliantError):
                raise
            raise errors.InvalidRequest(
                f"{path}: cannot be written ({error.strerror}); free space or choose another file, then "
                "call it again: it goes on where it stopped",
                place=str(path),
            ) from error
        finally:
            part.close()

    def _resume(self, part: "_Part") -> int:
        tail = part.open(self.name)
        if part.size and self._read(part.size - len(tail), len(tail)).data != tail:
            part.restart()
        return part.size

    def _read(self, offset: int, max_bytes: int = 0) -> Any:
        request = record_pb2.FetchRecordingRequest(
            name=self.name, offset=offset, max_bytes=max_bytes or _CHUNK
        )
        return self._connection.call(
            "RecordService/FetchRecording", request, timeout=60, repeat=True
        )


class _Part:
    """The file of a download under way. Its note is written with each chunk."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.part = path.with_name(path.name + ".part")
        self.note = path.with_name(path.name + ".part.json")
        self.size = 0
        self.sum = hashlib.sha256()
        self.name = ""
        self.file: Any = None

    def open(self, name: str) -> bytes:
        """Opens the file of an earlier download if it still has the noted hash, or a new one.
        Returns its last bytes."""
        self.name = name
        try:
            note = json.loads(self.note.read_text())
            content = self.part.read_bytes()[: note["size"]]
            whole = hashlib.sha256(content)
            fits = note["name"] == name and whole.hexdigest() == note["sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            fits, content = False, b""
        if not fits:
            self.restart()
            return b""
        self.size, self.sum = len(content), whole
        self.file = self.part.open("r+b")
        self.file.truncate(self.size)  # bytes after the last note may be incomplete
        self.file.seek(self.size)
        return content[-_OVERLAP:]

    def restart(self) -> None:
        self.close()
        self.size, self.sum = 0, hashlib.sha256()
        self.file = self.part.open("wb")

    def append(self, data: bytes) -> None:
        self.file.write(data)
        self.file.flush()
        self.size += len(data)
        self.sum.update(data)
        note = {"name": self.name, "size": self.size, "sha256": self.sum.hexdigest()}
        new = self.note.with_name(self.note.name + ".new")
        new.write_text(json.dumps(note))
        new.replace(self.note)

    def finish(self, resumed: int, expected: str) -> Download:
        """Compares the file with the server's hash, which is empty while the recording is still
        being written."""
        self.close()
        written = hashlib.sha256(self.part.read_bytes()).hexdigest()
        if written != self.sum.hexdigest():
            self.note.unlink()
            raise errors.DataLoss(
                f"{self.part}: has other bytes than were received; check the disk, then download it again"
            )
        if expected and written != expected:
            self.note.unlink()
            raise errors.DataLoss(
                f"{self.name}: the copy has the SHA-256 {written} and the server's file {expected}; download it again"
            )
        self.part.replace(self.path)
        self.note.unlink(missing_ok=True)
        return Download(self.path, self.size, written, resumed)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None
