#!/usr/bin/env bash
# Registers this machine as a GitHub runner for one job, runs the job, and ends. When started again, it registers again.
#
#   RUNNER_URL         the repository or organisation
#   RUNNER_TOKEN_FILE  a file with a registration token
#   RUNNER_LABELS      such as self-hosted,gpu,gfx942
#   RUNNER_HOME        the runner's folder
#   RUNNER_ARCHIVE, RUNNER_SHA256   its archive, if the folder is empty
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=common.sh
source "$here/common.sh"

home="$(needed RUNNER_HOME "the runner's folder")"
url="$(needed RUNNER_URL "the repository or organisation")"
labels="$(needed RUNNER_LABELS "labels, such as self-hosted,gpu,gfx942")"
mkdir -p "$home"
cd "$home"
unpack_once config.sh
if [ -f .runner ]; then
    say "the registration of an earlier start is used: it has had no job"
else
    # An ephemeral runner takes one job; then GitHub and the runner delete the registration.
    ACTIONS_RUNNER_INPUT_TOKEN="$(token)"
    export ACTIONS_RUNNER_INPUT_TOKEN
    ./config.sh --unattended --ephemeral --disableupdate --replace \
        --url "$url" --labels "$labels" --name "$(fresh_name)" --work _work
    unset ACTIONS_RUNNER_INPUT_TOKEN
fi
exec ./run.sh
