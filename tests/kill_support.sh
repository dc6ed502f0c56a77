# Functions of scripts that kill studies and compare the results with those of an undisturbed study.
# The script sets $lanista, $seed and $work.

# fraction N: the N-th number in [0, 1) of the seed's stream
fraction() { awk -v seed="$seed" -v n="$1" 'BEGIN { srand(seed * 100003 + n); rand(); printf "%.6f", rand() }'; }

# fingerprint STUDY: hashes of the canonical export of its log and of the winner's weights
fingerprint() {
  "$lanista" show "$1" --canonical | sha256sum | cut -d' ' -f1
  sha256sum < "$1/best/weights.safetensors" | cut -d' ' -f1
}

# as_reference STUDY: succeeds if its log, weights and table equal the reference's; else writes $work/difference
as_reference() {
  fingerprint "$1" > "$work/sum"
  if cmp -s "$work/sum" "$work/reference.sum" && cmp -s "$work/table" "$work/reference.table"; then return 0; fi
  "$lanista" show "$1" --canonical > "$work/b"
  "$lanista" show "$work/reference" --canonical > "$work/a"
  diff "$work/a" "$work/b" | cut -c1-300 | head -5 > "$work/difference"
  return 1
}
