#!/bin/sh
# Digests of all files below ROOTS, and how much of it is there twice. It knows nothing of Longhaul.
# A restart runs it from the top; what is finished is a file that got its name last, and is not made again.

set -eu
export LC_ALL=C
cd "$(dirname "$0")"
: "${ROOTS:=/usr/bin /usr/lib}" "${PART_FILES:=200}" "${PACE:=0}"

if [ ! -d parts ]; then
  rm -rf parts.new && mkdir parts.new
  # Word splitting is wanted: ROOTS are several.
  find $ROOTS -xdev -type f -readable ! -name '*[[:cntrl:]\\]*' | sort | split -l "$PART_FILES" -a 4 - parts.new/
  sync parts.new parts.new/* && mv parts.new parts
fi

set -- parts/????
done=0
for part in "$@"; do
  if [ ! -e "$part.sums" ]; then
    xargs -d '\n' sha256sum -- < "$part" > "$part.new"
    sync "$part.new" && mv "$part.new" "$part.sums"
    sleep "$PACE"
  fi
  done=$((done + 1))
  echo "$done/$# parts"
done

cat parts/*.sums | cut -d ' ' -f 1 | sort | uniq -c |
  awk '{ files += $1; distinct += 1 } END { printf "{\"files\": %d, \"distinct\": %d}\n", files, distinct }' > result.new
sync result.new && mv result.new result.json
