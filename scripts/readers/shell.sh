#!/bin/sh
# Reads a mounted folder with what every machine has: sh shell.sh MOUNT/train
set -eu
root=$1

echo "samples: $(find "$root" -type f -name '*.npy' | wc -l)"

first=$(find "$root" -type f -name '*.npy' | sort | head -n 1)
echo "first:   ${first#"$root"/}, $(wc -c < "$first") bytes"
echo "header:  $(head -n 1 "$first" | tail -c +11 | sed 's/ *$//')"

# Every byte of every sample once.
echo "bytes:   $(find "$root" -type f -name '*.npy' -exec cat {} + | wc -c)"

# A whole tree as one stream, for another machine.
echo "tar:     $(tar -C "$root" -cf - . | wc -c) bytes"
