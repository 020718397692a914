#!/usr/bin/env bash
# Keeps one comment on the pull request for each key: found by its first line and its author, edited in place.
# A comment is a service, not the answer: what cannot be posted is a notice or a warning, never a failed job.
set -euo pipefail

# The first line names the key, and then what changes from push to push: `<!-- rollout:v1 {"key":"…","head":"…",…} -->`.
marker=$(head -n 1 "$COMMENT_FILE" | sed -n 's/^\(<!-- rollout:v1 {"key":"[^"]*",\).* -->$/\1/p')
work=$(mktemp -d "$RUNNER_TEMP/rollout-comment.XXXXXX")
most_pages=50

notice() { printf '::notice title=rollout::%s\n' "$1"; exit 0; }
warn() { printf '::warning title=rollout::%s\n' "$1"; exit 0; }

# Calls the API, and again where that may help: METHOD PATH [FILE WITH THE BODY]. Sets `status`; the answer is $work/answer.
call() {
  local method=$1 url=$GITHUB_API_URL$2 body=${3:-} try wait
  for try in 1 2 3 4 5; do
    : >"$work/headers"
    # The token goes in by standard input: arguments are for everybody to see.
    status=$(printf 'header = "Authorization: Bearer %s"\n' "$INPUT_TOKEN" | curl --config - --silent --show-error \
      --request "$method" --header 'Accept: application/vnd.github+json' --header 'X-GitHub-Api-Version: 2022-11-28' \
      ${body:+--header 'Content-Type: application/json' --data-binary "@$body"} \
      --max-time 60 --dump-header "$work/headers" --output "$work/answer" --write-out '%{http_code}' "$url") || status=000
    case "$status" in
      429 | 500 | 502 | 503 | 504 | 000) ;;
      403) grep -qi '^retry-after:\|^x-ratelimit-remaining: 0' "$work/headers" || return 0 ;;
      *) return 0 ;;
    esac
    [ "$try" -lt 5 ] || return 0
    wait=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,4\}\).*/\1/p' "$work/headers" | head -n 1)
    wait=${wait:-$((2 ** (try - 1)))}
    [ "$wait" -le 60 ] || wait=60
    sleep "$wait"
  done
}

is_good() { [[ $status == 2?? ]]; }

# What is wrong, in the words of the API, on one line and without anything that the log would obey.
reason() {
  local said
  said=$(jq -r '.message? // empty' "$work/answer" 2>/dev/null | tr -d '\r\n%' | cut -c 1-200)
  printf '%s%s' "the API answers $status" "${said:+: $said}"
}

number=$INPUT_PULL_REQUEST
[ -n "$number" ] || number=$(jq -r '.pull_request.number // .number // empty' "$GITHUB_EVENT_PATH" 2>/dev/null || true)
[[ $number =~ ^[0-9]+$ ]] || notice "this is no pull request, so there is no comment; the step summary shows the same"
[ -n "$marker" ] || warn "the file of the comment is not one that rollout wrote; nothing was posted"

repository=/repos/$GITHUB_REPOSITORY
head=$INPUT_HEAD
[ -n "$head" ] || head=$(jq -r '.pull_request.head.sha // empty' "$GITHUB_EVENT_PATH" 2>/dev/null || true)
if [ -n "$head" ]; then
  call GET "$repository/pulls/$number"
  is_good || warn "cannot read pull request $number: $(reason)"
  now=$(jq -r '.head.sha // empty' "$work/answer" | tr -cd '0-9a-f')
  [ "$now" = "$head" ] || notice "pull request $number has moved on to $now; the comment about an older commit was not posted"
fi

# Who we are: an app's token may not ask REST, and is github-actions where it may not ask at all.
printf '{"query": "{viewer{login}}"}' >"$work/query"
call POST /graphql "$work/query"
login=$(is_good && jq -r '.data.viewer.login // empty' "$work/answer" || true)
login=${login:-github-actions}

comment=""
for ((page = 1; page <= most_pages; page++)); do
  call GET "$repository/issues/$number/comments?per_page=100&page=$page"
  is_good || break
  own=$(jq -c --arg marker "$marker" --arg login "${login%\[bot\]}" \
    '[.[] | select((.user.login // "" | rtrimstr("[bot]")) == $login) | select((.body // "") | startswith($marker))] | last // empty' "$work/answer")
  [ -z "$own" ] || comment=$own
  [ "$(jq length "$work/answer")" -eq 100 ] || break
done
if ! is_good; then
  [ "$status" = 403 ] && notice "the token may not read comments (a fork's is read-only), so there is no comment; the step summary shows the same"
  warn "cannot read the comments of pull request $number: $(reason)"
fi

if [ -z "$comment" ] && [ "$HAS_NEWS" = false ]; then
  echo "nothing to say, and no comment that says otherwise"
  exit 0
fi

jq -Rs '{body: .}' "$COMMENT_FILE" >"$work/body"
if [ -n "$comment" ]; then
  if jq -e --rawfile body "$COMMENT_FILE" '(.body | gsub("\r\n"; "\n") | rtrimstr("\n")) == ($body | rtrimstr("\n"))' <<<"$comment" >/dev/null; then
    echo "the comment is up to date"
    printf 'comment-url=%s\n' "$(jq -r .html_url <<<"$comment")" >>"$GITHUB_OUTPUT"
    exit 0
  fi
  call PATCH "$repository/issues/comments/$(jq -r .id <<<"$comment")" "$work/body"
  # Somebody deleted it in between.
  [ "$status" = 404 ] && comment=""
fi
if [ -z "$comment" ]; then call POST "$repository/issues/$number/comments" "$work/body"; fi

if ! is_good; then
  [ "$status" = 403 ] && notice "the token may not comment (a fork's is read-only), so there is no comment; the step summary shows the same"
  warn "cannot comment on pull request $number: $(reason)"
fi
printf 'comment-url=%s\n' "$(jq -r .html_url "$work/answer")" >>"$GITHUB_OUTPUT"
