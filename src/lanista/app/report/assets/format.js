"use strict";

// Numbers and times as the pages write them.

// Four significant digits, thousands apart; NaN and infinities by name.
function short(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return value.toLocaleString("en");
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("e+", "e");
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

function fixed(value) {
  const size = Math.abs(value);
  return size >= 1e-3 && size < 10 && !Number.isInteger(value) ? value.toFixed(4) : short(value);
}

function compact(value) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${letter}`;
  }
  return short(value);
}

function duration(seconds) {
  if (typeof seconds !== "number") return String(seconds);
  if (seconds < 120) return `${Number(seconds.toPrecision(3))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function plural(count, noun) {
  return `${short(count)} ${noun}${count === 1 ? "" : "s"}`;
}
