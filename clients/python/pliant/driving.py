"""Leases, and the commands that are sent under them."""

from __future__ import annotations

import collections
import queue
import threading
import time
from typing import Any, Callable, Iterator, NamedTuple, Optional

import grpc
import numpy as np

from pliant import errors
from pliant.channel import Connection
from pliant.commands import Command
from pliant.description import Description
from pliant.v1 import control_pb2

_HEARTBEAT = 0.3  # [s]; a lease lapses after 1 s
_ENDED = (
    "lease ",
    "there is no lease",
)  # beginnings of reasons that mean that the lease has ended
_REPEAT = 0.03  # [s]; motion ends 100 ms after its last command


class Latency(NamedTuple):
    """Latencies of the last thousand commands [s]."""

    commands: int
    round_trip_median: float  # from sending a command to its answer
    round_trip_p99: float
    applied_median: float  # from its receipt by the server to the start of the step that applied it


class Feedback(NamedTuple):
    """The server's answer to a command."""

    sequence: int
    applied_step: int  # 0: not applied yet
    round_trip: float  # [s]
    latency: float  # from receipt to the start of the step that applied it [s]
    force: tuple[float, ...]  # contact force on the target [N]
    torque: tuple[float, ...]


class Lease:
    """The right to command one target, held until this object is closed.

    A thread renews the lease. `send` sends a command, which holds for 100 ms if it is a motion, and
    `send(…, hold=SECONDS)` repeats it for that time. There is no unbounded repetition, so a program
    that hangs stops its target. When the lease is lost, every use raises LeaseLost with the reason,
    and nothing is sent again, even after a reconnection. Close it, or use it in a `with` statement.
    """

    def __init__(
        self,
        connection: Connection,
        description: Callable[[], Description],
        target: str,
        *,
        client: str,
        takeover: bool = False,
        priority: int = 0,
        on_lost: Optional[Callable[[str], Any]] = None,
    ) -> None:
        self._connection = connection
        self._description = description
        self.target = description().check_target(target)
        self._on_lost = on_lost
        self._lock = threading.Condition()
        self._queue: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._sequence = 0
        self._sent_at = time.monotonic()
        self._held: Optional[tuple[Command, float]] = None  # repeated command, and its end [s]
        self._lost = ""
        self._refusal = ""  # of a command, to be raised by the next use
        self._closed = False
        self._feedback: Optional[Feedback] = None
        self._trips: "collections.deque[float]" = collections.deque(maxlen=1000)
        self._applied: "collections.deque[float]" = collections.deque(maxlen=1000)
        self._answered = 0
        self._applied_sequence = 0
        self._world = description().world
        request = control_pb2.AcquireLeaseRequest(
            world=self._world, target=target, client=client, takeover=takeover, priority=priority
        )
        granted = connection.call("ControlService/AcquireLease", request)
        self._id: str = granted.lease_id
        self._stream = connection.stream("ControlService/Command", iter(self._queue.get, None))
        threading.Thread(target=self._receive, name="pliant feedback", daemon=True).start()
        threading.Thread(target=self._beat, name="pliant heartbeat", daemon=True).start()

    # --- commands ---------------------------------------------------------------------------------

    def send(self, command: Command, *, hold: float = 0, epoch: Optional[int] = None) -> int:
        """Sends a command and returns its sequence number. With the `epoch` of the last frame seen,
        the command is refused if the world was reset since."""
        self.check()
        command = command.message(self._description(), self.target)
        with self._lock:
            self._held = (command, time.monotonic() + hold) if hold > 0 else None
            return self._send(command, epoch)

    def _send(
        self, command: Command, epoch: Optional[int] = None
    ) -> int:  # call with the lock held
        self._sequence += 1
        self._sent_at = time.monotonic()
        request = control_pb2.CommandRequest(
            world=self._world,
            lease_id=self._id,
            sequence=self._sequence,
            client_time=self._sent_at,
            epoch=epoch,
        )
        self._queue.put(command.write(request))
        return self._sequence

    def wait_applied(self, sequence: int, timeout: float = 5.0) -> Feedback:
        """Waits until a step has applied the command or a later one."""
        self.check()
        with self._lock:
            self._lock.wait_for(
                lambda: self._applied_sequence >= sequence or self._has_news(), timeout
            )
            if self._applied_sequence >= sequence and self._feedback is not None:
                return self._feedback
        self.check()
        raise errors.TimedOut(
            f"no step of {self._world} has applied command {sequence} within {timeout:g} s; is its clock running?"
        )

    def wait_answered(self, sequence: int, timeout: float = 5.0) -> None:
        """Waits until the server has answered the command. Raises LeaseLost if it was refused
        because the lease ended."""
        self.check()
        with self._lock:
            answered = self._lock.wait_for(
                lambda: self._answered >= sequence or self._has_news(), timeout
            )
        self.check()
        if not answered:
            raise errors.TimedOut(f"no answer to command {sequence} within {timeout:g} s")

    def _has_news(self) -> bool:
        return bool(self._lost or self._closed or self._refusal)

    # --- state ------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises LeaseLost if the lease has ended, and Refused if an earlier command was refused."""
        self._connection.check()
        if self._lost:
            raise errors.LeaseLost(
                f'the lease on "{self.target}" is lost: {self._lost}; acquire it again',
                place=self.target,
            )
        if self._closed:
            raise errors.LeaseLost(
                f'the lease on "{self.target}" was closed; acquire it again', place=self.target
            )
        with self._lock:
            refusal, self._refusal = self._refusal, ""
        if refusal:
            raise errors.Refused(refusal, place=self.target)

    @property
    def is_held(self) -> bool:
        return not (self._lost or self._closed)

    @property
    def feedback(self) -> Optional[Feedback]:
        """The last answer of the server."""
        return self._feedback

    @property
    def latency(self) -> Latency:
        with self._lock:
            trips, applied = list(self._trips), list(self._applied)
        none = float("nan")
        return Latency(
            len(trips),
            float(np.median(trips)) if trips else none,
            float(np.quantile(trips, 0.99)) if trips else none,
            float(np.median(applied)) if applied else none,
        )

    def close(self) -> None:
        """Releases the lease, which ends the motion that was commanded under it."""
        if self._connection.is_inherited:
            return  # the lease is the parent's
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._held = None
            self._lock.notify_all()
        self._queue.put(None)
        if not self._lost:
            try:
                request = control_pb2.ReleaseLeaseRequest(world=self._world, lease_id=self._id)
                self._connection.call("ControlService/ReleaseLease", request)
            except errors.PliantError:
                pass  # it lapses by itself
        self._stream.cancel()

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # --- threads ----------------------------------------------------------------------------------

    def _lose(self, why: str) -> None:
        with self._lock:
            if self._closed or self._lost:
                return
            self._lost = why
            self._held = None
            self._lock.notify_all()
        self._queue.put(None)
        if self._on_lost is not None:
            self._on_lost(why)

    def _receive(self) -> None:
        try:
            for response in self._responses():
                self._take(response)
            self._lose("the server ended the stream of commands")
        except grpc.RpcError as error:
            self._lose(
                "the connection broke"
                if error.code() is grpc.StatusCode.UNAVAILABLE
                else error.details() or error.code().name
            )

    def _responses(self) -> Iterator[Any]:
        yield from self._stream

    def _take(self, response: Any) -> None:
        now = time.monotonic()
        if response.refused.startswith(_ENDED):
            return self._lose(response.refused)
        with self._lock:
            trip = now - response.client_time
            if response.sequence > self._answered:
                self._answered = response.sequence
                self._trips.append(trip)
            if response.refused:
                self._refusal = (
                    f'command {response.sequence} to "{self.target}" is refused: {response.refused}'
                )
            if response.applied_step > 0 and response.sequence > self._applied_sequence:
                self._applied_sequence = response.sequence
                self._applied.append(response.latency)
            self._feedback = Feedback(
                response.sequence,
                response.applied_step,
                trip,
                response.latency,
                tuple(response.force),
                tuple(response.torque),
            )
            self._lock.notify_all()

    def _beat(self) -> None:
        """Repeats the held command, and renews the lease between commands."""
        while True:
            with self._lock:
                self._lock.wait(_REPEAT if self._held else _HEARTBEAT / 2)
                if self._lost or self._closed:
                    return
                now = time.monotonic()
                if self._held and now > self._held[1]:
                    self._held = None
                if self._held:
                    if now - self._sent_at >= _REPEAT:
                        self._send(self._held[0])
                    continue
                if now - self._sent_at < _HEARTBEAT:
                    continue
                self._sent_at = now
            request = control_pb2.AcquireLeaseRequest(
                world=self._world, target=self.target, lease_id=self._id
            )
            try:
                self._connection.call("ControlService/AcquireLease", request, timeout=1)
            except errors.TimedOut:
                continue  # the next answer says whether the lease still holds
            except errors.PliantError as error:
                return self._lose(error.message)
