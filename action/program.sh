#!/usr/bin/env bash
# Finds the rollout program: the one that is named, a release that is checked against its checksum, from the tool cache or from
# the server, or one built from the action's own source where the action is used by branch or commit.
set -euo pipefail

tool_cache=${RUNNER_TOOL_CACHE:-$RUNNER_TEMP/tool-cache}

fail() {
  printf '::error title=rollout::%s\n' "$1"
  exit 2
}

found() {
  "$1" --version >&2 || fail "$1 does not run here"
  printf 'path=%s\n' "$1" >>"$GITHUB_OUTPUT"
  exit 0
}

target() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo x86_64-unknown-linux-gnu ;;
    Linux-aarch64) echo aarch64-unknown-linux-gnu ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    *) fail "no release for $(uname -s) on $(uname -m); build the program and name it with the input binary" ;;
  esac
}

digest_of() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# The checksum of an archive: the input's, else the one that stands beside this script.
expected_digest() {
  if [ -n "$INPUT_CHECKSUM" ]; then
    echo "$INPUT_CHECKSUM"
  else
    awk -v name="$1" '$2 == name { print $1 }' "$GITHUB_ACTION_PATH/action/checksums.txt"
  fi
}

release() {
  local version=$1 target archive expected kept unpacked
  target=$(target)
  archive=rollout-$version-$target.tar.gz
  expected=$(expected_digest "$archive")
  [ -n "$expected" ] || fail "there is no checksum for $archive; give it with the input checksum, or use another version"
  kept=$tool_cache/rollout/$version/$archive
  unpacked=$(mktemp -d "$RUNNER_TEMP/rollout.XXXXXX")
  # Other jobs may write to the tool cache: what is in there is copied first, and is only believed by its checksum.
  cp "$kept" "$unpacked/$archive" 2>/dev/null || true
  if ! is_expected "$unpacked/$archive" "$expected"; then
    curl --fail --silent --show-error --location --retry 5 --retry-all-errors --max-time 300 --output "$unpacked/$archive" \
      "$GITHUB_SERVER_URL/$ACTION_REPOSITORY/releases/download/$version/$archive" || fail "cannot download $archive"
    is_expected "$unpacked/$archive" "$expected" || fail "$archive is not what its checksum says; nothing was run"
    { mkdir -p "${kept%/*}" && cp "$unpacked/$archive" "$kept"; } || echo "the tool cache takes no $archive" >&2
  fi
  tar -xzf "$unpacked/$archive" -C "$unpacked" rollout
  rm -f "$unpacked/$archive"
  found "$unpacked/rollout"
}

is_expected() { [ -f "$1" ] && [ "$(digest_of "$1")" = "$2" ]; }

build() {
  local folder
  command -v cargo >/dev/null || fail "the action is used by branch or commit, and there is no cargo to build it; use a release, or name a program with the input binary"
  # Of this job alone: other jobs may write to the tool cache.
  folder=$RUNNER_TEMP/rollout-source
  echo "::group::Build rollout from source" >&2
  # Not from the pull request's folder: cargo and rustup would read their configuration there, which can name programs to run.
  (cd "$GITHUB_ACTION_PATH" && cargo build --release --locked --no-default-features --target-dir "$folder") >&2 || fail "rollout cannot be built here; the log says why"
  echo "::endgroup::" >&2
  found "$folder/release/rollout"
}

[ -n "$INPUT_BINARY" ] && found "$INPUT_BINARY"
version=${INPUT_VERSION:-$ACTION_REF}
case "$version" in
  v[0-9]*.[0-9]*.[0-9]*) release "$version" ;;
  *)
    [ -z "$INPUT_VERSION" ] || fail "the input version is a release such as v1.2.3, not $INPUT_VERSION"
    build
    ;;
esac
