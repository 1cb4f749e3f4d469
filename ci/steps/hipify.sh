#!/usr/bin/env bash
# Translates CUDA sources, and fails if something does not translate.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

main() {
    local folder folders=() strict=() status=0
    settings
    if [[ $FLEET_KIND != cuda ]]; then
        echo "$FLEET_COMPONENT has the kind $FLEET_KIND: there is nothing to translate."
        return
    fi
    # Findings name files relative to the repository.
    cd "$FLEET_REPO"
    for folder in "$FLEET_SOURCES" "$FLEET_TESTS" "${FLEET_INCLUDE[@]}"; do
        folder=$FLEET_FOLDER/$folder
        folder=${folder#./}
        if [[ -d $folder ]]; then folders+=("$folder"); fi
    done
    ((${#folders[@]} > 0)) || fail "none of the folders of sources and tests exists: $FLEET_SOURCES, $FLEET_TESTS"
    if [[ $FLEET_STRICT == true ]]; then strict=(--strict); fi

    xtask hipify --check "${strict[@]}" "${FLEET_HIPIFY[@]}" --format sarif "${folders[@]}" > "$FLEET_OUT/hipify.sarif" || status=$?
    ((status <= 1)) || fail "hipify cannot read the sources"
    xtask hipify --examine "${FLEET_HIPIFY[@]}" --format json "${folders[@]}" > "$FLEET_OUT/hipify.json"
    xtask ci findings --sarif "$FLEET_OUT/hipify.sarif" --component "$FLEET_COMPONENT" --system "$FLEET_SYSTEM" --url "$FLEET_URL" \
        --comment "$FLEET_OUT/comment.md" --code-quality "$FLEET_OUT/codequality.json"
    for folder in "${folders[@]}"; do
        xtask hipify --quiet-warnings "${FLEET_HIPIFY[@]}" --output "$FLEET_OUT/hip/$folder/" "$folder"
    done
    ((status == 0)) || fail "CUDA sources of $FLEET_COMPONENT do not translate"
}

step "$0"
