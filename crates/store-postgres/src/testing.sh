#!/bin/sh
# A PostgreSQL server for tests: sh server.sh FOLDER BIN PORT
# Runs in the background until nobody has held the lock FOLDER/using for some seconds; then removes what it made.
set -eu
folder=$1 bin=${2:+$2/} port=$3
# The data lies beside the locks, which stay.
data=$(mktemp -d "$folder/data.XXXXXX")
chmod 755 "$folder"
as=
if [ "$(id -u)" = 0 ]; then
    # The server refuses to be run by root.
    if id postgres >/dev/null 2>&1; then user=postgres; else user=nobody; fi
    chown "$user" "$data"
    as="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups"
fi
# A certificate beside the locks is for a server that speaks TLS. Its key must belong to whoever runs the server.
tls=
if [ -e "$folder/server.key" ]; then
    for file in server.key server.crt; do install -m 600 ${as:+-o "$user"} "$folder/$file" "$data/$file"; done
    tls="-c ssl=on -c ssl_cert_file=$data/server.crt -c ssl_key_file=$data/server.key"
fi
cd "$data"
$as "${bin}initdb" -D "$data/cluster" -U ordo --auth=trust --no-sync --encoding=UTF8 --locale=C >/dev/null
$as "${bin}postgres" -D "$data/cluster" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c fsync=on -c max_connections=400 -c shared_buffers=64MB -c log_min_messages=fatal $tls &
server=$!
finish() {
    rm -f "$folder/port"
    kill -QUIT "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    rm -rf "$data"
}
trap 'finish; exit 1' INT TERM HUP
until "${bin}pg_isready" -q -h 127.0.0.1 -p "$port" -U ordo; do
    kill -0 "$server" || { finish; exit 1; }
    sleep 0.1
done
echo "$port" >"$folder/port"
idle=0
while kill -0 "$server" 2>/dev/null && [ "$idle" -lt 10 ]; do
    sleep 1
    # Whoever starts next waits for us here: none joins while we leave.
    if [ "$idle" -lt 9 ]; then
        if flock -n -x "$folder/using" true; then idle=$((idle + 1)); else idle=0; fi
    else
        exec 9>"$folder/starting"
        flock -x 9
        if flock -n -x "$folder/using" true; then idle=10; rm -f "$folder/port"; else idle=0; fi
        exec 9>&-
    fi
done
finish
