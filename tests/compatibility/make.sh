#!/bin/sh
# Makes the compatibility studies: FOLDER/NAME.tar.gz, with a study file, what it reads, the study, and new data.
# The archives in this folder are from version 0.1.0 (commit cdbde8fd).
# Do not make them again: new ones protect nothing.
# A new form of a study is a new archive with a new name. Afterwards run `check.sh LANISTA --expect NAME` once.
#
# usage: make.sh LANISTA FOLDER [NAME…]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
lanista=$(realpath "$1")
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
names=${*:-"pbt mltuner zoo implied select folds pipeline processes text onnx two-goals paused"}
# A zoo stores the whole path of a study, so the place has a neutral name.
work=/tmp/lanista-compatibility
mkdir "$work"
trap 'rm -rf "$work"' EXIT
# The portable level gives the same bits on every machine. A new home folder keeps stored times out of the studies.
export LANISTA_ISA=portable HOME="$work/home"
mkdir -p "$HOME"

# points ROWS SEED: a table with two numbers and a class.
points() {
  awk -v rows="$1" -v seed="$2" 'BEGIN {
    srand(seed); print "x,y,class"
    for (i = 0; i < rows; i++) {
      x = int(rand() * 2001 - 1000) / 1000; y = int(rand() * 2001 - 1000) / 1000
      class = x * x + y * y < 0.5 ? "inner" : x > 0.3 ? "right" : "left"
      print x "," y "," class
    }
  }'
}

# flats ROWS SEED: a table with numbers, a category, missing values and a price.
flats() {
  awk -v rows="$1" -v seed="$2" 'BEGIN {
    srand(seed); print "area,colour,floor,price"; split("red green blue", colour, " ")
    for (i = 0; i < rows; i++) {
      c = 1 + int(rand() * 3); area = 20 + int(rand() * 80); floor = int(rand() * 30) / 10
      price = area * 1000 + c * 5000 - floor * 2000
      print (i % 17 == 0 ? "" : area) "," (i % 13 == 0 ? "?" : colour[c]) "," floor "," price
    }
  }'
}

write_inputs() {
  case $1 in
    pipeline | onnx | text | folds) ;;
    *) points 160 1 > table.csv && points 12 2 > labelled.csv && cut -d, -f1-2 labelled.csv > new.csv ;;
  esac
  case $1 in
    paused) points 800 1 > table.csv ;;
    removed-reducible)
      awk -F, '{ print $1 "," $2 "," (NR > 1 ? NR % 7 / 10 : "loss") "," $3 }' table.csv > losses.csv
      ;;
    folds) flats 120 3 > table.csv && flats 12 4 > labelled.csv && cut -d, -f1-3 labelled.csv > new.csv ;;
    text)
      awk 'BEGIN {
        for (i = 0; i < 90; i++) printf "%d times %d is %d. ", i % 7, i % 11, (i % 7) * (i % 11)
      }' > text.txt
      printf '3 times 4 is 12. 5 times 2 is 10. 6 time' > new.txt
      cat > net.graph << 'END'
%0 = input(shape=[8], dtype="index")
%1 = embedding(%0, dim=4, vocab=256)
%2 = positional_embedding(%1)
%3 = layer_norm(%2)
%4 = attention(%3, causal=true, heads=2)
%5 = add(%2, %4)
%6 = slice(%5, axis=1, start=-1)
%7 = flatten(%6)
%8 = linear(%7, out=8) "hidden"
%9 = gelu(%8)
%10 = linear(%9, out=256)
%11 = output(%10)
END
      ;;
    zoo | processes)
      cat > net.graph << 'END'
%0 = input(shape=[2])
%1 = linear(%0, out=8) "hidden"
%2 = relu(%1)
%3 = linear(%2, out=3)
%4 = output(%3)
END
      ;;
    onnx | pipeline)
      [ "$1" = pipeline ] || cp "$root/examples/data/small-resnet.onnx" base.onnx
      # Four images of ones and eights, in NumPy's format.
      head="{'descr': '<f4', 'fortran_order': False, 'shape': (4, 1, 8, 8), }"
      printf '\223NUMPY\001\000\106\000%-69s\n' "$head" > new.npy
      codes=$(awk 'BEGIN {
        for (i = 0; i < 256; i++) printf "\\000\\000\\%s", i * i % 13 < 6 ? "200\\077" : "000\\101"
      }')
      # shellcheck disable=SC2059  # a text of octal codes
      printf "$codes" >> new.npy
      ;;
    *) ;;
  esac
}

study_file() {
  case $1 in
    pbt) cat << 'END' ;;
name: pbt
data: {source: "csv:table.csv", batch: 16}
model: {base: builtin:small-mlp}
space:
  params:
    lr: log(1e-3, 0.3)
    momentum: range(0.5, 0.98)
    label_smoothing: range(0, 0.2)
train: {epochs: 5, optimizer: sgd}
goal: maximize val_accuracy
strategy: {name: pbt, population: 5, interval: 1}
keep: {top: 1}
END
    mltuner) cat << 'END' ;;
name: mltuner
data: {source: "csv:table.csv", batch: 8}
model: {base: builtin:small-mlp}
space:
  mutate: [{widen: {by: [0.5]}}]
  params: {label_smoothing: "quant(0, 0.1, 0.02)"}
train:
  epochs: 12
  tune:
    mltuner:
      params: {lr: "log(1e-4, 1)", momentum: "range(0, 0.95)", weight_decay: "log(1e-6, 1e-2)"}
      trials: 6
goal: maximize val_accuracy
strategy: {name: random, slots: 2}
stop: {rule: patience, epochs: 4}
budget: {trials: 3}
keep: {top: 1}
END
    zoo) cat << 'END' ;;
name: zoo
data: {source: "csv:table.csv", batch: 16}
model: {base: net.graph}
space: {mutate: [{widen: {by: [2]}}, deepen], params: {lr: "log(1e-2, 0.2)"}}
train: {epochs: 2, start: zoo, zoo: zoo, start_rate: eased}
goal: maximize val_accuracy
strategy: {name: evolution, population: 4, tournament: 2, slots: 2}
budget: {trials: 6}
keep: {top: 1}
END
    implied) cat << 'END' ;;
name: implied
data: {source: "csv:table.csv", batch: 16}
model: {base: builtin:small-mlp}
space:
  params:
    lr: [0.03, 0.3, 1e+4, 1e+8]
    batch: [16, 32]
    momentum: 0.9
train: {epochs: 3, schedule: cosine, metrics: [accuracy, f1_macro, log_loss]}
goal: maximize val_accuracy
implied:
  - {when: diverged, along: lr, direction: up}
  - {when: diverged, along: batch, direction: down}
strategy: {name: grid, slots: 2}
budget: {trials: 7}
keep: {top: 1}
END
    # Studies with options that were removed in 0.2.0; the build before the removal made them.
    removed-race) cat << 'END' ;;
name: removed-race
data: {source: "csv:table.csv", batch: 16}
model: {base: builtin:small-mlp}
space: {mutate: [{widen: {by: [0.5]}}], params: {lr: "log(1e-2, 0.2)"}}
train: {epochs: 2, start: parent, start_race: 4}
goal: maximize val_accuracy
strategy: {name: evolution, population: 4, tournament: 2, slots: 2}
budget: {trials: 6}
keep: {top: 1}
END
    removed-published) cat << 'END' ;;
name: removed-published
data: {source: "csv:table.csv", batch: 8}
model: {base: builtin:small-mlp}
space: {params: {label_smoothing: "quant(0, 0.1, 0.02)"}}
train:
  epochs: 6
  tune:
    mltuner:
      params: {lr: "log(1e-4, 1)", momentum: "range(0, 0.95)"}
      halving: 0
      searcher: marginal
      paired: false
      trials: 5
      retune: 1
      sequential: 3
      second_look: 2
goal: maximize val_accuracy
strategy: {name: random, slots: 2}
budget: {trials: 3}
keep: {top: 1}
END
    removed-checks) cat << 'END' ;;
name: removed-checks
data: {source: "csv:table.csv", batch: 8}
model: {base: builtin:small-mlp}
train: {epochs: 6}
goal: maximize val_accuracy
strategy:
  name: mltuner
  params: {lr: "log(1e-4, 1)", momentum: "range(0, 0.95)"}
  trials: 6
  retune: 1
  sure: 1
  undo: 1
budget: {trials: 2}
keep: {top: 1}
END
    removed-auto) cat << 'END' ;;
name: removed-auto
data: {source: "csv:table.csv", batch: 16}
model: {base: builtin:small-mlp}
space: {params: {lr: "log(1e-2, 0.3)"}}
train: {epochs: 4, select: {auto: {steps: 6}}}
goal: maximize val_accuracy
strategy: {name: random, slots: 2}
budget: {trials: 3}
keep: {top: 1}
END
    removed-reducible) cat << 'END' ;;
name: removed-reducible
data: {source: "csv:losses.csv?holdout=loss", batch: 16}
model: {base: builtin:small-mlp}
space: {params: {lr: "log(1e-2, 0.3)"}}
train: {epochs: 4, select: {reducible: {keep: 0.5}}}
goal: maximize val_accuracy
strategy: {name: random, slots: 2}
budget: {trials: 3}
keep: {top: 1}
END
    select) cat << 'END' ;;
name: select
data: {source: "csv:table.csv", batch: 16, augment: [{noise: {std: 0.1}}]}
model: {base: builtin:small-mlp}
space: {params: {lr: "log(1e-2, 0.3)", momentum: "range(0.5, 0.95)"}}
train: {epochs: 6, schedule: cosine, select: {selective: {beta: 1, stale: 2}}}
goal: maximize val_accuracy
strategy: {name: tpe, slots: 2}
budget: {trials: 5}
keep: {top: 1}
END
    folds) cat << 'END' ;;
name: folds
data: {source: "csv:table.csv?target=price", batch: 16, folds: 3}
model: {base: builtin:small-mlp}
space:
  params:
    optimizer:
      adamw: {lr: "log(1e-3, 3e-2)", weight_decay: "log(1e-4, 1e-1)"}
      lion: {lr: "log(1e-4, 1e-2)"}
train: {epochs: 3}
goal: minimize val_loss
strategy: {name: gp, slots: 3}
stop: none
budget: {trials: 9}
keep: {top: 1}
END
    pipeline) cat << 'END' ;;
name: pipeline
data: {source: builtin:digits, batch: 64}
model: {base: builtin:small-cnn}
space: {mutate: [{widen: {by: [0.5]}}], params: {optimizer: rmsprop, lr: "log(1e-3, 1e-2)"}}
train: {epochs: 1, steps_per_epoch: 6}
goal: maximize val_accuracy
strategy: {name: random, slots: 1}
budget: {trials: 2}
run: {pipeline: 2}
keep: {top: 1}
END
    processes) cat << 'END' ;;
name: processes
data: {source: "csv:table.csv", batch: 16}
model: {base: net.graph}
space:
  mutate: [swap_op, {widen: {by: [0.5]}}, deepen, remove, {add_skip: {max: 1}}]
  params:
    optimizer:
      sgd: {lr: "log(1e-2, 0.5)", momentum: "range(0, 0.95)"}
      adam: {lr: "log(1e-4, 1e-2)"}
train: {epochs: 4, schedule: cosine, warmup_epochs: 0.5}
goal: maximize val_accuracy
subject_to: [params <= 20k]
strategy: {name: evolution, population: 6, slots: 4}
stop: {rule: asha, rungs: [1, 2]}
budget: {trials: 12}
run: {isolation: process}
keep: {top: 1}
END
    text) cat << 'END' ;;
name: text
data: {source: "tokens:text.txt?context=8", batch: 16}
model: {base: net.graph}
space: {params: {lr: "log(3e-2, 0.3)", clip_norm: 1}}
train: {epochs: 2, schedule: cosine}
goal: minimize val_loss
strategy: {name: sobol, slots: 2}
stop: {rule: median}
budget: {trials: 4}
keep: {top: 1}
END
    onnx) cat << 'END' ;;
name: onnx
data: {source: builtin:digits, batch: 64}
model: {base: base.onnx}
space:
  mutate: [{widen: {by: [0.5]}}, remove]
  params: {optimizer: adam, lr: "log(1e-3, 3e-2)"}
train: {epochs: 1, steps_per_epoch: 4, start: file, start_from: base}
goal: maximize val_accuracy
strategy: {name: evolution, population: 2, slots: 2}
budget: {trials: 4}
keep: {top: 1}
END
    two-goals) cat << 'END' ;;
name: two-goals
data: {source: "csv:table.csv", batch: 16}
model: {base: builtin:small-mlp}
space:
  mutate: [swap_op, {widen: {by: [0.5, 2]}}]
  params: {optimizer: adam, lr: "log(1e-3, 3e-2)"}
  limits: {params: <= 50k}
train: {epochs: 3, schedule: step}
goal: [maximize val_accuracy, minimize params]
strategy: {name: nsga2, population: 6}
stop: none
budget: {trials: 8}
keep: {top: 3, ensemble: 4}
END
    paused) cat << 'END' ;;
name: paused
data: {source: "csv:table.csv", batch: 2}
model: {base: builtin:small-mlp}
space:
  params:
    lr: log(1e-3, 0.3)
    momentum: range(0, 0.95)
train: {epochs: 27, schedule: cosine}
goal: maximize val_accuracy
strategy: {name: bohb, slots: 4}
stop: {rule: hyperband, eta: 3, cycles: 1}
keep: {top: 1}
END
  esac
}

# run_study NAME OPTIONS…: the study NAME.yaml in study/, without what is derived from it.
run_study() {
  "$lanista" run study.yaml --out study --workers 1 --quiet "$@" > /dev/null
}

make() {
  if [ -e "$out/$1.tar.gz" ]; then
    echo "make.sh: $out/$1.tar.gz exists; it is not made again" >&2
    exit 1
  fi
  mkdir "$work/$1" && cd "$work/$1"
  write_inputs "$1"
  study_file "$1" > study.yaml
  case $1 in
    zoo)
      # The first study fills the zoo. The second one, with another seed, starts from its models.
      run_study --seed 2 && rm -r study
      run_study
      ;;
    paused)
      # A study that is asked to pause after twenty measurements.
      "$lanista" run study.yaml --out study --workers 1 --json 2> /dev/null |
        while read -r event; do
          case $event in
            *'"event":"metric"'*) seen=$((${seen:-0} + 1)) && if [ "$seen" = 20 ]; then : > study/control/pause; fi ;;
          esac
        done
      "$lanista" status study
      ;;
    *) run_study ;;
  esac
  rm -f study/report.html
  if grep -rlaE "$root|$lanista|/home/|/root/|/work/" . || grep -rlaF "$work" . | grep -v '/index\.sqlite$'; then
    echo "make.sh: $1 has a path of this machine" >&2
    exit 1
  fi
  cd "$work"
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$1" | gzip -9n > "$out/$1.tar.gz"
  ls -l "$out/$1.tar.gz" | awk '{ print $5, $9 }'
}

for name in $names; do
  (make "$name")
done
