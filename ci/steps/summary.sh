#!/usr/bin/env bash
# The summary of the job: what failed, which kernel and where, and how to see it again.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

main() {
    xtask ci summary --from "$FLEET_OUT" --out "$FLEET_OUT/summary.md"
    case $FLEET_SYSTEM in
        github) cat "$FLEET_OUT/summary.md" >> "$GITHUB_STEP_SUMMARY" ;;
        azure) echo "##vso[task.uploadsummary]$FLEET_OUT/summary.md" ;;
        *) cat "$FLEET_OUT/summary.md" ;;
    esac
}

step "$0"
