#!/bin/sh
# Reads models that both exporters of PyTorch wrote (data/NAME.onnx), and compares the outputs for NAME.x.npy with
# those of onnxruntime (NAME.y.npy). exports.py wrote the files.
#
# usage: check.sh LANISTA
set -eu

lanista=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/data"
failed=0 count=0
for file in *.onnx; do
  name=${file%.onnx}
  result=$("$lanista" check "$file" --inputs "$name.x.npy" --expect "$name.y.npy" --atol 1e-5 --rtol 1e-4 2>&1) ||
    result="failed: $result"
  case $result in
    *failed:* | *differs*) echo "FAILED: $name: $result"; failed=$((failed + 1)) ;;
    *agrees*) count=$((count + 1)) ;;
    *) echo "FAILED: $name: $result"; failed=$((failed + 1)) ;;
  esac
done
[ "$count" -ge 25 ] || { echo "FAILED: only $count models agree"; failed=$((failed + 1)); }
[ "$failed" -eq 0 ] && echo "$count models agree"
exit "$failed"
