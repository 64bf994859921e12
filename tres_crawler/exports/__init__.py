"""A crawl as a file, streamed: what `tres export` writes and the export route sends."""
