"""Exceptions of the client. Those for errors of the server have its details: place, problem and
mend."""

from __future__ import annotations

import difflib
import re
from typing import Any, Iterable, NamedTuple, Optional, Type

import grpc
from google.rpc import error_details_pb2, status_pb2

_DETAILS = "grpc-status-details-bin"
_MAX_NAMES = 12  # in a message


class Violation(NamedTuple):
    """A problem with a field of a request or scene."""

    field: str
    description: str


class PliantError(Exception):
    """An error of the server or of the client.

    message     the whole text
    place       the field, file or object with the problem; empty if there is none
    mend        how to fix it; empty if the text does not say
    code        name of the gRPC status, such as "NOT_FOUND"; empty if the client raised it before
                sending
    violations  one for each wrong field

    >>> error = InvalidRequest('commands[0].joint_targets.values[2]: nan is not allowed; expected a finite number')
    >>> error.place, error.mend
    ('commands[0].joint_targets.values[2]', 'expected a finite number')
    """

    def __init__(
        self,
        message: str,
        *,
        place: str = "",
        mend: str = "",
        code: str = "",
        violations: Iterable[Violation] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.violations = tuple(violations)
        self.place = place or (
            self.violations[0].field if self.violations else _find_place(message)
        )
        self.mend = mend or _find_mend(message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Any:  # errors can be pickled
        fields = {
            "place": self.place,
            "mend": self.mend,
            "code": self.code,
            "violations": self.violations,
        }
        return _restore, (type(self), self.message, fields)


def _restore(kind: Type[PliantError], message: str, fields: dict[str, Any]) -> PliantError:
    return kind(message, **fields)


class InvalidRequest(PliantError, ValueError):
    """A request has a wrong value."""


class SceneError(InvalidRequest):
    """A scene does not load; `violations` has its errors, and the message their lines
    FILE:LINE:COL."""


class ActionError(InvalidRequest):
    """An action has a wrong shape, or a number that is not finite or out of bounds. Nothing was
    sent."""


class UnknownName(PliantError, LookupError):
    """There is no world, body, joint, probe or field of that name."""


class NotFound(PliantError, LookupError):
    """The server does not have the object, for example because the world was deleted."""


class AlreadyExists(PliantError):
    """The name is taken."""


class Refused(PliantError):
    """The present state does not allow the request."""


class Aborted(PliantError):
    """Another request ended this one, for example by pausing the world."""


class QuotaExceeded(PliantError):
    """The request exceeds a quota or limit, which the message names."""


class Unauthenticated(PliantError):
    """The token is missing, unknown or expired."""


class PermissionDenied(PliantError):
    """The role of the token is too low; the message names the one that is required."""


class Unreachable(PliantError, ConnectionError):
    """No server answers, or the connection broke."""


class VersionMismatch(PliantError):
    """Server and client have incompatible versions."""


class TimedOut(PliantError, TimeoutError):
    """The server did not answer in time."""


class DataLoss(PliantError):
    """The data of a durable world or a recording is damaged; the message says why."""


class LeaseLost(PliantError):
    """The lease has ended; no more commands are sent under it."""


class Forked(PliantError, RuntimeError):
    """A connection was used in a child process that was forked after it was made."""


_KINDS: dict[str, Type[PliantError]] = {
    "INVALID_ARGUMENT": InvalidRequest,
    "OUT_OF_RANGE": InvalidRequest,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "FAILED_PRECONDITION": Refused,
    "ABORTED": Aborted,
    "CANCELLED": Aborted,
    "RESOURCE_EXHAUSTED": QuotaExceeded,
    "UNAUTHENTICATED": Unauthenticated,
    "PERMISSION_DENIED": PermissionDenied,
    "UNAVAILABLE": Unreachable,
    "DEADLINE_EXCEEDED": TimedOut,
    "DATA_LOSS": DataLoss,
}
_CODES = {code.value[0]: code.name for code in grpc.StatusCode}


def from_rpc(error: grpc.RpcError, what: str = "") -> PliantError:
    """The exception for a failed call."""
    code = error.code().name
    status = None
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            status = status_pb2.Status.FromString(value)
    message = error.details() or code
    if what and code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNKNOWN", "INTERNAL"):
        message = f"{what}: {message}"
    return _make(code, message, status)


def from_status(status: status_pb2.Status) -> PliantError:
    """The exception for a status inside a reply."""
    return _make(_CODES.get(status.code, "UNKNOWN"), status.message, status)


def _make(code: str, message: str, status: Optional[status_pb2.Status]) -> PliantError:
    violations = []
    for detail in status.details if status is not None else ():
        request = error_details_pb2.BadRequest()
        if detail.Is(request.DESCRIPTOR) and detail.Unpack(request):
            violations += [
                Violation(one.field, one.description) for one in request.field_violations
            ]
    return _KINDS.get(code, PliantError)(message, code=code, violations=violations)


def _find_place(message: str) -> str:
    found = re.match(r"""(?:[\w./-]+:\d+:\d+: )?([\w.\[\]/-]+|[\w ]*"[^"]*"): """, message)
    return found[1] if found else ""


def _find_mend(message: str) -> str:
    indented = [line.strip() for line in message.splitlines() if line.startswith("    ")]
    if indented:
        return " ".join(indented)
    return message.rpartition("; ")[2] if "; " in message else ""


def unknown_name(kind: str, name: str, known: Iterable[str], where: str) -> UnknownName:
    """An error that lists the known names, the most similar first.

    >>> print(unknown_name("joint", "elbow_2", ["wrist", "elbow_1", "shoulder"], "robot \\"arm\\""))
    robot "arm" has no joint "elbow_2"; did you mean "elbow_1"? There are: elbow_1, wrist, shoulder
    >>> print(unknown_name("probe", "x", [], "the scene"))
    the scene has no probe "x"; there is none
    """
    ordered = by_nearness(name, known)
    if not ordered:
        text = f'{where} has no {kind} "{name}"; there is none'
        return UnknownName(text, place=name, mend="there is none")
    near = difflib.get_close_matches(name, ordered, 1, 0.5)
    mend = f'did you mean "{near[0]}"? There are: ' if near else "there are: "
    mend += ", ".join(ordered[:_MAX_NAMES]) + (
        f" and {len(ordered) - _MAX_NAMES} more" if len(ordered) > _MAX_NAMES else ""
    )
    return UnknownName(f'{where} has no {kind} "{name}"; {mend}', place=name, mend=mend)


def by_nearness(name: str, known: Iterable[str]) -> list[str]:
    def distance(other: str) -> float:
        return -difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()

    return sorted(sorted(set(known)), key=distance)
