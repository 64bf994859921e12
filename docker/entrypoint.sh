#!/bin/sh
# The service listens on 0.0.0.0 inside its container, so it needs a token: the one given in TRES_SERVE__TOKEN, or one
# made on the first start, kept in the data volume and printed once.
set -eu
token_file="${TOKEN_FILE:-/data/token}"
if [ -z "${TRES_SERVE__TOKEN:-}" ]; then
    if [ ! -s "$token_file" ]; then
        (umask 077 && python -c 'import secrets; print(secrets.token_urlsafe(32))' > "$token_file")
        echo "API token (shown once; kept in $token_file): $(cat "$token_file")"
    fi
    TRES_SERVE__TOKEN="$(cat "$token_file")"
    export TRES_SERVE__TOKEN
fi
# Prometheus reads it from here; nobody else is given this volume.
scrape_dir="${SCRAPE_DIR:-/scrape}"
if [ -w "$scrape_dir" ]; then
    printf '%s' "$TRES_SERVE__TOKEN" > "$scrape_dir/token"
fi
unset TOKEN_FILE SCRAPE_DIR
exec "$@"
