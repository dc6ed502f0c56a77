#!/bin/sh
# The model package alone, on raw data: what it predicts for the rows of the test part is what the study measured there.
#
# usage: predict.sh LANISTA
set -eu

lanista=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

# same WHAT A B: two numbers that must agree to 1e-9
same() {
  if awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a != "" && b != "" && d <= 1e-9) }'; then
    echo "$1: $2"
  else
    echo "FAILED: $1: $2 from predictions, $3 in the package"
    failed=1
  fi
}

# the test metric $2 as package.json of folder $1 has it
measured() { sed -n "s/.*\"$2\": \\([-0-9.e]*\\).*/\\1/p" "$1/package.json"; }

# select SOURCE TABLE: the test rows of a CSV, with its header
select_test() {
  "$lanista" data rows "$1" --part test > rows
  awk 'NR == FNR { wanted[$1] = 1; next } FNR == 1 || (FNR - 2) in wanted' rows "$2"
}

# Classes from a table with numbers, categories and missing values.
awk 'BEGIN {
  srand(3); print "size,colour,weight,kind"
  split("red green blue", colour, " ")
  for (i = 0; i < 600; i++) {
    c = 1 + int(rand() * 3); s = rand() * 10; w = rand() * 5
    kind = s + 2 * c > 9 ? "large" : w > 2 ? "heavy" : "small"
    print (i % 29 == 0 ? "" : s) "," (i % 31 == 0 ? "?" : colour[c]) "," w "," kind
  }
}' > things.csv
source='csv:things.csv?target=kind'
"$lanista" run --set "data.source=$source" --set model.base=builtin:small-mlp --trials 6 --epochs 9 --out things --quiet > /dev/null 2>&1
select_test "$source" things.csv > test.csv
cut -d, -f1-3 test.csv > unseen.csv
mkdir alone && mv things/best alone/things && rm -r things
"$lanista" predict alone/things unseen.csv --out predicted.csv 2> /dev/null
accuracy=$(awk -F, 'NR == FNR { kind[NR] = $4; next } FNR > 1 { n++; sub(/\r$/, ""); if ($2 == kind[FNR]) right++ } END { printf "%.17g", right / n }' test.csv predicted.csv)
same "accuracy on a raw table" "$accuracy" "$(measured alone/things test_accuracy)"
"$lanista" eval alone/things test.csv --json > eval.json
same "loss on a raw table" "$(sed 's/.*"loss":\([-0-9.e]*\).*/\1/' eval.json)" "$(measured alone/things test_loss)"

# An ensemble: its probabilities are the mean of its members', and it reaches what the study measured of it.
"$lanista" run --set "data.source=$source" --set model.base=builtin:small-mlp --set 'goal=[minimize val_loss]' --set stop=none --set keep.top=6 --set keep.ensemble=8 --trials 8 --epochs 6 --out many --quiet > /dev/null 2>&1
"$lanista" status many --json | grep -o '{"share":[0-9.e-]*,"trial":[0-9]*}' | sed 's/{"share":\(.*\),"trial":\(.*\)}/\2 \1/' > members
: > blended
while read -r trial share; do
  "$lanista" predict "many#$trial" unseen.csv --out one.csv 2> /dev/null
  awk -F, -v share="$share" 'FILENAME == "blended" { n = split($0, seen, " "); for (i = 1; i <= n; i++) sum[FNR, i] = seen[i]; next }
    FNR > 1 { for (i = 3; i <= NF; i++) printf "%.17g ", sum[FNR - 1, i - 2] + share * $i; print "" }' blended one.csv > next
  mv next blended
done < members
cp -r many/best alone/many
"$lanista" predict alone/many unseen.csv --out predicted.csv 2> /dev/null
awk -F, 'NR == FNR { split($0, p, " "); for (i in p) want[FNR, i] = p[i]; next }
  FNR > 1 { for (i = 3; i <= NF; i++) { d = $i - want[FNR - 1, i - 2]; if (d < 0) d = -d; n++; if (d > 1e-9) wrong++ } }
  END { exit !(n > 200 && !wrong) }' blended predicted.csv && [ "$(wc -l < members)" -gt 1 ] ||
  { echo "FAILED: an ensemble does not predict the mean of its $(wc -l < members) members"; failed=1; }
"$lanista" eval alone/many test.csv --json > eval.json
same "loss of an ensemble of $(wc -l < members)" "$(sed 's/.*"loss":\([-0-9.e]*\).*/\1/' eval.json)" "$(measured alone/many test_loss | tail -1)"
"$lanista" export alone/many --onnx many.onnx --cpp many.cpp --safetensors many.safetensors 2> exported || { cat exported; failed=1; }
"$lanista" export many --ensemble 8 --package again 2> exported || { cat exported; failed=1; }
for file in again/members/*; do cmp "$file" "alone/many/members/${file##*/}" || failed=1; done

# The same of a study with folds, whose models are as many trainings each.
"$lanista" run --set "data.source=$source" --set data.folds=3 --set model.base=builtin:small-mlp --set 'goal=[minimize val_loss]' --set stop=none --set keep.top=4 --set keep.ensemble=6 --trials 15 --epochs 5 --out dealt --quiet > /dev/null 2>&1
[ "$(ls dealt/best/members | wc -l)" -gt 6 ] || { echo "FAILED: an ensemble with folds has one proposal"; failed=1; }
"$lanista" export dealt --ensemble 6 --package dealt-again 2> exported || { cat exported; failed=1; }
diff -r dealt/best/members dealt-again/members || failed=1
cmp dealt/best/model.onnx dealt-again/model.onnx || failed=1

# Numbers to predict, from a table.
awk 'BEGIN {
  srand(5); print "price,area,quarter"
  split("north east south", quarter, " ")
  for (i = 0; i < 500; i++) { q = 1 + int(rand() * 3); a = rand(); print 1e5 + 4e4 * (3 * a + q + 0.1 * rand()) "," (i % 41 == 0 ? "NA" : a) "," quarter[q] }
}' > flats.csv
source='csv:flats.csv?target=price'
"$lanista" run --set "data.source=$source" --set model.base=builtin:small-mlp --set 'goal=[minimize val_loss]' --set 'train.metrics=[mae, mape, rmse, r2, quantile90]' --set stop=none --trials 6 --epochs 6 --out flats --quiet > /dev/null 2>&1
select_test "$source" flats.csv > test.csv
mv flats/best alone/flats && rm -r flats
"$lanista" predict alone/flats test.csv --out predicted.csv 2> /dev/null
# Training sees standardised prices; predictions and all metrics but the loss are in the prices' own unit. Prices are read
# as float32, so what is computed of decimal texts agrees to their rounding only.
awk -F, 'NR == FNR { price[NR] = $1; next } FNR > 1 {
  n++; d = $2 - price[FNR]; a = d < 0 ? -d : d; mae += a; mape += a / price[FNR]; squares += d * d
  q += d < 0 ? -0.9 * d : 0.1 * d; sum += price[FNR]; t[n] = price[FNR]
} END {
  for (i = 1; i <= n; i++) away += (t[i] - sum / n) ^ 2
  printf "mae %.17g\nmape %.17g\nrmse %.17g\nr2 %.17g\nquantile90 %.17g\n", mae / n, mape / n, sqrt(squares / n), 1 - squares / away, q / n
}' test.csv predicted.csv > computed
while read -r metric value; do
  inside=$(measured alone/flats "test_$metric")
  if awk -v a="$value" -v b="$inside" 'BEGIN { d = (a - b) / (b < 0 ? -b : b); exit !(a != "" && b != "" && d < 1e-6 && d > -1e-6) }'; then
    echo "$metric on a raw table: $value"
  else
    echo "FAILED: $metric $value from predictions, $inside in the package"
    failed=1
  fi
done < computed
"$lanista" eval alone/flats test.csv --json > eval.json
for metric in loss mae mape rmse r2 quantile90; do
  same "$metric by eval" "$(sed 's/.*"'"$metric"'":\([-0-9.e]*\).*/\1/' eval.json)" "$(measured alone/flats "test_$metric")"
done
"$lanista" export alone/flats --onnx flats.onnx --cpp flats.cpp 2> exported || { cat exported; failed=1; }

# Several numbers at once, and rows that count more.
awk 'BEGIN {
  srand(7); print "area,price,sure,quarter,days"
  split("north east south", quarter, " ")
  for (i = 0; i < 500; i++) { q = 1 + int(rand() * 3); a = rand(); print a "," 1e5 + 4e4 * (3 * a + q) "," i % 4 "," quarter[q] "," (i % 50 == 9 ? "" : 30 - 5 * q - 9 * a) }
}' > sales.csv
source='csv:sales.csv?target=price,days&weight=sure'
"$lanista" run --set "data.source=$source" --set model.base=builtin:small-mlp --set 'goal=[minimize val_loss]' --set 'train.metrics=[mae, r2]' --set stop=none --trials 4 --epochs 6 --out sales --quiet > /dev/null 2>&1
"$lanista" data check "$source" > told
grep -q '10 rows lack one of the targets ("price", "days") and are left out' told || { cat told; echo "FAILED: rows without a target are not told"; failed=1; }
awk -F, 'NR == 1 || $5 != ""' sales.csv > whole.csv
select_test "$source" whole.csv > test.csv
mv sales/best alone/sales && rm -r sales
"$lanista" predict alone/sales test.csv --out predicted.csv 2> /dev/null
[ "$(head -1 predicted.csv | tr -d '\r')" = row,prediction_price,prediction_days ] || { head -1 predicted.csv; echo "FAILED: no column for each target"; failed=1; }
awk -F, 'NR == FNR { price[NR] = $2; days[NR] = $5; next } FNR > 1 {
  n++; d = $2 - price[FNR]; e = $3 - days[FNR]; mae += (d < 0 ? -d : d) + (e < 0 ? -e : e)
} END { printf "%.17g\n", mae / n / 2 }' test.csv predicted.csv > computed
inside=$(measured alone/sales test_mae)
if awk -v a="$(cat computed)" -v b="$inside" 'BEGIN { d = (a - b) / b; exit !(a != "" && b != "" && d < 1e-5 && d > -1e-5) }'; then
  echo "mae of two targets: $inside"
else
  echo "FAILED: mae of two targets $(cat computed) from predictions, $inside in the package"
  failed=1
fi
"$lanista" eval alone/sales test.csv > told
grep -q '^ price ' told && grep -q '^ days ' told || { cat told; echo "FAILED: eval has no line for each target"; failed=1; }
"$lanista" export alone/sales --onnx sales.onnx --cpp sales.cpp > told 2>&1 || { cat told; failed=1; }
grep -q '"price",' sales.cpp || { echo "FAILED: the C++ names no targets"; failed=1; }

# Labels: any number of them a row.
awk 'BEGIN {
  srand(9); print "x,y,rain,wind,snow"
  for (i = 0; i < 500; i++) { x = rand() * 4 - 2; y = rand() * 4 - 2; print x "," y "," (x > 0.2 ? 1 : 0) "," (x * y > 0 ? "yes" : "no") "," (y < -1 ? "true" : "false") }
}' > days.csv
source='csv:days.csv?target=rain,wind,snow'
"$lanista" run --set "data.source=$source" --set model.base=builtin:small-mlp --set 'train.metrics=[accuracy, exact_match, f1_macro, roc_auc]' --set stop=none --trials 4 --epochs 9 --out days --quiet > /dev/null 2>&1
select_test "$source" days.csv > test.csv
mv days/best alone/days && rm -r days
"$lanista" predict alone/days test.csv --out predicted.csv 2> /dev/null
[ "$(head -1 predicted.csv | tr -d '\r')" = row,p_rain,p_wind,p_snow ] || { head -1 predicted.csv; echo "FAILED: no column for each label"; failed=1; }
awk -F, '
  function has(cell) { sub(/\r$/, "", cell); return cell == "1" || cell == "yes" || cell == "true" }
  NR == FNR { for (k = 3; k <= 5; k++) truth[NR, k] = has($k); next }
  FNR > 1 {
    n++; all = 1
    for (k = 3; k <= 5; k++) { p = $(k - 1) + 0; ok = (p > 0.5) == truth[FNR, k]; right += ok; all *= ok; loss -= log(truth[FNR, k] ? p : 1 - p) }
    exact += all
  } END { printf "accuracy %.17g\nexact_match %.17g\nloss %.17g\n", right / n / 3, exact / n, loss / n / 3 }' test.csv predicted.csv > computed
while read -r metric value; do same "$metric of labels" "$value" "$(measured alone/days "test_$metric")"; done < computed
"$lanista" eval alone/days test.csv --json > eval.json
for metric in accuracy f1_macro roc_auc; do
  same "$metric by eval" "$(sed 's/.*"'"$metric"'":\([-0-9.e]*\).*/\1/' eval.json)" "$(measured alone/days "test_$metric")"
done
"$lanista" export alone/days --onnx days.onnx --cpp days.cpp > told 2>&1 || { cat told; failed=1; }

# Images in NumPy arrays.
"$lanista" data export builtin:digits --npy arrays 2> /dev/null
"$lanista" run --set data.source=npy:arrays/x.npy,arrays/y.npy --trials 6 --epochs 9 --out digits --quiet > /dev/null 2>&1
"$lanista" data export npy:arrays/x.npy,arrays/y.npy --npy test --part test 2> /dev/null
"$lanista" data export npy:arrays/x.npy,arrays/y.npy --csv test.csv --part test 2> /dev/null
mv digits/best alone/digits && rm -r digits arrays
"$lanista" predict alone/digits test/x.npy --out predicted.csv 2> /dev/null
accuracy=$(awk -F, 'NR == FNR { sub(/\r$/, ""); label[NR] = $65; next } FNR > 1 { n++; if ($2 == label[FNR]) right++ } END { printf "%.17g", right / n }' test.csv predicted.csv)
same "accuracy on a raw array" "$accuracy" "$(measured alone/digits test_accuracy)"
"$lanista" eval alone/digits npy:test/x.npy,test/y.npy --json > eval.json
same "loss on a raw array" "$(sed 's/.*"loss":\([-0-9.e]*\).*/\1/' eval.json)" "$(measured alone/digits test_loss)"

# A text: what comes behind a window is the answer at its last position, the only one that the last byte can change.
awk 'BEGIN { srand(5); split("net trident sand crowd", word, " "); for (i = 0; i < 300; i++) printf "%s ", word[1 + int(rand() * 4)] }' > text.txt
"$lanista" run --set 'data.source=tokens:text.txt?context=8&task=next_token' --trials 2 --epochs 2 --out text --quiet > /dev/null 2>&1
printf 'sand and' > one.txt
printf 'sand anx' > other.txt
"$lanista" predict text one.txt --out one.csv 2> /dev/null
"$lanista" predict text other.txt --out other.csv 2> /dev/null
if [ "$(wc -l < one.csv)" -eq 2 ] && [ "$(head -1 one.csv | tr ',' '\n' | wc -l)" -eq 258 ] && ! cmp -s one.csv other.csv; then
  echo "the byte behind a text: 256 probabilities that depend on its last one"
else
  echo "FAILED: what comes behind a text"
  failed=1
fi
same "they sum to" "$(awk -F, 'NR == 2 { for (i = 3; i <= NF; i++) sum += $i; printf "%.17g", sum }' one.csv)" 1

exit "$failed"
