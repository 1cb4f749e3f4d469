#!/usr/bin/env bash
# Decides what runs: the tier, whether files of the component have changed, the rows of the matrix.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

# Whether the build is for a pull request that changes none of the component's files.
unchanged() {
    local base paths
    [[ $FLEET_EVENT == pull-request && -n $FLEET_BASE ]] || return 1
    mapfile -t paths < "$FLEET_HOME/ci/matrix/$FLEET_COMPONENT/paths.txt"
    ((${#paths[@]} > 0)) || return 1
    base=$FLEET_BASE
    # Azure names a branch, the others a commit.
    if ! repo_git rev-parse --quiet --verify "$base^{commit}" > /dev/null; then base=origin/${base#refs/heads/}; fi
    repo_git rev-parse --quiet --verify "$base^{commit}" > /dev/null || fail "the base $FLEET_BASE is not in the checkout; fetch it with all of its history"
    repo_git diff --quiet "$base...HEAD" -- "${paths[@]/#/:(glob)}"
}

main() {
    local matrix=$FLEET_HOME/ci/matrix/$FLEET_COMPONENT list
    [[ -d $matrix ]] || fail "no component $FLEET_COMPONENT; there are: $(ls "$FLEET_HOME/ci/matrix")"
    echo "component $FLEET_COMPONENT of $FLEET_REPOSITORY, $FLEET_REF, commit $FLEET_COMMIT, for: $FLEET_EVENT"
    output tier "$FLEET_TIER"
    if unchanged; then
        echo "The pull request changes none of the component's files; nothing else runs."
        output changed false
    else
        output changed true
    fi
    for list in builds tests pools; do
        [[ -f $matrix/$FLEET_TIER-$list.json ]] || fail "no tier $FLEET_TIER; there are quick, standard and full"
        # Azure and GitLab have the rows in their templates.
        if [[ $FLEET_SYSTEM == github ]]; then
            output "$list" "$(tr -d '\n' < "$matrix/$FLEET_TIER-$list.json")"
        else
            echo "$list: $(grep -c '"id"' "$matrix/$FLEET_TIER-$list.json" || true)"
        fi
    done
}

step "$0"
