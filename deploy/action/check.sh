#!/usr/bin/env bash
# Runs "lintel check" for the event of a workflow: annotations in the log, a summary of the job, the findings as SARIF.
# Sets the outputs "conclusion" and "sarif", and ends with Lintel's exit code.
set -euo pipefail

# escaped prints one line as the message of a workflow command
# (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands).
escaped() {
  local text="$1"
  text="${text//'%'/%25}" text="${text//$'\r'/%0D}"
  printf '%s' "${text//$'\n'/%0A}"
}

fail() {
  printf '::error title=Lintel::%s\n' "$(escaped "$*")"
  printf 'conclusion=error\nsarif=\n' >>"$GITHUB_OUTPUT"
  exit 2
}

sarif="${ACTION_SARIF_FILE:-$RUNNER_TEMP/lintel.sarif}"
case "$sarif" in *$'\n'*) fail 'the input "sarif-file" has a line break' ;; /*) ;; *) sarif="$PWD/$sarif" ;; esac
cd -- "$ACTION_WORKING_DIRECTORY" || fail 'the input "working-directory" names no folder'
read -r -d '' -a args <<<"$ACTION_ARGS" || true
if [ -n "$ACTION_FAIL_ON" ]; then args+=(--fail-on "$ACTION_FAIL_ON"); fi

# fetch gets commits from where the checkout came from, with what the checkout left to do so, and asks nobody.
fetch() {
  GIT_TERMINAL_PROMPT=0 git fetch --quiet --no-tags --no-recurse-submodules "$@" origin "${want[@]}"
}

# joined BASE: the head and the base have a commit in common, and the history of neither ends before it.
joined() {
  local common
  common="$(git merge-base HEAD "$1" 2>/dev/null)" || return 1
  ! git rev-list HEAD "$1" --not "$common" | grep -qxF -f "$(git rev-parse --git-path shallow)"
}

# complete fetches what the check compares the head with: actions/checkout fetches the head alone, unless it is told
# otherwise.
complete() {
  local head base branch='' depth
  if [ -n "$ACTION_DEFAULT_BRANCH" ]; then # a clone knows its name, a checkout does not
    git symbolic-ref refs/remotes/origin/HEAD "refs/remotes/origin/$ACTION_DEFAULT_BRANCH" || return 1
  fi
  [ "$(git rev-parse --is-shallow-repository)" = true ] || return 0
  head="$(git rev-parse HEAD)"
  want=("$head")
  case "$GITHUB_EVENT_NAME" in
    pull_request | pull_request_target | pull_request_review)
      base='HEAD^1' # of the merge that GitHub made
      if [ "$head" != "$GITHUB_SHA" ]; then branch="$ACTION_BASE_REF"; fi ;;
    merge_group) base="$ACTION_MERGE_BASE" want+=("$ACTION_MERGE_BASE") ;;
    push) base="$ACTION_BEFORE" want+=("$ACTION_BEFORE") ;;
    *) base='' ;;
  esac
  case "$base" in
    '' | 0000000000000000000000000000000000000000) branch="$ACTION_DEFAULT_BRANCH" want=("$head") ;;
  esac
  if [ -n "$branch" ]; then
    base="refs/remotes/origin/$branch"
    want+=("+refs/heads/$branch:$base")
  fi
  for depth in 2 50 500; do # few commits do for most changes
    fetch --depth="$depth" || return 1
    if joined "$base"; then return 0; fi
  done
  fetch --unshallow
}

case " ${args[*]-} " in
  *' --all '* | *' --base '* | *' --base='* | *' --staged '*) ;; # there is nothing to compare with, or the user knows what
  *) complete || echo 'Lintel: what the change is compared with could not be fetched' >&2 ;; # the check says what is missing
esac

found="$(mktemp -d "$RUNNER_TEMP/lintel-XXXXXX")"
trap 'rm -rf "$found"' EXIT
code=0
"$ACTION_LINTEL" check -o github -o "json=$found/json" -o "markdown=$found/markdown" -o "sarif=$found/sarif" \
  ${args[@]+"${args[@]}"} 2>"$found/said" || code=$?
cat "$found/said" >&2

conclusion="$(sed -n 's/^  "conclusion": "\([a-z_]*\)",\{0,1\}$/\1/p' "$found/json" 2>/dev/null || true)"
if [ "$code" -gt 1 ] || [ -z "$conclusion" ]; then
  said="$(sed -n 's/^lintel: //p' "$found/said" | tail -n 1)"
  fail "${said:-the check ended with exit code $code}"
fi
mkdir -p "$(dirname -- "$sarif")"
mv -f -- "$found/sarif" "$sarif"
printf 'conclusion=%s\nsarif=%s\n' "$conclusion" "$sarif" >>"$GITHUB_OUTPUT"

# GitHub takes 1 MiB of a step and shows nothing of what is larger.
most=1000000
if [ "$(wc -c <"$found/markdown")" -le "$most" ]; then
  cat "$found/markdown" >>"$GITHUB_STEP_SUMMARY"
else
  { head -c "$most" "$found/markdown" | sed '$d' && printf '\n\nThe rest is left out for lack of space.\n'; } >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
