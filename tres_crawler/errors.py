"""Every exception of the project.

TresError
  ConfigError               a setting is wrong             shown before anything starts
  TopicError                a topic file is wrong          shown before anything starts
  FetchError  url, retry    the web said no                recorded on the page, the crawl goes on
    Postponed               the host must rest first       the link goes back as it is
    Disallowed              robots.txt refuses this URL
    Blocked                 an address or port that is not asked
    Unreachable             no connection, or it broke
    TimedOut                the host took too long
    BadStatus               an error status
    TooLarge                more bytes than the limit
    NotText                 not a kind of document we read
  ModelError                weights missing, damaged or of another shape    stops the start
  StoreError                closed, full or a newer schema stops the crawl
  ControlError              not possible in this state     a 409 for the caller
  NotFound                  no such crawl or page          a 404 for the caller
  BadRequest                it makes no sense              a 422 for the caller
"""

MAX_REASON = 200
"""Characters of a reason that are kept: some hosts have much to say."""


class TresError(Exception):
    """Expected trouble; its text is one paragraph that says what is wrong and what to do."""


class ConfigError(TresError):
    """A setting has a wrong name or value."""


class TopicError(TresError):
    """A topic cannot be read or makes no sense."""


class FetchError(TresError):
    """A page could not be had; `retry` says whether asking again later may help."""

    retry = False

    def __init__(self, url: str, reason: str, wait_seconds: float = 0.0) -> None:
        # What a host says may be any bytes, which Python hands on as characters that cannot be stored.
        reason = reason.encode("utf-8", "replace").decode()
        super().__init__(f"{reason}: {url}")
        self.url = url
        self.reason = reason[:MAX_REASON]
        self.wait_seconds = wait_seconds


class Postponed(FetchError):
    """Nothing is wrong, but the host may not be asked yet."""


class Disallowed(FetchError):
    """robots.txt forbids the URL, or could not be had (then `retry` is true)."""

    def __init__(self, url: str, reason: str, retry: bool = False) -> None:
        super().__init__(url, reason)
        self.retry = retry


class Blocked(FetchError):
    """The address guard forbids the host's address or port."""


class Unreachable(FetchError):
    """The host cannot be found, refuses, or drops the connection."""

    retry = True


class TimedOut(FetchError):
    """A limit of time was reached."""

    retry = True


class BadStatus(FetchError):
    """The server answered with an error status."""

    def __init__(self, url: str, status: int, wait_seconds: float = 0.0) -> None:
        super().__init__(url, f"status {status}", wait_seconds)
        self.status = status
        self.retry = status >= 500 or status in (408, 425, 429)


class TooLarge(FetchError):
    """The body passed the limit of bytes."""


class NotText(FetchError):
    """The document is of a type that is not read."""


class ModelError(TresError):
    """Weights or word vectors are missing, damaged, or do not fit what they are to be used for."""


class StoreError(TresError):
    """The database cannot be used."""


class ControlError(TresError):
    """The crawl is not in a state that allows this."""


class NotFound(TresError):
    """There is no such crawl, or no such page in it."""


class BadRequest(TresError):
    """What the caller asks for makes no sense."""
