#!/bin/sh
# Makes Azure's agent, which installs runners as extensions, wait until the machine is set up: otherwise jobs begin
# before Docker is installed. A systemd drop-in cannot remove ordering, so the unit of cloud-init's last stage is
# rewritten without it.
# ROOT is another root folder, for tests.
set -eu
root="${ROOT:-}"
units="$root/etc/systemd/system"
stage="$root/lib/systemd/system/cloud-final.service"
[ -f "$stage" ] || { echo "agent-after-setup: there is no $stage: not a machine that cloud-init sets up" >&2; exit 1; }
mkdir -p "$units/walinuxagent.service.d"
printf '[Unit]\nAfter=cloud-final.service\n' > "$units/walinuxagent.service.d/10-after-setup.conf"
sed 's/^After=multi-user\.target$//' "$stage" > "$units/cloud-final.service.new"
mv "$units/cloud-final.service.new" "$units/cloud-final.service"
systemctl daemon-reload
