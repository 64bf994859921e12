"""The `tres` command."""

from __future__ import annotations

import sys

import typer

from tres_crawler import __version__
from tres_crawler.cli import bench, crawling, demo, exporting, looking, service, simulated, topics
from tres_crawler.errors import ConfigError, TopicError, TresError

app = typer.Typer(
    help="A focused crawler that learns while it crawls: give it a topic, get relevant pages and sites.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("crawl")(crawling.crawl)
app.command("resume")(crawling.resume)
app.command("crawls")(looking.list_crawls)
app.command("status")(looking.status)
app.command("stop")(crawling.stop)
app.command("export")(exporting.export)
app.command("serve")(service.serve)
app.command("simweb")(simulated.simweb)
app.command("demo")(demo.demo)
app.add_typer(bench.app, name="bench")
app.add_typer(looking.db, name="db")
app.add_typer(topics.app, name="topic")


@app.command("version")
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    """Run the command; expected trouble is one paragraph on standard error, not a traceback."""
    try:
        app()
    except TresError as error:
        print(f"tres: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError | TopicError) else 1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
