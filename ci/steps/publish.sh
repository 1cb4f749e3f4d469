#!/usr/bin/env bash
# Signs the packages, if there is a key, and puts them into the store: COMPONENT/COMMIT/…, and the marker of the latest last.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

put() {
    case $FLEET_STORE in
        https://* | http://*)
            [[ -n $FLEET_STORE_TOKEN ]] || fail "there is no token for the store (FLEET_STORE_TOKEN)"
            curl --fail --silent --show-error --retry 3 --header "Authorization: Bearer $FLEET_STORE_TOKEN" --upload-file "$1" "$FLEET_STORE/$2" > /dev/null
            ;;
        *)
            mkdir -p "$(dirname "$FLEET_STORE/$2")"
            # Concurrent readers see either the old file or the new one.
            cp "$1" "$FLEET_STORE/$2.new"
            mv "$FLEET_STORE/$2.new" "$FLEET_STORE/$2"
            ;;
    esac
    echo "$FLEET_STORE/$2"
}

main() {
    local files=$FLEET_OUT/files name=$FLEET_COMPONENT file
    settings
    (cd "$FLEET_IN/package/files" && sha256sum --check --strict --quiet SHA256SUMS) || fail "what is to be published is not what was packed"
    # Other jobs' output is not changed.
    rm -rf "$files"
    cp -R "$FLEET_IN/package/files" "$files"
    xtask ci seal --component "$name" --files "$files"
    while read -r file; do
        put "$files/$file" "$name/$FLEET_COMMIT/$file"
    done < <(cd "$files" && find . -type f -printf '%P\n' | LC_ALL=C sort)
    echo "$FLEET_COMMIT" > "$FLEET_OUT/latest"
    if [[ $FLEET_EVENT == tag ]]; then put "$FLEET_OUT/latest" "$name/tags/${FLEET_REF#refs/tags/}"; fi
    put "$FLEET_OUT/latest" "$name/latest"
}

step "$0"
