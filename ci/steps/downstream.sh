#!/usr/bin/env bash
# Starts the builds of the components that depend on this one.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

main() {
    local dependent repository branch
    settings
    if ((${#FLEET_DEPENDENTS[@]} == 0)); then
        echo "No component depends on $FLEET_COMPONENT."
        return
    fi
    for dependent in "${FLEET_DEPENDENTS[@]}"; do
        repository=${dependent%@*} branch=${dependent##*@}
        case $FLEET_SYSTEM in
            github)
                [[ -n $FLEET_DOWNSTREAM_TOKEN ]] || fail "there is no token to start the build of $repository with (FLEET_DOWNSTREAM_TOKEN)"
                curl --fail --silent --show-error --retry 3 --request POST --header "Authorization: Bearer $FLEET_DOWNSTREAM_TOKEN" \
                    --header 'Content-Type: application/json' --data "{\"event_type\": \"fleet-upstream\", \"client_payload\": {\"component\": \"$FLEET_COMPONENT\", \"commit\": \"$FLEET_COMMIT\"}}" \
                    "$FLEET_API/repos/$repository/dispatches"
                echo "started: $repository"
                ;;
            gitlab)
                [[ -n $FLEET_DOWNSTREAM_TOKEN ]] || fail "there is no token to start the build of $repository with (FLEET_DOWNSTREAM_TOKEN)"
                curl --fail --silent --show-error --retry 3 --request POST --header "PRIVATE-TOKEN: $FLEET_DOWNSTREAM_TOKEN" \
                    --form "ref=$branch" --form "variables[][key]=FLEET_TIER" --form "variables[][value]=standard" \
                    "$FLEET_API/projects/${repository//\//%2F}/pipeline" > /dev/null
                echo "started: $repository"
                ;;
            azure) echo "$repository starts by itself: its stub names this pipeline among its resources." ;;
            local) echo "In a pipeline, a build of $repository would start now." ;;
            *) fail "no system $FLEET_SYSTEM" ;;
        esac
    done
}

step "$0"
