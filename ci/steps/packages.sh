#!/usr/bin/env bash
# Installs required system packages if possible, otherwise lists them.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

# Programs, and their packages for apt, dnf and zypper.
PROGRAMS="
cc      gcc        gcc        gcc
c++     g++        gcc-c++    gcc-c++
git     git        git-core   git
curl    curl       curl       curl
tar     tar        tar        tar
gzip    gzip       gzip       gzip
cmp     diffutils  diffutils  diffutils
"

missing() {
    local program apt dnf zypper
    while read -r program apt dnf zypper; do
        if [[ -n $program ]] && ! command -v "$program" > /dev/null; then
            case $1 in apt) echo "$apt" ;; dnf) echo "$dnf" ;; zypper) echo "$zypper" ;; esac
        fi
    done <<< "$PROGRAMS"
}

main() {
    local manager=${FLEET_PACKAGE_MANAGER:-apt} packages
    mapfile -t packages < <(missing "$manager")
    if ((${#packages[@]} > 0)); then
        # Do not change a developer's machine.
        if [[ $FLEET_SYSTEM == local || $(id -u) != 0 ]]; then
            fail "these packages are missing: ${packages[*]}"
        fi
        case $manager in
            apt)
                apt-get update --quiet
                DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "${packages[@]}"
                ;;
            dnf) dnf install --assumeyes --setopt=install_weak_deps=False "${packages[@]}" ;;
            zypper) zypper --non-interactive install --no-recommends "${packages[@]}" ;;
            *) fail "no package manager $manager; there are apt, dnf and zypper" ;;
        esac
    fi
    command -v cargo > /dev/null || [[ -n ${FLEET_XTASK:-} ]] || fail "cargo is missing; the image $FLEET_OS must contain Rust"
    cc --version | head -n 1
    git --version
    if command -v cargo > /dev/null; then cargo --version; fi
}

step "$0"
