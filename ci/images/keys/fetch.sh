#!/bin/sh
# Fetches a key that signs packages, and keeps it if it is the expected one: fetch.sh FOLDER NAME URL FINGERPRINT
# The file is FOLDER/NAME.asc. An existing one is checked again, not fetched.
set -eu
[ $# -eq 4 ] || { echo "usage: fetch.sh FOLDER NAME URL FINGERPRINT" >&2; exit 2; }
folder="$1" name="$2" url="$3" fingerprint="$4"
file="$folder/$name.asc"
for tool in curl gpg; do
    command -v "$tool" > /dev/null || { echo "fetch.sh: $tool is needed" >&2; exit 1; }
done

# The fingerprint of the first primary key in a file; subkeys follow on separate lines.
primary() { gpg --homedir "$home" --batch --no-options --show-keys --with-colons "$1" | awk -F: '$1 == "fpr" { print $10; exit }'; }

mkdir -p "$folder"
new="$file.new"
# gpg needs a home folder even to read a file.
home="$(mktemp -d)"
trap 'rm -rf "$new" "$home"' EXIT
if [ -f "$file" ]; then
    cp "$file" "$new"
else
    curl --fail --silent --show-error --location --proto '=https' --retry 3 --max-time 60 --output "$new" "$url"
fi
found="$(primary "$new")"
if [ "$found" != "$fingerprint" ]; then
    echo "fetch.sh: the key \"$name\" is ${found:-none}, not $fingerprint: it was not kept" >&2
    exit 1
fi
mv "$new" "$file"
echo "$file"
