"""The viewer inside a notebook."""

from __future__ import annotations

import html
import http.client as http_client
import os
import urllib.parse
from typing import Any, NamedTuple, Optional, Union

from pliant.server import Server
from pliant.world import World

DEFAULT_PORT = 8080  # of the HTTP port


class View(NamedTuple):
    """The page of a server, as a notebook shows it."""

    url: str
    height: int
    problem: str = (
        ""  # why it cannot be shown in the notebook; empty: no problem is known
    )

    def _repr_html_(self) -> str:
        """
        >>> View("http://127.0.0.1:8080/", 500)._repr_html_()[:50]
        '<iframe src="http://127.0.0.1:8080/" width="100%" '
        """
        link = f'<a href="{html.escape(self.url)}" target="_blank" rel="noopener">{html.escape(self.url)}</a>'
        if self.problem:
            return f"<p>{html.escape(self.problem)}</p><p>{link}</p>"
        return f'<iframe src="{html.escape(self.url)}" width="100%" height="{self.height}" style="border:0"></iframe>'

    def __str__(self) -> str:
        return f"{self.problem}\n{self.url}" if self.problem else self.url


def show(
    what: Union[Server, World, str],
    *,
    http: Optional[str] = None,
    height: int = 500,
    origin: str = "",
) -> View:
    """The viewer of a server, as the last line of a notebook's cell; a link if the page cannot be
    shown inside it.

    http     address of the viewer, such as http://lab:8080; by default PLIANT_HTTP, or port 8080 of
             the same host
    origin   of the notebook, such as http://localhost:8888, to check whether the server lets it
             show the page
    """
    address = what if isinstance(what, str) else what.address
    host = address.rpartition(":")[0] or address
    url = http or os.environ.get("PLIANT_HTTP") or f"http://{host}:{DEFAULT_PORT}"
    if "://" not in url:
        url = f"http://{url}"
    return View(url.rstrip("/") + "/", height, _find_problem(url, origin))


def _find_problem(url: str, origin: str) -> str:
    parts = urllib.parse.urlsplit(url)
    secure = parts.scheme == "https"
    kind: Any = http_client.HTTPSConnection if secure else http_client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port or (443 if secure else 80), timeout=2)
    try:
        connection.request("GET", "/")
        response = connection.getresponse()
        policy = response.getheader("Content-Security-Policy") or ""
    except (OSError, http_client.HTTPException) as error:
        return (
            f'No page answers at {url} ({error}). Name the address that `pliantd serve` prints as "http": '
            "pliant.show(world, http=ADDRESS)."
        )
    finally:
        connection.close()
    for directive in policy.split(";"):
        name, *allowed = directive.split()
        if name == "frame-ancestors" and not _allows(allowed, origin, url):
            return (
                f"The server shows its page only in its own window, or in pages of origins that it lists. Start it with "
                f"`pliantd serve --allow-origin {origin or 'ORIGIN'}`, where ORIGIN is the notebook's, such as "
                "http://localhost:8888, or open:"
            )
    return ""


def _allows(allowed: list[str], origin: str, url: str) -> bool:
    """True if a page may be framed. Without an origin, a server that lists any is assumed to list
    the notebook's.

    >>> _allows(["'self'"], "", "http://a:1"), _allows(["'self'", "http://n:8888"], "", "http://a:1")
    (False, True)
    >>> _allows(["'self'", "http://n:8888"], "http://other:8888", "http://a:1")
    False
    """
    others = [one for one in allowed if one not in ("'self'", "'none'")]
    if not origin:
        return bool(others)
    return (
        origin in others
        or "*" in others
        or ("'self'" in allowed and origin.rstrip("/") == url.rstrip("/"))
    )
