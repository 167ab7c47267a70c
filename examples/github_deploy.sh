#!/bin/sh
# A push to the main branch deploys, once: GitHub calls, Ordo checks the signature, keeps the call, and runs the deployment, one at a
# time. A call that GitHub repeats leads to nothing more; one that came while this machine was being restarted is not lost.
#
#     examples/github_deploy.sh ./deploy.sh          # sets it up, and says what to enter at GitHub
#     examples/github_deploy.sh --play ./deploy.sh   # and plays GitHub: a push, the same push again, one with a wrong signature
#
# The command gets the payload on its standard input, and ORDO_HOOK_HEADER_X_GITHUB_EVENT and the like in its environment. What
# others send is not to be trusted, signed or not: read it, do not paste it into a command.
set -eu
play=no
if [ "$1" = --play ]; then play=yes; shift; fi
command=$(realpath "$1")
server=${ORDO_URL:-http://127.0.0.1:7070}

if ! ordo hook show deploy >/dev/null 2>&1; then
    umask 077
    openssl rand -hex 32 > github-secret.txt
    ordo hook add deploy --verify github --secret @github-secret.txt --filter /ref=refs/heads/main
    ordo job add deploy --on-hook deploy --block serial --timeout 15m --on-failure-incident sev3 --resolve-on-recovery \
        -- "$command"
    echo "At GitHub: Settings, Webhooks, Add webhook. Payload URL $server/hooks/deploy,"
    echo "content type application/json, secret: what is in github-secret.txt. Just the push event."
fi
[ "$play" = yes ] || exit 0

push() { # delivery, branch, secret
    body="{\"ref\": \"refs/heads/$2\", \"after\": \"4f2c1a9\"}"
    signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$3" | sed 's/.* //')
    curl -sS -o /dev/null -w "$1 to $2: %{http_code}\n" "$server/hooks/deploy" -H 'Content-Type: application/json' \
        -H 'X-GitHub-Event: push' -H "X-GitHub-Delivery: $1" -H "X-Hub-Signature-256: sha256=$signature" -d "$body"
}
secret=$(cat github-secret.txt)
push first main "$secret"
push first main "$secret"
push second experiment "$secret"
push third main 'not the secret'
sleep 2
ordo hook deliveries deploy
ordo run list --job deploy
ordo run logs deploy
