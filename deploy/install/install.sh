#!/bin/sh
# Installs Ordo for this user (or, as root, for everybody): downloads the archive for this machine, compares its checksum,
# unpacks the binary. Nothing is changed unless the checksum is right.
#
#   ORDO_URL      where the release is: a folder with the archives and SHA256SUMS
#   ORDO_VERSION  which version
#   ORDO_BIN      where the binary goes [default: /usr/local/bin as root, otherwise ~/.local/bin]
set -eu

version=${ORDO_VERSION:-@VERSION@}
url=${ORDO_URL:-}

fail() {
  echo "error: $*" >&2
  exit 1
}

target() {
  [ "$(uname -s)" = Linux ] || fail "there are archives for Linux only; build it with: cargo install --path crates/ordo"
  case $(uname -m) in
    x86_64) echo x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) echo aarch64-unknown-linux-gnu ;;
    *) fail "there is no archive for $(uname -m)" ;;
  esac
}

fetch() { # URL FILE
  if command -v curl >/dev/null 2>&1; then
    curl --fail --silent --show-error --location --output "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget --quiet --output-document="$2" "$1"
  else
    fail "neither curl nor wget is here"
  fi
}

main() {
  [ -n "$url" ] || fail "say where the release is: ORDO_URL=https://… sh install.sh"
  archive="ordo-$version-$(target).tar.gz"
  if [ -n "${ORDO_BIN:-}" ]; then bin=$ORDO_BIN
  elif [ "$(id -u)" = 0 ]; then bin=/usr/local/bin
  else bin=$HOME/.local/bin; fi
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  fetch "$url/SHA256SUMS" "$work/SHA256SUMS" || fail "$url/SHA256SUMS cannot be fetched"
  fetch "$url/$archive" "$work/$archive" || fail "$url/$archive cannot be fetched"
  grep " $archive\$" "$work/SHA256SUMS" >"$work/sum" || fail "SHA256SUMS does not name $archive"
  (cd "$work" && sha256sum --check --status sum) || fail "$archive is damaged or not what was released: nothing was installed"
  tar -xzf "$work/$archive" -C "$work"
  mkdir -p "$bin"
  # Beside it first: a daemon that runs keeps the old file, and nobody ever finds half a binary.
  cp "$work/${archive%.tar.gz}/ordo" "$bin/.ordo.new"
  chmod 0755 "$bin/.ordo.new"
  mv "$bin/.ordo.new" "$bin/ordo"
  echo "installed $("$bin/ordo" --version | head -n 1) in $bin"
  case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo "add it to your path: export PATH=\"$bin:\$PATH\"" ;;
  esac
  echo "try it: ordo demo"
}

# Called last: a script that was cut off on its way does nothing.
main
