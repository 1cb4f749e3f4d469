#!/bin/sh
# Fetches a key that signs packages, and keeps it if it is the one that is expected: fetch.sh FOLDER NAME URL FINGERPRINT
# The file is FOLDER/NAME.asc. One that is there already is looked at again, and not fetched.
set -eu
[ $# -eq 4 ] || { echo "usage: fetch.sh FOLDER NAME URL FINGERPRINT" >&2; exit 2; }
folder="$1" name="$2" url="$3" fingerprint="$4"
file="$folder/$name.asc"
for tool in curl gpg; do
    command -v "$tool" > /dev/null || { echo "fetch.sh: $tool is needed" >&2; exit 1; }
done

# The fingerprint of the first primary key in a file; subkeys have lines of their own behind it.
primary() { gpg --homedir "$home" --batch --no-options --show-keys --with-colons "$1" | awk -F: '$1 == "fpr" { print $10; exit }'; }

mkdir -p "$folder"
new="$file.new"
# gpg wants a folder of its own even to look at a file.
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
