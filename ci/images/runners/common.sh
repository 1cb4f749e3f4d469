# shellcheck shell=bash
# Shared by the registrations of runners. Sourced, not run.
#
# Tokens come from outside, in a file that only its owner can read, and never appear on a command line, which
# everybody on the machine sees.

say() { echo "${0##*/}: $*" >&2; }
fail() {
    say "$*"
    exit 1
}

# The value of a variable that must be set.
needed() {
    local name="$1"
    [ -n "${!name:-}" ] || fail "$name is not set: $2"
    printf '%s' "${!name}"
}

# The token, from the file that RUNNER_TOKEN_FILE names.
token() {
    local file mode text
    file="$(needed RUNNER_TOKEN_FILE "the file with the token")" || exit 1
    [ -r "$file" ] || fail "the token's file $file cannot be read"
    mode="$(stat -c %a "$file")"
    case "$mode" in
        400 | 600) ;;
        *) fail "the token's file $file can be read by others (mode $mode): chmod 600" ;;
    esac
    text="$(tr -d '[:space:]' < "$file")"
    [ -n "$text" ] || fail "the token's file $file is empty"
    printf '%s' "$text"
}

# Unpacks the runner's archive into the current folder, once, if it is the expected one. The archive comes from
# outside, with its checksum.
unpack_once() {
    local program="$1" archive sum
    [ -x "./$program" ] && return 0
    archive="$(needed RUNNER_ARCHIVE "the runner's archive")" || exit 1
    sum="$(needed RUNNER_SHA256 "the SHA-256 of RUNNER_ARCHIVE")" || exit 1
    [ -f "$archive" ] || fail "there is no $archive"
    echo "$sum  $archive" | sha256sum --check --status || fail "$archive is not what RUNNER_SHA256 says"
    tar --extract --gzip --no-same-owner --file "$archive"
    [ -x "./$program" ] || fail "$archive has no $program"
}

# A runner's name: the machine, and a number unique to this start. A name lasts as long as its registration.
fresh_name() { printf '%s-%s' "$(hostname)" "$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')"; }
