#!/usr/bin/env bash
# Runs the tests of one target on a device: a virtual GPU, or the GPUs of a pool.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

test_cuda() {
    xtask ci test --programs "$build/bin" --library "$FERROCM_TEST_LIBRARY" --out "$FLEET_OUT"
}

test_cargo() {
    local junit status=0 filter=() name options=()
    cd "$FLEET_PLACE"
    export FERROCM_DEVICE=$FLEET_DEVICE LD_LIBRARY_PATH=$FERROCM_TEST_LIBRARY${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    for name in "${FLEET_DISABLED[@]}"; do options+=("not test(#$name)"); done
    if ((${#options[@]} > 0)); then
        printf -v name '%s & ' "${options[@]}"
        filter=(--filterset "${name% & }")
    fi
    junit=$FLEET_OUT/nextest
    cat > "$FLEET_OUT/nextest.toml" << END
[store]
dir = "$junit"
[profile.fleet]
fail-fast = false
slow-timeout = { period = "${FLEET_TEST_TIMEOUT}s", terminate-after = 1 }
[profile.fleet.junit]
path = "junit.xml"
END
    cargo nextest run --archive-file "$build/tests.tar.zst" --workspace-remap "$FLEET_PLACE" --config-file "$FLEET_OUT/nextest.toml" \
        --profile fleet --partition "hash:$FLEET_SHARD" --no-tests pass "${filter[@]}" || status=$?
    # 100 means that tests failed; the rows of expected failures decide about them.
    case $status in
        0 | 100) ;;
        *) fail "cargo-nextest cannot run the tests ($status)" ;;
    esac
    mv "$junit/fleet/junit.xml" "$FLEET_OUT/raw.xml"
    rm -r "$junit" "$FLEET_OUT/nextest.toml"
    xtask ci judge --junit "$FLEET_OUT/raw.xml" --out "$FLEET_OUT"
}

main() {
    build=$FLEET_IN/compile-$FLEET_BUILD_ROW
    [[ -n $FLEET_DEVICE ]] || fail "FLEET_DEVICE is not set"
    [[ -d $build ]] || fail "the build $FLEET_BUILD_ROW is missing; the stage compile makes it"
    settings
    # Keep core dumps.
    ulimit -c unlimited 2> /dev/null || echo "Core dumps are not allowed here."
    FERROCM_TEST_LIBRARY=${FLEET_HIP_LIBRARY:-$FLEET_IN/dependencies/dropin}
    if ((FLEET_GPUS > 0)); then
        HIP_VISIBLE_DEVICES=$(seq --separator=, 0 $((FLEET_GPUS - 1)))
        export HIP_VISIBLE_DEVICES
    fi
    # Only the settings choose the checks, wherever the tests run.
    export FERROCM_VGPU_CHECK=$FLEET_CHECKS
    case $FLEET_KIND in
        cuda) test_cuda ;;
        cargo) test_cargo ;;
        *) fail "no kind $FLEET_KIND" ;;
    esac
}

step "$0"
