#!/bin/sh
# A nightly backup that somebody hears about when it fails, and when it does not happen at all.
#
#     examples/nightly_backup.sh /srv/data /backup          # sets it up; again: changes nothing
#     examples/nightly_backup.sh --play /srv/data /backup   # and runs it once, now
#
# The job makes an archive, reads it back, and keeps the last seven. It is tried three times, and a failure for good opens an
# incident. The monitor is a second pair of eyes: it waits for a sign of life each night, and opens an incident of its own when none
# comes, whatever the reason: the job was cancelled, the disk of the scheduler is full, this machine is off. For the last of these let
# a second Ordo keep the monitor (ordo watch --server https://other.example).
set -eu
play=no
if [ "$1" = --play ]; then play=yes; shift; fi
from=$(realpath "$1") to=$(realpath "$2")

if ! ordo monitor show nightly-backup >/dev/null 2>&1; then
    ordo monitor add nightly-backup --cron '0 2 * * *' --tz Europe/Berlin --grace 2h --severity sev2
fi
if ! ordo job show nightly-backup >/dev/null 2>&1; then
    # What is inside the quotes runs every night, with the folders in $1 and $2.
    ordo job add nightly-backup --cron '0 2 * * *' --tz Europe/Berlin --timeout 1h --block discard \
        --retry 2 --backoff 5m --idempotent --on-failure-incident sev2 --resolve-on-recovery \
        --description 'Archives the data, reads the archive back, keeps the last seven' \
        -- "$(command -v ordo)" watch --monitor nightly-backup -- sh -euc '
            archive=$2/backup-$(date -u +%Y%m%dT%H%M%SZ).tar.gz
            trap "rm -f \"$archive.part\"" EXIT
            tar -C "$1" -czf "$archive.part" .
            files=$(tar -tzf "$archive.part" | grep -vc "/$")
            mv "$archive.part" "$archive"
            ls -1t "$2"/backup-*.tar.gz | tail -n +8 | xargs -r rm --
            echo "$files files in $archive"
        ' backup "$from" "$to"
fi
ordo job preview nightly-backup
if [ "$play" = yes ]; then
    ordo job trigger nightly-backup --wait
    ordo monitor show nightly-backup
fi
