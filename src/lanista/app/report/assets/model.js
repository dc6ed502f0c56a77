// The study, unpacked from the page's JSON block. Everything else reads `study`, `trials` and `curves`.

const source = JSON.parse(document.getElementById("data").textContent);
const study = source.study;
const kRunning = 0, kSucceeded = 1, kStopped = 2, kFailed = 3, kCancelled = 4, kDuplicate = 5;

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

function integers(packed, count) {
  const out = new Uint32Array(count);
  if ("same" in packed) return out.fill(packed.same);
  const bytes = bytesOf(packed.d);
  for (let i = 0, at = 0; i < count; ++i) {
    let value = 0;
    for (let k = 0; k < packed.u; ++k) value += bytes[at++] * 2 ** (8 * k);
    out[i] = value;
  }
  return out;
}

// Values, and a mark for each one that is missing. NaN is not missing.
function reals(packed, count) {
  const bits = new Uint32Array(count);
  const bytes = bytesOf(packed.d);
  const shift = 4 - packed.f;
  for (let i = 0, at = 0; i < count; ++i) {
    for (let k = shift; k < 4; ++k) bits[i] = (bits[i] | (bytes[at++] << (8 * k))) >>> 0;
  }
  const values = Float64Array.from(new Float32Array(bits.buffer));
  const missing = new Uint8Array(count);
  for (let i = 0; i < count; ++i) missing[i] = bits[i] === 0xffc00000 ? 1 : 0;
  return {values, missing};
}

// A column that charts and the table can show: numbers, or names with their numbers.
class Column {
  constructor(name, values, missing, names, log) {
    Object.assign(this, {name, values, missing, names, log});
  }
  has(i) {
    return !this.missing[i];
  }
  at(i) {
    return this.values[i];
  }
  text(i) {
    if (this.missing[i]) return "";
    return this.names ? this.names[this.values[i]] : short(this.values[i]);
  }
}

function realColumn(name, packed, count, log) {
  const {values, missing} = reals(packed, count);
  return new Column(name, values, missing, null, log);
}

function nameColumn(name, packed, count) {
  const of = integers(packed.of, count);
  return new Column(name, of, Uint8Array.from(of, (v) => (v === 0 ? 1 : 0)), packed.names, false);
}

function integerColumn(name, values, log) {
  return new Column(name, values, new Uint8Array(values.length), null, log);
}

const trials = (() => {
  const packed = source.trials, n = packed.count;
  const out = {count: n};
  for (const key
           of ["id", "state", "parent", "base", "budget", "epochs", "kept", "steps", "parameters", "rank", "off_front",
               "same_as"]) {
    out[key] = integers(packed[key], n);
  }
  out.how = nameColumn("how", packed.how, n);
  out.reason = nameColumn("reason", packed.reason, n);
  out.rungs = nameColumn("rungs", packed.rungs, n);
  out.start = nameColumn("start", packed.start, n);
  out.ended = realColumn("ended", packed.ended, n);
  out.worked = realColumn("worked", packed.worked, n);
  out.metrics = packed.metrics.map((m) => realColumn(m.name, m.of, n, false));
  out.params = packed.params.map((p) => p.of.names ? nameColumn(p.name, p.of, n) : realColumn(p.name, p.of, n, p.log));
  out.rows = new Map();
  for (let i = 0; i < n; ++i) out.rows.set(out.id[i], i);
  return out;
})();
const complete = trials.count === source.proposed;

// Curves by trial: {epochs, values: one array a metric}.
const curves = (() => {
  const packed = source.curves, out = new Map();
  const ids = integers(packed.trial, packed.count), points = integers(packed.points, packed.count);
  const epochs = integers(packed.epoch, packed.total);
  const values = packed.values.map((v) => reals(v, packed.total).values);
  for (let i = 0, at = 0; i < packed.count; at += points[i++]) {
    const end = at + points[i];
    out.set(ids[i], {epochs: epochs.subarray(at, end), values: values.map((v) => v.subarray(at, end))});
  }
  return out;
})();

const timeline = (() => {
  const packed = source.timeline, n = packed.count;
  return {
    count: n,
    worker: integers(packed.worker, n),
    trial: integers(packed.trial, n),
    lanes: integers(packed.lanes, n),
    place: integers(packed.place, n),
    width: integers(packed.width, n),
    helps: integers(packed.helps, n),
    host: packed.host ? integers(packed.host, n) : null,
    began: reals(packed.began, n).values,
    ended: reals(packed.ended, n).values,
  };
})();

// Rows of finished trials from best to worst; rank 0 is none.
const ranked =
    Array.from(trials.rank.keys()).filter((i) => trials.rank[i] > 0).sort((a, b) => trials.rank[a] - trials.rank[b]);

function goalColumn(goal) {
  return trials.metrics[goal];
}
function better(goal, a, b) {
  return study.goals[goal].maximize ? a > b : a < b;
}
function stateName(i) {
  return source.states[trials.state[i]];
}
function baseName(i) {
  return study.bases[trials.base[i]] ?? `base ${trials.base[i]}`;
}
function target(i) {
  return `${study.folder}#${trials.id[i]}`;
}

// A folder's name may contain any character, so a command is quoted for a shell.
function command(verb, what) {
  const plain = /^[\w@%+=:,./#-]+$/.test(what) && !what.startsWith("#") && !what.startsWith("-");
  return `lanista ${verb} ${plain ? what : `'${what.replaceAll("'", `'\\''`)}'`}`;
}
