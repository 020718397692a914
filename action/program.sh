#!/usr/bin/env bash
# Finds the rollout program: the one that is named, the one in the tool cache, a release that is checked against its
# checksum, or one built from the action's own source where the action is used by branch or commit.
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
  local version=$1 target archive expected folder unpacked
  target=$(target)
  archive=rollout-$version-$target.tar.gz
  expected=$(expected_digest "$archive")
  [ -n "$expected" ] || fail "there is no checksum for $archive; give it with the input checksum, or use another version"
  # The checksum is part of the name: an archive that was checked once is the same forever.
  folder=$tool_cache/rollout/$version/$target-${expected:0:16}
  [ -x "$folder/rollout" ] && found "$folder/rollout"
  unpacked=$(mktemp -d "$RUNNER_TEMP/rollout.XXXXXX")
  curl --fail --silent --show-error --location --retry 5 --retry-all-errors --max-time 300 --output "$unpacked/$archive" \
    "$GITHUB_SERVER_URL/$ACTION_REPOSITORY/releases/download/$version/$archive" || fail "cannot download $archive"
  [ "$(digest_of "$unpacked/$archive")" = "$expected" ] || fail "$archive is not what its checksum says; nothing was run"
  tar -xzf "$unpacked/$archive" -C "$unpacked" rollout
  mkdir -p "$folder"
  mv -f "$unpacked/rollout" "$folder/rollout"
  rm -rf "$unpacked"
  found "$folder/rollout"
}

build() {
  local folder
  command -v cargo >/dev/null || fail "the action is used by branch or commit, and there is no cargo to build it; use a release, or name a program with the input binary"
  folder=$tool_cache/rollout/source
  echo "::group::Build rollout from source" >&2
  cargo build --release --locked --no-default-features --manifest-path "$GITHUB_ACTION_PATH/Cargo.toml" --target-dir "$folder" >&2
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
