"""Messages to servers and their replies in turns, over one stream to each."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any, Optional, Sequence, Union

import grpc

from pliant import errors
from pliant.lockstep.calls import Call

try:
    from grpc._cython import cygrpc
except ImportError:  # a grpcio that is organised differently
    cygrpc = None

_METHOD = "WorldService/Lockstep"
_NO_FLAGS = 0


class Exchange:
    """Sends a message, then waits for its reply. An error ends the stream.

    timeout   longest wait for a reply [s]; None: none
    """

    def __init__(self, connection: Any, timeout: Optional[float]) -> None:
        self._connection = connection
        self._timeout = timeout
        self._call = _open(connection)
        self._sent_at: Optional[float] = None  # none: no reply is awaited
        self._is_late = False
        self._closed = threading.Event()
        if timeout is not None:
            watch = threading.Thread(
                target=self._watch, args=[timeout], name="pliant exchange", daemon=True
            )
            watch.start()

    def send(self, message: Any) -> None:
        self._sent_at = time.monotonic()
        self._call.send(message)

    def receive(self) -> Any:
        """The reply to the last message. Raises its error."""
        try:
            reply = self._call.receive()
        except (grpc.RpcError, StopIteration) as error:
            raise self._explain(error) from None
        self._sent_at = None
        return reply

    def close(self) -> None:
        self._closed.set()
        if self._connection.is_inherited:  # by a forked child, which must not touch gRPC
            return
        self._call.close()

    def _explain(self, error: Union[grpc.RpcError, StopIteration]) -> errors.PliantError:
        address = self._connection.address
        if self._is_late:
            return errors.TimedOut(
                f"Lockstep at {address}: no answer within {self._timeout:g} s",
                code="DEADLINE_EXCEEDED",
            )
        if isinstance(error, grpc.RpcError):
            explained: errors.PliantError = self._connection.error(error, _METHOD)
            return explained
        return errors.Unreachable(f"the server at {address} ended the stream", code="UNAVAILABLE")

    def _watch(self, timeout: float) -> None:
        """Ends the stream when a reply is late, since a stream has no time limit for a message."""
        while not self._closed.wait(timeout / 4):
            sent_at = self._sent_at
            if sent_at is not None and time.monotonic() - sent_at > timeout:
                self._is_late = True
                self._call.cancel()
                return


class Exchanges:
    """The streams of a Lockstep, one for each of its calls. They open with the first step, and
    again after an error."""

    def __init__(self, timeout: Optional[float]) -> None:
        self._timeout = timeout
        self._open: dict[int, Exchange] = {}

    def step(self, calls: Sequence[Call]) -> list[Any]:
        """Sends all messages, then waits. Returns the response or the error of each call."""
        try:
            return self._exchange(calls)
        except BaseException:  # an interrupt leaves replies unread
            self.close()
            raise

    def _exchange(self, calls: Sequence[Call]) -> list[Any]:
        replies: list[Any] = []
        for k, call in enumerate(calls):
            try:
                call.connection.wait_for_server()
                if k not in self._open:
                    self._open[k] = Exchange(call.connection, self._timeout)
                self._open[k].send(call.message)
                replies.append(None)
            except errors.PliantError as error:
                self._drop(k)
                replies.append(error)
        for k, reply in enumerate(replies):
            if reply is not None:
                continue
            try:
                replies[k] = self._open[k].receive()
            except errors.PliantError as error:
                self._drop(k)
                replies[k] = error
        return replies

    def _drop(self, k: int) -> None:
        exchange = self._open.pop(k, None)
        if exchange is not None:
            exchange.close()

    def close(self) -> None:
        for exchange in self._open.values():
            exchange.close()
        self._open.clear()


def _open(connection: Any) -> Union["_OwnCall", "_StreamCall"]:
    invoke = connection.method(_METHOD)
    try:
        return _OwnCall(invoke, connection.metadata)
    except (AttributeError, TypeError):
        return _StreamCall(invoke, connection.metadata)


class _StreamCall:
    """A stream of grpc's public interface. Threads of grpc take each message from a queue and hand
    over each reply."""

    def __init__(self, invoke: Any, metadata: Any) -> None:
        self._requests: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._replies = invoke(iter(self._requests.get, None), metadata=metadata)

    def send(self, message: Any) -> None:
        self._requests.put(message)

    def receive(self) -> Any:
        return next(self._replies)

    def cancel(self) -> None:
        self._replies.cancel()

    def close(self) -> None:
        self._requests.put(None)
        self._replies.cancel()


class _Ended(grpc.RpcError):  # type: ignore[misc]
    """The end of a call, with the methods of a grpc.Call that tell of it."""

    def __init__(self, end: Any) -> None:
        super().__init__(end.details())
        self._end = end

    def code(self) -> grpc.StatusCode:
        return next(
            (code for code in grpc.StatusCode if code.value[0] == self._end.code()),
            grpc.StatusCode.UNKNOWN,
        )

    def details(self) -> str:
        return str(self._end.details())

    def trailing_metadata(self) -> Any:
        return self._end.trailing_metadata()


class _OwnCall:
    """A stream whose messages are sent and received by the calling thread, in a third of the time.

    grpc offers that for calls with one request only, so this uses the internal module by which it
    makes them. Raises AttributeError or TypeError if grpc has no such module or another one. Not
    thread-safe, except for `cancel`.
    """

    def __init__(self, invoke: Any, metadata: Any) -> None:
        if cygrpc is None:
            raise AttributeError("grpc._cython.cygrpc")
        self._serialize = invoke._request_serializer
        self._deserialize = invoke._response_deserializer
        self._message, self._status = (
            cygrpc.OperationType.receive_message,
            cygrpc.OperationType.receive_status_on_client,
        )
        self._end: Any = None
        operations = (
            cygrpc.SendInitialMetadataOperation(metadata, _NO_FLAGS),
            cygrpc.ReceiveInitialMetadataOperation(_NO_FLAGS),
            cygrpc.ReceiveStatusOnClientOperation(_NO_FLAGS),
        )
        self._num_due = len(operations)  # number of events that will come; the last one frees the call
        self._call = invoke._channel.segregated_call(
            cygrpc.PropagationConstants.GRPC_PROPAGATE_DEFAULTS,
            invoke._method,
            None,  # host: that of the channel
            None,  # deadline
            metadata,
            None,  # credentials: those of the channel
            tuple(((operation,), None) for operation in operations),
            invoke._context,
            invoke._registered_call_handle,
        )

    def send(self, message: Any) -> None:
        operations = (
            cygrpc.SendMessageOperation(self._serialize(message), _NO_FLAGS),
            cygrpc.ReceiveMessageOperation(_NO_FLAGS),
        )
        # false after the end, of which `receive` tells
        if self._call.operate(operations, None):
            self._num_due += 1

    def receive(self) -> Any:
        while self._num_due > 0:
            reply = self._take_event()
            if reply is not None:
                return self._deserialize(reply)
        if self._end is None or self._end.code() == 0:
            raise StopIteration
        raise _Ended(self._end)

    def cancel(self) -> None:
        self._call.cancel(grpc.StatusCode.CANCELLED.value[0], "cancelled by the client")

    def close(self) -> None:
        self.cancel()
        while self._num_due > 0:
            self._take_event()

    def _take_event(self) -> Optional[bytes]:
        """Waits for an event. Returns the bytes of a reply if it brings one."""
        due, self._num_due = self._num_due, 0  # after an interrupt no more events come
        event = self._call.next_event()
        self._num_due = due - 1
        reply: Optional[bytes] = None
        for operation in event.batch_operations:
            if operation.type() == self._message:
                reply = operation.message()
            elif operation.type() == self._status:
                self._end = operation
        return reply
