"""The studio: a local page on which one draws a world and watches the best exploration of it."""

from __future__ import annotations

import html
import time
import webbrowser
from pathlib import Path
from types import TracebackType

from . import _ide3al
from ._arguments import checked_names
from .models.mdp import MDP


class Studio:
    """A running studio; :func:`studio` starts one.

    It answers this machine only, and ends with :meth:`close`, at the end of a ``with`` block, or
    with the interpreter.

    Parameters
    ----------
    server : ide3al._ide3al.Server
        The compiled server.
    """

    def __init__(self, server: _ide3al.Server) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """Where the page is; whoever has it can use the page."""
        return self._server.url

    @property
    def running(self) -> bool:
        """Whether it still answers."""
        return self._server.running

    def close(self) -> None:
        """End the studio; what it is computing stops."""
        self._server.close()

    def wait(self) -> None:
        """Block until Ctrl-C, for scripts."""
        try:
            while self.running:
                time.sleep(0.2)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def __enter__(self) -> Studio:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Studio at {self.url}>" if self.running else "<Studio, closed>"

    def _repr_html_(self) -> str:
        if not self.running:
            return html.escape(repr(self))
        url = html.escape(self.url)
        return f'The studio is at <a href="{url}" target="_blank" rel="noreferrer">{url}</a>'


@checked_names(open="open_browser")
def studio(mdp: MDP | None = None, *, port: int = 0, open_browser: bool = True) -> Studio:
    """Show a model, or a map to draw on, in a local page: the best exploration of it, live.

    Returns at once; the page is served from this process until it is closed. Scripts end with
    ``ide3al.studio(mdp).wait()``.

    Parameters
    ----------
    mdp : MDP, optional
        The model that is shown first; a map to begin with unless given.
    port : int, default 0
        Port to listen on; any free one for 0.
    open_browser : bool, default True
        Whether to open the page.

    Returns
    -------
    Studio
        The running studio; :attr:`Studio.url` is where the page is.

    Raises
    ------
    Error
        If the port is taken.

    Examples
    --------
    >>> import ide3al
    >>> with ide3al.studio(open_browser=False) as page:
    ...     page.running
    True
    """
    server = _ide3al.serve(None if mdp is None else mdp.native, port)
    shown = Studio(server)
    if open_browser:
        # by a file, since what a browser is started with can be seen by others on this machine
        webbrowser.open(Path(server.redirect()).as_uri())
    return shown
