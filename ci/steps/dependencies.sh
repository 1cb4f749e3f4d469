#!/usr/bin/env bash
# Installs the device compiler, the libraries for running programs on virtual GPUs, and the archives of dependencies.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

# Copies a file from the store.
fetch() {
    case $FLEET_STORE in
        https://* | http://*)
            local token=()
            if [[ -n $FLEET_STORE_TOKEN ]]; then token=(--header "Authorization: Bearer $FLEET_STORE_TOKEN"); fi
            curl --fail --silent --show-error --location --retry 3 "${token[@]}" --output "$2" "$FLEET_STORE/$1"
            ;;
        *) cp "$FLEET_STORE/$1" "$2" ;;
    esac
}

component() {
    local name=$1 folder=$FLEET_OUT/components commit archive top
    mkdir -p "$folder/unpacked"
    fetch "$name/latest" "$folder/latest" || fail "the store $FLEET_STORE has no archive of $name; publish one first"
    commit=$(cat "$folder/latest")
    archive=$folder/$name.tar.gz
    fetch "$name/$commit/$name.tar.gz" "$archive"
    fetch "$name/$commit/SHA256SUMS" "$folder/SHA256SUMS"
    grep --line-regexp "[0-9a-f]*  ${name//./\\.}\.tar\.gz" "$folder/SHA256SUMS" > "$archive.sha256" \
        || fail "the checksums of $name do not name its archive"
    (cd "$folder" && sha256sum --check --quiet "$name.tar.gz.sha256") || fail "the archive of $name is not what was published"
    xtask ci unpack --archive "$archive" --to "$folder/unpacked"
    top=("$folder/unpacked"/*)
    mv "${top[0]}" "$folder/$name"
    rmdir "$folder/unpacked"
    mv "$archive.sha256" "$folder/$name/archive.sha256"
    rm "$archive" "$folder/latest" "$folder/SHA256SUMS"
    echo "$name at commit $commit"
}

main() {
    local name
    settings
    xtask setup --yes
    if [[ -n ${FLEET_DROPIN:-} ]]; then
        [[ -e $FLEET_DROPIN/libamdhip64.so ]] || fail "there is no libamdhip64.so in $FLEET_DROPIN"
        mkdir -p "$FLEET_OUT/dropin"
        cp -a "$FLEET_DROPIN"/libamdhip64.so* "$FLEET_OUT/dropin/"
    elif [[ -n $FLEET_CACHE ]]; then
        xtask dropin --release --out "$FLEET_OUT/dropin"
    else
        # A developer's machine already has the virtual GPU from the tests.
        xtask dropin --out "$FLEET_OUT/dropin"
    fi
    find "$FLEET_OUT/dropin" -name '*.lock' -delete
    for name in "${FLEET_DEPENDS[@]}"; do
        component "$name"
    done
}

step "$0"
