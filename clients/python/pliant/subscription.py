"""Subscriptions: a stream of frames that keeps the latest, or calls a function for each."""

from __future__ import annotations

import queue
import threading
import traceback
import warnings
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

import grpc

from pliant import errors
from pliant.channel import Backoff, Connection
from pliant.description import Description, number_of_field
from pliant.frames import Decoder, Frame, WrongModel
from pliant.v1 import stream_pb2

PRECISIONS = {"": 0, "float32": 1, "float64": 2, "compact": 3}


class StreamCounts(NamedTuple):
    """Counts of the frames of a subscription so far."""

    received: int
    missed: int  # replaced by newer ones before they were taken
    reconnections: int


def make_subscription(
    description: Description,
    *,
    rate: float = 0,
    bodies: Sequence[str] = (),
    fields: Sequence[str] = (),
    contacts: bool = False,
    probes: Sequence[str] = (),
    precision: str = "",
    decimated: bool = False,
    rates: Optional[Mapping[str, float]] = None,
) -> Any:
    """A pliant.v1.Subscription with checked names."""
    if precision not in PRECISIONS:
        raise errors.unknown_name(
            "precision", precision, [name for name in PRECISIONS if name], "a subscription"
        )
    parts = stream_pb2.PartRates.DESCRIPTOR.fields_by_name
    for part in rates or {}:
        if part not in parts:
            raise errors.unknown_name("rate", part, parts, "a subscription")
    make: Any = stream_pb2.Subscription  # its enums are numbers here
    return make(
        world=description.world,
        rate=rate,
        bodies=[description.check_body(name) for name in bodies],
        fields=[number_of_field(name) for name in fields],
        contacts=contacts,
        probes=[description.check_probe(name) for name in probes],
        precision=PRECISIONS[precision],
        tier=1 if decimated else 0,
        rates=stream_pb2.PartRates(**rates) if rates else None,
    )


class Subscription:
    """The latest frames of a world, received by a separate thread.

    Iterate over it for one frame after the other, without those that came while the loop was busy;
    use `latest` or `next`; or give a `callback`, which is called on a thread of this subscription.
    A slow callback delays, and an exception in it ends, only this subscription. When the connection
    breaks, the stream restarts as soon as the server is back. Close it, or use it in a `with`
    statement.
    """

    def __init__(
        self,
        connection: Connection,
        describe: Callable[[], Description],
        subscribe: Callable[[Description], Any],
        callback: Optional[Callable[[Frame], Any]] = None,
    ) -> None:
        self._connection = connection
        self._describe = describe
        self._subscribe = subscribe
        self._callback = callback
        self._changed = threading.Condition()
        self._latest: Optional[Frame] = None
        self._taken = 0  # value of _received when a frame was last taken
        self._received = self._missed = self._reconnections = 0
        self._end: Optional[BaseException] = None
        self._ended = False
        self._closing = threading.Event()
        self._stream: Any = None
        description = describe()
        subscribe(description)  # raises for unknown names
        self._decoder = Decoder(description)
        self._thread = threading.Thread(target=self._run, name="pliant frames", daemon=True)
        self._thread.start()
        if callback is not None:
            threading.Thread(target=self._call_back, name="pliant callback", daemon=True).start()

    # --- frames -----------------------------------------------------------------------------------

    @property
    def latest(self) -> Optional[Frame]:
        """The newest frame; None before the first one."""
        self._connection.check()
        return self._latest

    @property
    def counts(self) -> StreamCounts:
        with self._changed:
            return StreamCounts(self._received, self._missed, self._reconnections)

    @property
    def error(self) -> Optional[BaseException]:
        """Why the subscription ended; None while it runs, or after close()."""
        return self._end

    def next(self, timeout: Optional[float] = None) -> Frame:
        """The next frame that was not taken yet. Raises TimedOut, or the error that ended the
        stream."""
        self._connection.check()
        with self._changed:
            there = self._changed.wait_for(
                lambda: self._received > self._taken or self._ended, timeout
            )
            if not there:
                raise errors.TimedOut(
                    f"no frame of {self._decoder.description.world} within {timeout:g} s; is its server busy? "
                    "a paused world is sent once a second"
                )
            if self._received > self._taken and self._latest is not None:
                self._missed += self._received - self._taken - 1
                self._taken = self._received
                return self._latest
            raise self._end or StopIteration

    def __iter__(self) -> Iterator[Frame]:
        while True:
            try:
                frame = self.next()
            except StopIteration:
                return
            yield frame

    # --- lifetime ---------------------------------------------------------------------------------

    def close(self) -> None:
        if self._connection.is_inherited:
            return  # the stream is the parent's
        self._closing.set()
        stream = self._stream
        if stream is not None:
            stream.cancel()
        if threading.current_thread() is not self._thread:
            self._thread.join(5)
        self._finish(None)

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _finish(self, why: Optional[BaseException]) -> None:
        with self._changed:
            if not self._ended:
                self._ended, self._end = True, why
            self._changed.notify_all()

    # --- threads ----------------------------------------------------------------------------------

    def _run(self) -> None:
        backoff, described_anew = Backoff(), False
        while not self._closing.is_set():
            try:
                for frame in self._receive():
                    backoff.reset()
                    described_anew = False
                    with self._changed:
                        self._latest = frame
                        self._received += 1
                        self._changed.notify_all()
                return self._finish(None)
            except WrongModel as error:
                if described_anew:
                    return self._finish(
                        errors.DataLoss(
                            f"the frames of {self._decoder.description.world} do not fit its description ({error}); update the "
                            "client and the server to the same version"
                        )
                    )
                described_anew = True
            except grpc.RpcError as error:
                if self._closing.is_set() or self._connection.closed:
                    return self._finish(None)
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    return self._finish(self._connection.error(error, "StreamService/Subscribe"))
            except errors.Unreachable:
                if self._closing.is_set() or self._connection.closed:
                    return self._finish(None)
            except errors.PliantError as error:
                return self._finish(error)
            self._closing.wait(backoff.next())
            self._reconnections += 1
            try:
                self._decoder = Decoder(self._describe())  # the world may have another model by now
            except errors.Unreachable:
                continue
            except errors.PliantError as error:
                return self._finish(error)

    def _receive(self) -> Iterator[Frame]:
        requests: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        requests.put(
            stream_pb2.SubscribeRequest(subscription=self._subscribe(self._decoder.description))
        )
        self._stream = stream = self._connection.stream(
            "StreamService/Subscribe", iter(requests.get, None)
        )
        try:
            if self._closing.is_set():
                return
            for response in stream:
                if not response.HasField(
                    "frame"
                ):  # a notice, which the status of the stream repeats
                    continue
                frame = self._decoder.decode(response.frame)
                requests.put(
                    stream_pb2.SubscribeRequest(ack=stream_pb2.FrameAck(frame=response.frame.frame))
                )
                yield frame
        finally:
            requests.put(None)
            stream.cancel()

    def _call_back(self) -> None:
        assert self._callback is not None
        try:
            for frame in self:
                self._callback(frame)
        except errors.PliantError:
            pass  # the reason is in `error`
        except BaseException as error:  # noqa: BLE001 (an exception of a user's function ends only its subscription)
            warnings.warn(
                f"a callback on frames of {self._decoder.description.world} failed, and its subscription has ended:\n"
                + "".join(traceback.format_exception(type(error), error, error.__traceback__)),
                RuntimeWarning,
                stacklevel=1,
            )
            self._closing.set()
            if self._stream is not None:
                self._stream.cancel()
            self._finish(error)
