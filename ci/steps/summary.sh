#!/usr/bin/env bash
# Writes the summary of the job: failures, faulting kernels with their places, and how to reproduce them.
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
