#!/usr/bin/env bash
# Renders the change once for each reader: annotations, comment, page, programs. Then checks or commits the plans.
# The step itself succeeds; the answer is the output exit-code, which the action's last step gives back.
set -euo pipefail

# A step summary longer than 1024 KiB is dropped whole.
summary_limit=$((900 * 1024))

reports=$(mktemp -d "$RUNNER_TEMP/rollout-report.XXXXXX")
base=()
[ -z "$INPUT_BASE" ] || base=(--base "$INPUT_BASE")
out=(--out)
[ -z "$INPUT_OUT" ] || out=(--out "$INPUT_OUT")
exit_code=0

output() { printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

asked_for() { [[ ",${INPUT_MODE// /}," == *",$1,"* ]]; }

# Keeps the gravest of the exit codes.
remember() { if [ "$1" -gt "$exit_code" ]; then exit_code=$1; fi; }

# Runs the program, with its findings on standard error; remembers how it ended.
rollout() {
  local code=0
  "$PROGRAM" render "$INPUT_PATH" "${base[@]+"${base[@]}"}" --fail-on "$INPUT_FAIL_ON" "$@" || code=$?
  remember "$code"
}

# The same once more, in another format: what it says about findings was said.
quietly() { rollout "$@" 2>/dev/null; }

for mode in ${INPUT_MODE//,/ }; do
  case "$mode" in
    comment | check | commit | none) ;;
    *) printf '::error title=rollout::the input mode knows comment, check, commit, post and none, not %q\n' "$mode"; output exit-code 2; exit 0 ;;
  esac
done

rollout --changed --format json >"$reports/report.json"
if [ "$exit_code" -eq 2 ]; then
  printf '::error title=rollout::no answer could be given; the log says why\n'
  output exit-code 2
  exit 0
fi

# What people look at is the pull request's own commit, not its trial merge.
head=()
sha=$(jq -r '.pull_request.head.sha // empty' "$GITHUB_EVENT_PATH" 2>/dev/null || true)
[ -z "$sha" ] || head=(--head "$sha")

# With a check, a plan that is not up to date is an annotation, too.
if asked_for check; then rollout "${out[@]}" --check --format github; else quietly --changed --format github; fi
quietly --changed --format markdown --comment-key "$INPUT_COMMENT_KEY" "${head[@]+"${head[@]}"}" >"$reports/comment.md"
quietly --changed --format html "${head[@]+"${head[@]}"}" >"$reports/report.html"

if [ "$(wc -c <"$reports/comment.md")" -le "$summary_limit" ]; then
  cat "$reports/comment.md" >>"$GITHUB_STEP_SUMMARY"
fi

count() { jq "$1" "$reports/report.json"; }
released=$(count '[.plans[] | select(.plan.spec.release != null)] | length')
output changed "$([ "$released" -gt 0 ] && echo true || echo false)"
output rollouts "$(count '.plans | length')"
output errors "$(count '[.findings[] | select(.severity == "error")] | length')"
output warnings "$(count '[.findings[] | select(.severity == "warning")] | length')"
output json-path "$reports/report.json"
output comment-path "$reports/comment.md"
output html-path "$reports/report.html"

if asked_for commit; then
  branch=()
  [ -z "$INPUT_BRANCH" ] || branch=(--branch "$INPUT_BRANCH")
  # Diffs are for the reports: a workflow obeys some of what it logs.
  rollout "${out[@]}" --commit "${branch[@]+"${branch[@]}"}" --push >/dev/null
fi

output exit-code "$exit_code"
