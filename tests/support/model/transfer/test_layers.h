#pragma once

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/graph.h"

namespace lanista::zoo::testing {

/// A fifth of the random cases of a property test; with LANISTA_WHOLE_ZOO all of them.
inline std::uint64_t cases(std::uint64_t whole) {
  return std::getenv("LANISTA_WHOLE_ZOO") != nullptr ? whole : whole / 5;
}

/// A model of random layers with sums of equal widths, all values [N, width].
inline graph::Graph random_layers(Rng rng, std::int64_t most) {
  static const std::vector<std::int64_t> kWidths{4, 6, 8};
  graph::GraphBuilder builder;
  struct Value {
    graph::Port port;
    std::int64_t width;
    bool read = false;
  };
  std::vector<Value> values{{{builder.add("input", {}, {{"shape", std::vector<std::int64_t>{4}}}), 0}, 4}};
  const auto pick = [&](std::int64_t width) -> Value* {
    std::vector<Value*> fit;
    for (Value& value : values) {
      if (width == 0 || value.width == width) fit.push_back(&value);
    }
    return fit.empty() ? nullptr : fit[rng.below(fit.size())];
  };
  const auto add = [&](const char* op, std::vector<graph::Port> in, graph::Attrs attrs, std::int64_t width) {
    values.push_back({{builder.add(op, std::move(in), std::move(attrs)), 0}, width});
  };
  for (std::int64_t left = rng.between(1, most); left > 0; --left) {
    Value& from = *pick(0);
    const double what = rng.uniform();
    from.read = true;
    const graph::Port port = from.port;
    const std::int64_t width = from.width;
    if (what < 0.5) {
      const std::int64_t out = kWidths[rng.below(kWidths.size())];
      add("linear", {port}, {{"out", out}}, out);
    } else if (what < 0.75) {
      Value& other = *pick(width);
      other.read = true;
      add("add", {port, other.port}, {}, width);
    } else {
      add("relu", {port}, {}, width);
    }
  }
  // Unread values pass through layers of one width and are added.
  std::vector<graph::Port> ends;
  for (const Value& value : std::vector<Value>(values)) {
    if (!value.read) ends.push_back({builder.add("linear", {value.port}, {{"out", std::int64_t{3}}}), 0});
  }
  graph::Port end = ends.front();
  if (ends.size() > 1) end = {builder.add("add", ends), 0};
  builder.add("output", {end});
  return std::move(builder).take();
}

}  // namespace lanista::zoo::testing
