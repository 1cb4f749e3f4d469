#!/usr/bin/env bash
# Runs one GitLab job in a container, as a runner created in GitLab (its token begins with glrt-), and ends.
#
#   RUNNER_URL         the instance
#   RUNNER_TOKEN_FILE  a file with the runner's token
#   RUNNER_IMAGE       the image of jobs that name none
#   RUNNER_HOME        a folder for its configuration
#   RUNNER_WAIT        seconds to wait for a job [1800]
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=common.sh
source "$here/common.sh"

home="$(needed RUNNER_HOME "a folder for the configuration")"
url="$(needed RUNNER_URL "the instance")"
image="$(needed RUNNER_IMAGE "the image of jobs that name none")"
command -v gitlab-runner > /dev/null || fail "gitlab-runner is not installed"
mkdir -p "$home"
cd "$home"
CI_SERVER_TOKEN="$(token)"
export CI_SERVER_TOKEN
devices=()
# Containers get the GPU if there is one.
for device in "${ROOT:-}/dev/kfd" "${ROOT:-}/dev/dri"; do
    if [ -e "$device" ]; then devices+=(--docker-devices "$device"); fi
done
exec gitlab-runner run-single --url "$url" --name "$(hostname)" --executor docker --docker-image "$image" \
    --max-builds 1 --wait-timeout "${RUNNER_WAIT:-1800}" ${devices[@]+"${devices[@]}"}
