#!/usr/bin/env bash
# Puts the archive and its manifest into the store: COMPONENT/COMMIT/…, and what is the latest last.
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
            # Whoever reads it meanwhile sees the old file or the new one.
            cp "$1" "$FLEET_STORE/$2.new"
            mv "$FLEET_STORE/$2.new" "$FLEET_STORE/$2"
            ;;
    esac
    echo "$FLEET_STORE/$2"
}

main() {
    local from=$FLEET_IN/package name=$FLEET_COMPONENT file
    settings
    (cd "$from" && sha256sum --check --quiet "$name.tar.gz.sha256") || fail "the archive is not what was packed"
    for file in "$name.tar.gz" "$name.tar.gz.sha256" manifest.json manifest.html; do
        put "$from/$file" "$name/$FLEET_COMMIT/$file"
    done
    echo "$FLEET_COMMIT" > "$FLEET_OUT/latest"
    if [[ $FLEET_EVENT == tag ]]; then put "$FLEET_OUT/latest" "$name/tags/${FLEET_REF#refs/tags/}"; fi
    put "$FLEET_OUT/latest" "$name/latest"
}

step "$0"
