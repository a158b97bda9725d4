"""gRPC, imported with its handlers for forks. The other modules import it after this one."""

import os

_SWITCH = "GRPC_ENABLE_FORK_SUPPORT"


def _import_grpc() -> None:
    """Imports gRPC so that a process may fork while it has connections.

    By default, gRPC's C library restarts its threads in a forked child, while its Python layer does
    nothing. These threads complete calls for which threads of the parent waited; the child has no
    such threads, and hangs or aborts. With the switch, the Python layer ends its own threads before
    a fork, and closes the child's copies of channels.

    gRPC reads the switch once, while it is imported. A value that the user gave is respected, and
    processes started from this one do not inherit ours.
    """
    is_given = _SWITCH in os.environ
    os.environ.setdefault(_SWITCH, "1")
    try:
        import grpc  # noqa: F401
    finally:
        if not is_given:
            del os.environ[_SWITCH]


_import_grpc()
