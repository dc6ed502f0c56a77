#!/bin/sh
# Model packages on raw data, without the study. Metrics of the predictions for the test part equal those that the study
# measured.
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

# measured FOLDER METRIC: the metric in package.json
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
# train OUT OPTIONS…: a study of $source with the small MLP
train() {
  out=$1
  shift
  "$lanista" run --set "data.source=$source" --set model.base=builtin:small-mlp --out "$out" --quiet "$@" \
    > /dev/null 2>&1
}
train things --trials 6 --epochs 9
select_test "$source" things.csv > test.csv
cut -d, -f1-3 test.csv > unseen.csv
mkdir alone && mv things/best alone/things && rm -r things
"$lanista" predict alone/things unseen.csv --out predicted.csv 2> /dev/null
accuracy=$(awk -F, 'NR == FNR { kind[NR] = $4; next }
  FNR > 1 { n++; sub(/\r$/, ""); if ($2 == kind[FNR]) right++ }
  END { printf "%.17g", right / n }' test.csv predicted.csv)
same "accuracy on a raw table" "$accuracy" "$(measured alone/things test_accuracy)"
"$lanista" eval alone/things test.csv --json > eval.json
same "loss on a raw table" "$(sed 's/.*"loss":\([-0-9.e]*\).*/\1/' eval.json)" "$(measured alone/things test_loss)"

# An ensemble: its probabilities are the weighted mean of its members, and its loss equals the study's.
train many --set 'goal=[minimize val_loss]' --set stop=none --set keep.top=6 --set keep.ensemble=8 --trials 8 --epochs 6
"$lanista" status many --json | grep -o '{"share":[0-9.e-]*,"trial":[0-9]*}' |
  sed 's/{"share":\(.*\),"trial":\(.*\)}/\2 \1/' > members
: > blended
while read -r trial share; do
  "$lanista" predict "many#$trial" unseen.csv --out one.csv 2> /dev/null
  awk -F, -v share="$share" '
    FILENAME == "blended" { n = split($0, seen, " "); for (i = 1; i <= n; i++) sum[FNR, i] = seen[i]; next }
    FNR > 1 { for (i = 3; i <= NF; i++) printf "%.17g ", sum[FNR - 1, i - 2] + share * $i; print "" }
    ' blended one.csv > next
  mv next blended
done < members
cp -r many/best alone/many
"$lanista" predict alone/many unseen.csv --out predicted.csv 2> /dev/null
awk -F, 'NR == FNR { split($0, p, " "); for (i in p) mean[FNR, i] = p[i]; next }
  FNR > 1 { for (i = 3; i <= NF; i++) { d = $i - mean[FNR - 1, i - 2]; if (d < 0) d = -d; n++; if (d > 1e-9) wrong++ } }
  END { exit !(n > 200 && !wrong) }' blended predicted.csv && [ "$(wc -l < members)" -gt 1 ] ||
  { echo "FAILED: an ensemble does not predict the mean of its $(wc -l < members) members"; failed=1; }
"$lanista" eval alone/many test.csv --json > eval.json
# loss: the loss in eval.json
loss() { sed 's/.*"loss":\([-0-9.e]*\).*/\1/' eval.json; }
same "loss of an ensemble of $(wc -l < members)" "$(loss)" "$(measured alone/many test_loss | tail -1)"
"$lanista" export alone/many --onnx many.onnx --cpp many.cpp --safetensors many.safetensors 2> exported ||
  { cat exported; failed=1; }
"$lanista" export many --ensemble 8 --package again 2> exported || { cat exported; failed=1; }
for file in again/members/*; do cmp "$file" "alone/many/members/${file##*/}" || failed=1; done

# An ensemble of a study with folds: each proposal has a model for each fold.
train folds --set data.folds=3 --set 'goal=[minimize val_loss]' --set stop=none --set keep.top=4 \
  --set keep.ensemble=6 --trials 15 --epochs 5
[ "$(ls folds/best/members | wc -l)" -gt 6 ] || { echo "FAILED: an ensemble with folds has one proposal"; failed=1; }
"$lanista" export folds --ensemble 6 --package folds-again 2> exported || { cat exported; failed=1; }
diff -r folds/best/members folds-again/members || failed=1
cmp folds/best/model.onnx folds-again/model.onnx || failed=1

# Regression on a table.
awk 'BEGIN {
  srand(5); print "price,area,quarter"
  split("north east south", quarter, " ")
  for (i = 0; i < 500; i++) {
    q = 1 + int(rand() * 3); a = rand()
    print 1e5 + 4e4 * (3 * a + q + 0.1 * rand()) "," (i % 41 == 0 ? "NA" : a) "," quarter[q]
  }
}' > flats.csv
source='csv:flats.csv?target=price'
train flats --set 'goal=[minimize val_loss]' --set 'train.metrics=[mae, mape, rmse, r2, quantile90]' --set stop=none \
  --trials 6 --epochs 6
select_test "$source" flats.csv > test.csv
mv flats/best alone/flats && rm -r flats
"$lanista" predict alone/flats test.csv --out predicted.csv 2> /dev/null
# Training normalises the prices; predictions and all metrics except the loss are in the unit of the prices. Prices are
# read as float32, so metrics that awk computes from the decimal text agree only up to that rounding.
awk -F, 'NR == FNR { price[NR] = $1; next } FNR > 1 {
  n++; d = $2 - price[FNR]; a = d < 0 ? -d : d; mae += a; mape += a / price[FNR]; squares += d * d
  q += d < 0 ? -0.9 * d : 0.1 * d; sum += price[FNR]; t[n] = price[FNR]
} END {
  for (i = 1; i <= n; i++) away += (t[i] - sum / n) ^ 2
  printf "mae %.17g\nmape %.17g\nrmse %.17g\n", mae / n, mape / n, sqrt(squares / n)
  printf "r2 %.17g\nquantile90 %.17g\n", 1 - squares / away, q / n
}' test.csv predicted.csv > computed
while read -r metric value; do
  inside=$(measured alone/flats "test_$metric")
  if awk -v a="$value" -v b="$inside" \
    'BEGIN { d = (a - b) / (b < 0 ? -b : b); exit !(a != "" && b != "" && d < 1e-6 && d > -1e-6) }'; then
    echo "$metric on a raw table: $value"
  else
    echo "FAILED: $metric $value from predictions, $inside in the package"
    failed=1
  fi
done < computed
"$lanista" eval alone/flats test.csv --json > eval.json
for metric in loss mae mape rmse r2 quantile90; do
  same "$metric by eval" "$(sed 's/.*"'"$metric"'":\([-0-9.e]*\).*/\1/' eval.json)" \
    "$(measured alone/flats "test_$metric")"
done
"$lanista" export alone/flats --onnx flats.onnx --cpp flats.cpp 2> exported || { cat exported; failed=1; }

# Several regression targets, with sample weights.
awk 'BEGIN {
  srand(7); print "area,price,sure,quarter,days"
  split("north east south", quarter, " ")
  for (i = 0; i < 500; i++) {
    q = 1 + int(rand() * 3); a = rand(); days = i % 50 == 9 ? "" : 30 - 5 * q - 9 * a
    print a "," 1e5 + 4e4 * (3 * a + q) "," i % 4 "," quarter[q] "," days
  }
}' > sales.csv
source='csv:sales.csv?target=price,days&weight=sure'
train sales --set 'goal=[minimize val_loss]' --set 'train.metrics=[mae, r2]' --set stop=none --trials 4 --epochs 6
"$lanista" data check "$source" > output
grep -q '10 of 500 rows lack one of the targets ("price", "days") and are left out' output ||
  { cat output; echo "FAILED: rows without a target are not reported"; failed=1; }
awk -F, 'NR == 1 || $5 != ""' sales.csv > whole.csv
select_test "$source" whole.csv > test.csv
mv sales/best alone/sales && rm -r sales
"$lanista" predict alone/sales test.csv --out predicted.csv 2> /dev/null
# columns LIST: predicted.csv has exactly these columns
columns() {
  [ "$(head -1 predicted.csv | tr -d '\r')" = "$1" ] || { head -1 predicted.csv; echo "FAILED: columns $1"; failed=1; }
}
columns row,prediction_price,prediction_days
awk -F, 'NR == FNR { price[NR] = $2; days[NR] = $5; next } FNR > 1 {
  n++; d = $2 - price[FNR]; e = $3 - days[FNR]; mae += (d < 0 ? -d : d) + (e < 0 ? -e : e)
} END { printf "%.17g\n", mae / n / 2 }' test.csv predicted.csv > computed
inside=$(measured alone/sales test_mae)
if awk -v a="$(cat computed)" -v b="$inside" \
  'BEGIN { d = (a - b) / b; exit !(a != "" && b != "" && d < 1e-5 && d > -1e-5) }'; then
  echo "mae of two targets: $inside"
else
  echo "FAILED: mae of two targets $(cat computed) from predictions, $inside in the package"
  failed=1
fi
"$lanista" eval alone/sales test.csv > output
grep -q '^ price ' output && grep -q '^ days ' output ||
  { cat output; echo "FAILED: eval has no line for each target"; failed=1; }
"$lanista" export alone/sales --onnx sales.onnx --cpp sales.cpp > output 2>&1 || { cat output; failed=1; }
grep -q '"price",' sales.cpp || { echo "FAILED: the C++ names no targets"; failed=1; }

# Labels: each row has any number of them.
awk 'BEGIN {
  srand(9); print "x,y,rain,wind,snow"
  for (i = 0; i < 500; i++) {
    x = rand() * 4 - 2; y = rand() * 4 - 2
    print x "," y "," (x > 0.2 ? 1 : 0) "," (x * y > 0 ? "yes" : "no") "," (y < -1 ? "true" : "false")
  }
}' > days.csv
source='csv:days.csv?target=rain,wind,snow'
train days --set 'train.metrics=[accuracy, exact_match, f1_macro, roc_auc]' --set stop=none --trials 4 --epochs 9
select_test "$source" days.csv > test.csv
mv days/best alone/days && rm -r days
"$lanista" predict alone/days test.csv --out predicted.csv 2> /dev/null
columns row,p_rain,p_wind,p_snow
awk -F, '
  function has(cell) { sub(/\r$/, "", cell); return cell == "1" || cell == "yes" || cell == "true" }
  NR == FNR { for (k = 3; k <= 5; k++) truth[NR, k] = has($k); next }
  FNR > 1 {
    n++; all = 1
    for (k = 3; k <= 5; k++) {
      p = $(k - 1) + 0; ok = (p > 0.5) == truth[FNR, k]; right += ok; all *= ok
      loss -= log(truth[FNR, k] ? p : 1 - p)
    }
    exact += all
  }
  END { printf "accuracy %.17g\nexact_match %.17g\nloss %.17g\n", right / n / 3, exact / n, loss / n / 3 }
  ' test.csv predicted.csv > computed
while read -r metric value; do
  same "$metric of labels" "$value" "$(measured alone/days "test_$metric")"
done < computed
"$lanista" eval alone/days test.csv --json > eval.json
for metric in accuracy f1_macro roc_auc; do
  same "$metric by eval" "$(sed 's/.*"'"$metric"'":\([-0-9.e]*\).*/\1/' eval.json)" \
    "$(measured alone/days "test_$metric")"
done
"$lanista" export alone/days --onnx days.onnx --cpp days.cpp > output 2>&1 || { cat output; failed=1; }

# Images in NumPy arrays.
"$lanista" data export builtin:digits --npy arrays 2> /dev/null
"$lanista" run --set data.source=npy:arrays/x.npy,arrays/y.npy --trials 6 --epochs 9 --out digits --quiet > /dev/null \
  2>&1
"$lanista" data export npy:arrays/x.npy,arrays/y.npy --npy test --part test 2> /dev/null
"$lanista" data export npy:arrays/x.npy,arrays/y.npy --csv test.csv --part test 2> /dev/null
mv digits/best alone/digits && rm -r digits arrays
"$lanista" predict alone/digits test/x.npy --out predicted.csv 2> /dev/null
accuracy=$(awk -F, 'NR == FNR { sub(/\r$/, ""); label[NR] = $65; next }
  FNR > 1 { n++; if ($2 == label[FNR]) right++ }
  END { printf "%.17g", right / n }' test.csv predicted.csv)
same "accuracy on a raw array" "$accuracy" "$(measured alone/digits test_accuracy)"
"$lanista" eval alone/digits npy:test/x.npy,test/y.npy --json > eval.json
same "loss on a raw array" "$(loss)" "$(measured alone/digits test_loss)"

# Text: the model predicts the byte after a window. Only the output at the last position can depend on the last byte.
awk 'BEGIN {
  srand(5); split("net trident sand crowd", word, " ")
  for (i = 0; i < 300; i++) printf "%s ", word[1 + int(rand() * 4)]
}' > text.txt
"$lanista" run --set 'data.source=tokens:text.txt?context=8&task=next_token' --trials 2 --epochs 2 --out text \
  --quiet > /dev/null 2>&1
printf 'sand and' > one.txt
printf 'sand anx' > other.txt
"$lanista" predict text one.txt --out one.csv 2> /dev/null
"$lanista" predict text other.txt --out other.csv 2> /dev/null
if [ "$(wc -l < one.csv)" -eq 2 ] && [ "$(head -1 one.csv | tr ',' '\n' | wc -l)" -eq 258 ] &&
  ! cmp -s one.csv other.csv; then
  echo "the byte after a text: 256 probabilities, which depend on the last byte"
else
  echo "FAILED: prediction of the byte after a text"
  failed=1
fi
same "they sum to" "$(awk -F, 'NR == 2 { for (i = 3; i <= NF; i++) sum += $i; printf "%.17g", sum }' one.csv)" 1

exit "$failed"
