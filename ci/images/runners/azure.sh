#!/usr/bin/env bash
# Registers this machine as an agent in a pool of Azure Pipelines, runs one job, and removes it from the pool.
#
#   RUNNER_URL         the organisation
#   RUNNER_TOKEN_FILE  a file with a token that may manage agents
#   RUNNER_POOL        the pool
#   RUNNER_HOME        the agent's folder
#   RUNNER_ARCHIVE, RUNNER_SHA256   its archive, if the folder is empty
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=common.sh
source "$here/common.sh"

home="$(needed RUNNER_HOME "the agent's folder")"
url="$(needed RUNNER_URL "the organisation")"
pool="$(needed RUNNER_POOL "the pool")"
mkdir -p "$home"
cd "$home"
unpack_once config.sh
# The agent hides settings passed like this from jobs.
VSTS_AGENT_INPUT_TOKEN="$(token)"
export VSTS_AGENT_INPUT_TOKEN

leave() {
    local status=$?
    trap - EXIT
    if [ -f .agent ]; then
        ./config.sh remove --unattended --auth pat || say "the agent could not be taken out of $pool"
    fi
    exit "$status"
}
trap leave EXIT

if [ -f .agent ]; then
    say "the registration of an earlier start is used"
else
    ./config.sh --unattended --acceptTeeEula --replace --auth pat \
        --url "$url" --pool "$pool" --agent "$(fresh_name)" --work _work
fi
./run.sh --once
