#!/usr/bin/env bash
# Installs Lintel on a runner: a release whose archive has the checksum that is asked for, or the program that is named.
# Sets the output "lintel", and has later steps of the job find it in their PATH.
set -euo pipefail

fail() {
  printf '::error title=Lintel::%s\n' "$*"
  exit 2
}

# done_with PROGRAM says where it is.
done_with() {
  "$1" version || fail "the program does not run on this runner"
  printf 'lintel=%s\n' "$1" >>"$GITHUB_OUTPUT"
  exit 0
}

if [ -n "$ACTION_LINTEL" ]; then
  program="$(command -v -- "$ACTION_LINTEL")" || fail "the input \"lintel\" names no program that can be run"
  case "$program" in /*) ;; *) program="$PWD/$program" ;; esac
  done_with "$program"
fi

case "$RUNNER_OS" in
  Linux) os=linux ;;
  macOS) os=darwin ;;
  *) fail "this action installs Lintel on Linux and macOS only: name a program with the input \"lintel\"" ;;
esac
case "$RUNNER_ARCH" in
  X64) arch=amd64 ;;
  ARM64) arch=arm64 ;;
  *) fail "there is no release of Lintel for this architecture: name a program with the input \"lintel\"" ;;
esac

release='^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$'
version="$ACTION_VERSION"
if [ -z "$version" ]; then
  version=latest
  [[ ! "$ACTION_REF" =~ $release ]] || version="$ACTION_REF"
fi
if [ "$version" = latest ]; then
  from="${ACTION_RELEASES%/}/latest/download"
elif [[ "$version" =~ $release ]]; then
  from="${ACTION_RELEASES%/}/download/$version"
else
  fail "the input \"version\" is to be a release such as v1.2.3, or latest"
fi
# What comes without encryption proves nothing about itself.
case "$from" in
  https://*) protocol='=https' ;;
  http://*) [ -n "$ACTION_CHECKSUM" ] || fail "releases that come by http need the input \"checksum\""; protocol='=http,https' ;;
  *) fail "the input \"releases\" is to begin with https://" ;;
esac

dir="${RUNNER_TEMP:?}/lintel"
mkdir -p "$dir/bin"
archive="lintel_${os}_$arch.tar.gz"
get() {
  curl --fail --silent --show-error --location --proto "$protocol" --retry 3 --connect-timeout 20 --max-time 300 \
    --output "$dir/$1" "$from/$1" || fail "$1 of the release $version could not be fetched"
}

get "$archive"
if command -v sha256sum >/dev/null; then digest="$(sha256sum <"$dir/$archive")"; else digest="$(shasum -a 256 <"$dir/$archive")"; fi
digest="${digest%% *}"
if [ -n "$ACTION_CHECKSUM" ]; then
  read -r -d '' -a wanted <<<"$ACTION_CHECKSUM" || true
else
  get checksums.txt
  wanted=()
  while read -r sum name; do
    if [ "${name#\*}" = "$archive" ]; then wanted+=("$sum"); fi
  done <"$dir/checksums.txt"
fi
for sum in ${wanted[@]+"${wanted[@]}"}; do
  [ "$sum" = "$digest" ] || continue
  tar -xzf "$dir/$archive" -C "$dir/bin" lintel || fail "$archive has no program"
  rm -f "$dir/$archive" "$dir/checksums.txt"
  printf '%s\n' "$dir/bin" >>"$GITHUB_PATH"
  done_with "$dir/bin/lintel"
done
rm -f "$dir/$archive" # nobody is to find it later
fail "$archive of the release $version has the SHA-256 $digest, which is not the one that is asked for"
