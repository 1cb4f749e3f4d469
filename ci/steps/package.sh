#!/usr/bin/env bash
# Runs the component's own packaging commands, then packs the build into a reproducible archive, with a manifest. All
# packages get checksums.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

# Runs the component's own commands.
own_packages() {
    local line variables
    variables=("FLEET_PACKAGES=$1" "FLEET_DEPENDENCIES=$FLEET_IN/dependencies/components" "FLEET_HIP=$FLEET_IN/dependencies/dropin")
    if [[ -n $FLEET_CACHE ]]; then variables+=("CARGO_TARGET_DIR=$FLEET_CACHE/target"); fi
    for line in "${FLEET_COMMANDS[@]}"; do
        echo "+ $line"
        (cd "$FLEET_PLACE" && env "${variables[@]}" bash -euo pipefail -c "$line") \
            || fail "a command of \`package\` in .ferrocm/fleet.toml ended with $?: $line"
    done
}

# Lays out the build for the archive.
stage() {
    local build row part
    for build in "$FLEET_IN"/compile-*; do
        [[ -d $build ]] || fail "there is no build; the stage compile makes them"
        row=${build##*/compile-}
        mkdir -p "$1/$row"
        # Test programs are not included.
        for part in lib code include kernels.json; do
            if [[ -e $build/$part ]]; then cp -R "$build/$part" "$1/$row/"; fi
        done
        # For a Rust crate, the sources are the package.
        if [[ $FLEET_KIND == cargo ]]; then echo "built and tested at commit $FLEET_COMMIT" > "$1/$row/built.txt"; fi
    done
    if [[ $FLEET_KIND == cargo ]]; then
        mkdir "$1/source"
        repo_git archive --format=tar HEAD "$FLEET_FOLDER" | tar --extract --directory "$1/source"
    fi
}

main() {
    local stage files=$FLEET_OUT/files bill=()
    settings
    stage=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$stage'" EXIT
    mkdir -p "$files"
    # The key is for `publish`, which runs only for nightly builds and tags.
    unset FERROCM_SIGNING_KEY FERROCM_SIGNING_PASSWORD
    own_packages "$files"
    stage "$stage"
    xtask ci package --component "$FLEET_COMPONENT" --files "$stage" --out "$files"
    if [[ $FLEET_KIND == cargo ]]; then bill=(--workspace "$FLEET_PLACE"); fi
    xtask ci seal --component "$FLEET_COMPONENT" --files "$files" "${bill[@]}"
    cat "$files/SHA256SUMS"
}

step "$0"
