# shellcheck shell=bash
# Shared by all steps: their inputs, their logs, and how they call this project's programs.
# A step defines `main` and ends with `step "$0"`.
set -euo pipefail

# Azure does not expand unknown macros, and GitLab does not expand unknown variables.
for name in FLEET_BASE FLEET_CHANGE FLEET_TOKEN FLEET_STORE_TOKEN FLEET_DOWNSTREAM_TOKEN FLEET_STORE FERROCM_SIGNING_KEY FERROCM_SIGNING_PASSWORD; do
    value=${!name:-}
    case $value in \$\(* | \$CI_*) value= ;; esac
    printf -v "$name" '%s' "$value"
    export "${name?}"
done
unset name value

fail() {
    echo "error: $*" >&2
    exit 1
}

for name in FLEET_HOME FLEET_REPO FLEET_COMPONENT FLEET_OUT FLEET_SYSTEM; do
    [[ -n ${!name:-} ]] || fail "$name is not set; docs/use/fleet.md says what steps read, and \`cargo xtask ci run\` sets it"
done
: "${FLEET_IN:=$FLEET_OUT/none}" "${FLEET_CACHE:=}" "${FLEET_ROW:=}" "${FLEET_TARGET:=}" "${FLEET_DEVICE:=}"
: "${FLEET_BUILD_ROW:=}" "${FLEET_SHARD:=1/1}" "${FLEET_GPUS:=0}" "${FLEET_REF:=}" "${FLEET_URL:=}" "${FLEET_API:=}"
: "${FLEET_REPOSITORY:=$(basename "$FLEET_REPO")}" "${FLEET_BUILD:=local}" "${FLEET_STAGE:=}" "${FLEET_OS:=}" "${FLEET_ROCM:=}"
export FLEET_IN FLEET_ROW FLEET_TARGET FLEET_DEVICE FLEET_BUILD_ROW FLEET_SHARD FLEET_GPUS FLEET_REF FLEET_URL
export FLEET_REPOSITORY FLEET_BUILD FLEET_STAGE FLEET_OS FLEET_ROCM

# One name for each event, whatever the system calls it.
case ${FLEET_EVENT:-local} in
    pull_request* | PullRequest | merge_request_event | pull-request) FLEET_EVENT=pull-request ;;
    schedule | Schedule | nightly) FLEET_EVENT=nightly ;;
    local) FLEET_EVENT=local ;;
    tag) FLEET_EVENT=tag ;;
    *)
        case $FLEET_REF in refs/tags/*) FLEET_EVENT=tag ;; *) FLEET_EVENT=push ;; esac
        ;;
esac
export FLEET_EVENT
if [[ -z ${FLEET_TIER:-} ]]; then
    case $FLEET_EVENT in pull-request | local) FLEET_TIER=quick ;; nightly | tag) FLEET_TIER=full ;; *) FLEET_TIER=standard ;; esac
fi
export FLEET_TIER

# Git in the component's checkout, which belongs to someone else in a container.
repo_git() {
    git -c safe.directory='*' -C "$FLEET_REPO" "$@"
}

if [[ -z ${FLEET_COMMIT:-} ]]; then
    FLEET_COMMIT=$(repo_git rev-parse HEAD) || fail "$FLEET_REPO is not a git checkout"
fi
[[ -n $FLEET_REF ]] || FLEET_REF=$(repo_git rev-parse --abbrev-ref HEAD)
export FLEET_COMMIT FLEET_REF

# Caches between builds are in one folder; on a developer's machine, they stay in their usual place.
if [[ -n $FLEET_CACHE ]]; then
    mkdir -p "$FLEET_CACHE"
    export FERROCM_CACHE=$FLEET_CACHE/ferrocm CCACHE_DIR=$FLEET_CACHE/ccache SCCACHE_DIR=$FLEET_CACHE/sccache
    if command -v sccache > /dev/null; then export RUSTC_WRAPPER=sccache; fi
    if command -v ccache > /dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
fi

# This project's own commands.
xtask() {
    if [[ -n ${FLEET_XTASK:-} ]]; then
        "$FLEET_XTASK" "$@"
    elif [[ -n $FLEET_CACHE ]]; then
        CARGO_TARGET_DIR=$FLEET_CACHE/tools cargo run --quiet --locked --manifest-path "$FLEET_HOME/Cargo.toml" --package xtask -- "$@"
    else
        cargo run --quiet --locked --manifest-path "$FLEET_HOME/Cargo.toml" --package xtask -- "$@"
    fi
}

# The component's settings, which `settings` fills in, for the step that sources this.
# shellcheck disable=SC2034
FLEET_KIND='' FLEET_FOLDER=. FLEET_PLACE='' FLEET_SOURCES='' FLEET_TESTS='' FLEET_BASELINE='' FLEET_STRICT=false FLEET_CHECKS='' FLEET_TEST_TIMEOUT=300
# shellcheck disable=SC2034
FLEET_INCLUDE=() FLEET_LIMITS=() FLEET_FLAGS=() FLEET_COMMANDS=() FLEET_HIPIFY=() FLEET_DISABLED=() FLEET_DEPENDS=() FLEET_DEPENDENTS=()
FLEET_STORE=${FLEET_STORE:-}

settings() {
    local text
    text=$(xtask ci variables --component "$FLEET_COMPONENT" --repo "$FLEET_REPO") || fail "the settings of $FLEET_COMPONENT cannot be read"
    eval "$text"
    FLEET_PLACE=$FLEET_REPO/$FLEET_FOLDER
    FLEET_PLACE=${FLEET_PLACE%/.}
    [[ -d $FLEET_PLACE ]] || fail "$FLEET_COMPONENT is to be in the folder $FLEET_FOLDER of $FLEET_REPO, which is not there"
}

# Sets a value for later jobs of a pipeline.
output() {
    echo "$1=$2"
    case $FLEET_SYSTEM in
        github) echo "$1=$2" >> "$GITHUB_OUTPUT" ;;
        azure) echo "##vso[task.setvariable variable=$1;isOutput=true]$2" ;;
    esac
}

# Runs `main`, and keeps its output and status for the summary.
step() {
    local name status
    name=$(basename "$1" .sh)
    mkdir -p "$FLEET_OUT/log"
    echo "--- $name${FLEET_ROW:+ $FLEET_ROW}"
    set +e
    # A subshell, so that the first command that fails ends it.
    (
        set -e
        main
    ) 2>&1 | tee "$FLEET_OUT/log/$name.log"
    status=${PIPESTATUS[0]}
    set -e
    echo "$status" > "$FLEET_OUT/log/$name.status"
    exit "$status"
}
