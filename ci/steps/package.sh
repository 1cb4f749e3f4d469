#!/usr/bin/env bash
# Packs what was built into an archive that is equal for equal files, with a manifest.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

main() {
    local stage build row part
    settings
    stage=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$stage'" EXIT
    for build in "$FLEET_IN"/compile-*; do
        [[ -d $build ]] || fail "no build is there; the stage compile makes them"
        row=${build##*/compile-}
        mkdir -p "$stage/$row"
        # Test programs are not part of it.
        for part in lib code include kernels.json; do
            if [[ -e $build/$part ]]; then cp -R "$build/$part" "$stage/$row/"; fi
        done
        # Of a Rust crate, the sources are the package.
        if [[ $FLEET_KIND == cargo ]]; then echo "built and tested at commit $FLEET_COMMIT" > "$stage/$row/built.txt"; fi
    done
    if [[ $FLEET_KIND == cargo ]]; then
        mkdir "$stage/source"
        repo_git archive --format=tar HEAD "$FLEET_FOLDER" | tar --extract --directory "$stage/source"
    fi
    xtask ci package --component "$FLEET_COMPONENT" --files "$stage" --out "$FLEET_OUT"
    (cd "$FLEET_OUT" && sha256sum "$FLEET_COMPONENT.tar.gz" > "$FLEET_COMPONENT.tar.gz.sha256")
    cat "$FLEET_OUT/$FLEET_COMPONENT.tar.gz.sha256"
}

step "$0"
