"""`python -m tres_crawler` is the `tres` command."""

from tres_crawler.cli import main

main()
