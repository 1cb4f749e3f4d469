#!/usr/bin/env bash
# Keeps the container of a failed job, as an archive of its files. Obstacles are reported and do not fail the step.
# ROOT is another root folder, for tests.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

# GitLab stops after-scripts after 5 minutes.
SECONDS_FOR_EXPORT=240

# The id of the container that this runs in: some files are mounted from a folder with its name.
container() {
    sed -n 's|.*[/-]containers/\([0-9a-f]\{64\}\)/.*|\1|p' "${ROOT:-}/proc/self/mountinfo" | head -n 1
}

# Docker or podman, whichever is available and knows the container.
program() {
    local program
    for program in docker podman; do
        if command -v "$program" > /dev/null && timeout 20 "$program" container inspect "$1" > /dev/null 2>&1; then
            echo "$program"
            return
        fi
    done
}

main() {
    local mebibytes=${FLEET_CONTAINER_LIMIT:-0} file=$FLEET_OUT/container.tar.gz id program limit size status
    if [[ $FLEET_SYSTEM == local ]]; then
        echo "The job does not run in its own container."
        return
    fi
    if ((mebibytes == 0)); then
        echo "No container is kept: fleet.container-limit of ci/fleet.toml is 0."
        return
    fi
    id=$(container)
    if [[ -z $id ]]; then
        echo "No container is kept: the list of mounts does not name the job's container."
        return
    fi
    program=$(program "$id")
    if [[ -z $program ]]; then
        echo "The container is not kept: neither docker nor podman is here and knows $id."
        return
    fi
    limit=$((mebibytes * 1024 * 1024))
    # Not `commit`: an image includes the container's environment, which may contain tokens.
    set +e
    timeout "$SECONDS_FOR_EXPORT" "$program" container export "$id" | gzip --fast | head --bytes=$((limit + 1)) > "$file"
    status=("${PIPESTATUS[@]}")
    set -e
    size=$(wc --bytes < "$file")
    if ((size > limit)); then
        rm "$file"
        echo "The container is not kept: packed, it is larger than $mebibytes MiB (fleet.container-limit of ci/fleet.toml)."
    elif ((status[0] != 0 || status[1] != 0)); then
        rm "$file"
        echo "The container is not kept: $program cannot export it (${status[0]}), or it cannot be packed (${status[1]})."
    else
        echo "The container is container.tar.gz of what this job leaves ($((size / 1024 / 1024)) MiB). To be in it again:"
        echo "$program import --change 'ENV PATH=$PATH' container.tar.gz failed-job && $program run --rm --interactive --tty failed-job bash"
    fi
}

step "$0"
