#!/usr/bin/env bash
# Compiles kernels and programs for one target.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

compile_cuda() {
    local tree options=() link=() against=() limits=() flags=() value status=0
    # Compiles the component with the sources from hipify.
    tree=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$tree'" EXIT
    (cd "$FLEET_REPO" && tar --create --exclude=./.git --exclude=./.fleet --exclude=./target .) | tar --extract --directory "$tree"
    cp -R "$FLEET_IN/hipify/hip/." "$tree/"
    cd "$tree/$FLEET_FOLDER"
    for value in "${FLEET_INCLUDE[@]}"; do options+=(--include "$PWD/$value"); done
    for value in "${FLEET_DEPENDS[@]}"; do
        value=$FLEET_IN/dependencies/components/$value/$FLEET_BUILD_ROW
        if [[ -d $value/include ]]; then options+=(--include "$value/include"); fi
        if [[ -d $value/lib ]]; then link+=(--link "$value/lib"); fi
    done
    for value in "${FLEET_LIMITS[@]}"; do limits+=(--limit "$value"); done
    if [[ -n $FLEET_BASELINE ]]; then against=(--against "$FLEET_PLACE/$FLEET_BASELINE"); fi
    if ((${#FLEET_FLAGS[@]} > 0)); then flags=(-- "${FLEET_FLAGS[@]}"); fi

    xtask build-kernels --source "$FLEET_SOURCES" --target "$FLEET_TARGET" "${options[@]}" --json "$FLEET_OUT/kernels.json" \
        "${against[@]}" "${limits[@]}" "${flags[@]}" || status=$?
    case $status in
        0) ;;
        2) fail "kernels of $FLEET_COMPONENT use more on $FLEET_TARGET than they may" ;;
        *) fail "kernels of $FLEET_COMPONENT do not compile for $FLEET_TARGET" ;;
    esac
    xtask ci programs --sources "$FLEET_SOURCES" --tests "$FLEET_TESTS" --target "$FLEET_TARGET" "${options[@]}" \
        --hip "$FLEET_IN/dependencies/dropin" "${link[@]}" --name "$FLEET_COMPONENT" --out "$FLEET_OUT" "${flags[@]}"
    for value in "${FLEET_INCLUDE[@]}"; do
        mkdir -p "$FLEET_OUT/include"
        cp -R "$value/." "$FLEET_OUT/include/"
    done
}

compile_cargo() {
    cd "$FLEET_PLACE"
    export FERROCM_TARGETS=$FLEET_TARGET FLEET_DEPENDENCIES=$FLEET_IN/dependencies/components FLEET_HIP=$FLEET_IN/dependencies/dropin
    # cargo-nextest starts the test programs to list their tests.
    export LD_LIBRARY_PATH=$FLEET_HIP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    if [[ -n $FLEET_CACHE ]]; then export CARGO_TARGET_DIR=$FLEET_CACHE/target; fi
    cargo nextest --version > /dev/null 2>&1 || fail "cargo-nextest is missing; the image of $FLEET_OS must contain it"
    # The tests as a relocatable archive.
    cargo nextest archive --locked "${FLEET_FLAGS[@]}" --archive-file "$FLEET_OUT/tests.tar.zst"
}

main() {
    [[ -n $FLEET_TARGET ]] || fail "FLEET_TARGET is not set"
    settings
    case $FLEET_KIND in
        cuda) compile_cuda ;;
        cargo) compile_cargo ;;
        *) fail "no kind $FLEET_KIND" ;;
    esac
}

step "$0"
