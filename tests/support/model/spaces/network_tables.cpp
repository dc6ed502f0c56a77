#include "support/model/spaces/network_tables.h"

#include <algorithm>
#include <utility>

namespace lanista::mutate::tables {
namespace {

using Int = std::int64_t;

/// The size of a value.
struct Value {
  Int channels = 0, size = 0;
};

Int halved(Int size) { return (size + 1) / 2; }

class Counter {
 public:
  /// Adds a layer with `out` channels of `size` x `size`, each from `reads` numbers.
  void convolution(Int reads, Int out, Int size) {
    tally.parameters += reads * out;
    tally.macs += reads * out * size * size;
  }
  void norm(Int channels) { tally.parameters += 2 * channels; }
  void act() { ++tally.activations; }
  void conv(Int in, Int out, Int window, Int size) {
    convolution(in * window * window, out, size);
    norm(out);
  }
  void depthwise(Int channels, Int window, Int size) {
    convolution(window * window, channels, size);
    norm(channels);
  }
  void separable(Int in, Int out, Int window, Int size) {
    convolution(window * window, in, size);
    conv(in, out, 1, size);
  }
  void linear(Int in, Int out, bool offset) {
    convolution(in, out, 1);
    tally.parameters += offset ? out : 0;
  }
  /// Two 1x1 convolutions of half the channels each.
  Value factorised(Value from, Int out) {
    ++tally.reductions;
    convolution(from.channels, out, halved(from.size));
    norm(out);
    return {out, halved(from.size)};
  }
  Value project(Value from, Int out) {
    conv(from.channels, out, 1, from.size);
    return {out, from.size};
  }

  NetworkSize tally;
};

enum class CellStyle { kDarts, kEnas, kNasnet };

class CellCounter : public Counter {
 public:
  CellCounter(const CellNetwork& network, CellStyle cell_style) : network_(network), cell_style_(cell_style) {}

  Value cell(Value before, Value last, Int width, bool reduction, bool first_of_all = false) {
    const bool nasnet = cell_style_ == CellStyle::kNasnet;
    if (before.size != last.size) {
      act();
      before = factorised(before, width);
    } else if (cell_style_ == CellStyle::kDarts || (before.channels != width && !(nasnet && first_of_all))) {
      act();
      before = project(before, width);
    }
    if (cell_style_ == CellStyle::kEnas && last.channels != width) {
      act();
      last = project(last, width);
    }
    act();
    last = project(last, width);

    std::vector<Value> values{before, last};
    if (nasnet) std::swap(values[0], values[1]);
    const CellTable& table = reduction ? network_.reduce : network_.normal;
    for (std::size_t i = 0; i < table.steps.size(); i += 2) {
      Value node;
      for (const CellStep& each : {table.steps[i], table.steps[i + 1]}) {
        node = step(each.op, values[static_cast<std::size_t>(each.from)], width, reduction && each.from < 2);
      }
      ++tally.sums;
      values.push_back(node);
    }
    Value joined{0, values.back().size};
    for (const int given : table.gives) {
      const Value value = values[static_cast<std::size_t>(given)];
      if (value.size != joined.size) {
        factorised(value, width);
      } else if (value.channels != width) {
        project(value, width);
      }
      joined.channels += width;
    }
    return joined;
  }

 private:
  Value step(std::string_view op, Value from, Int width, bool halve) {
    const Int size = halve ? halved(from.size) : from.size;
    if (op == "skip" && halve && cell_style_ != CellStyle::kNasnet) {
      if (cell_style_ == CellStyle::kDarts) act();
      return factorised(from, width);
    }
    if (op == "skip") {
      if (halve || from.channels != width) {
        act();
        conv(from.channels, width, 1, size);
      }
    } else if (op == "avg3" || op == "max3") {
      if (from.channels != width) conv(from.channels, width, 1, size);
    } else if (op == "conv7x1_1x7") {
      const Int quarter = width / 4;
      for (int i = 0; i < 4; ++i) act();
      conv(from.channels, quarter, 1, from.size);
      convolution(7 * quarter, quarter, 0);  // also counted below: the first window halves columns only
      tally.macs += 7 * quarter * quarter * from.size * size;
      norm(quarter);
      convolution(7 * quarter, quarter, size);
      norm(quarter);
      conv(quarter, width, 1, size);
    } else {
      const Int window = op.back() - '0';
      act();
      separable(from.channels, width, window, size);
      if (op.starts_with("dil")) return {width, size};
      act();
      separable(width, width, window, size);
    }
    return {width, size};
  }

  const CellNetwork& network_;
  CellStyle cell_style_;
};

}  // namespace

NetworkSize darts(const CellNetwork& network) {
  CellCounter count(network, CellStyle::kDarts);
  Int width = network.width;
  Value before, last;
  if (network.imagenet) {
    const Int size = halved(halved(network.size));
    count.conv(3, width / 2, 3, halved(network.size));
    count.conv(width / 2, width, 3, size);
    count.conv(width, width, 3, halved(size));
    count.act();
    count.act();
    before = {width, size};
    last = {width, halved(size)};
  } else {
    count.conv(3, 3 * width, 3, network.size);
    before = last = {3 * width, network.size};
  }
  for (Int stage = 0; stage < 3; ++stage) {
    if (stage > 0) {
      width *= 2;
      before = std::exchange(last, count.cell(before, last, width, true));
    }
    for (Int i = 0; i < network.cells; ++i) before = std::exchange(last, count.cell(before, last, width, false));
  }
  count.linear(last.channels, network.classes, true);
  return count.tally;
}

NetworkSize nasnet(const CellNetwork& network, bool past) {
  CellCounter count(network, CellStyle::kNasnet);
  const Int size = network.imagenet ? (network.size - 3) / 2 + 1 : network.size;
  count.conv(3, network.stem, 3, size);
  std::vector<Value> outputs{{network.stem, size}};
  const auto add = [&](Value before, Int width, bool reduction) {
    outputs.push_back(count.cell(before, outputs.back(), width, reduction, outputs.size() == 1));
  };
  const auto one_before = [&] { return outputs.size() > 1 ? outputs[outputs.size() - 2] : outputs.back(); };
  if (network.imagenet) {
    add(one_before(), network.width / 4, true);
    add(one_before(), network.width / 2, true);
  }
  Int width = network.width;
  for (Int i = 0; i < 3 * network.cells; ++i) {
    Value before = one_before();
    if (i == network.cells || i == 2 * network.cells) {
      width *= 2;
      add(one_before(), width, true);
      if (!past) before = one_before();
    }
    add(before, width, false);
  }
  count.act();
  count.linear(outputs.back().channels, network.classes, true);
  return count.tally;
}

NetworkSize enas_micro(const CellNetwork& network) {
  CellCounter count(network, CellStyle::kEnas);
  Int width = network.width;
  count.conv(3, 3 * width, 3, network.size);
  Value before{3 * width, network.size}, last = before;
  const Int layers = 3 * network.cells + 2;
  for (Int i = 0; i < layers; ++i) {
    const bool reduction = i == network.cells || i == 2 * network.cells + 1;
    if (reduction) width *= 2;
    before = std::exchange(last, count.cell(before, last, width, reduction));
  }
  count.act();
  count.linear(last.channels, network.classes, false);
  return count.tally;
}

NetworkSize enas_macro(const std::vector<MacroLayer>& layers, std::int64_t width) {
  Counter count;
  Int size = 32;
  count.conv(3, width, 3, size);
  const std::size_t third = layers.size() / 3;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    count.conv(width, width, 1, size);
    count.conv(width, width, layers[i].window, size);
    for (int before = 0; before < (i > 0 ? 3 : 2); ++before) count.act();
    const auto skips = static_cast<Int>(std::count(layers[i].skips.begin(), layers[i].skips.end(), true));
    if (i > 0) count.conv((skips + 1) * width, width, 1, size);
    if (i + 1 != third && i + 1 != 2 * third) continue;
    for (std::size_t value = 0; value <= i + 1; ++value) count.factorised({width, size}, 2 * width);
    width *= 2;
    size /= 2;
  }
  count.linear(width, 10, false);
  return count.tally;
}

NetworkSize mobile(const MobileNetwork& network) {
  Counter count;
  Int size = 112, in = network.stem, number = 0;
  const auto act = [&](bool outside) {
    count.act();
    const bool swish = network.swish_from >= 0 && (outside || number >= network.swish_from);
    count.tally.swishes += swish ? 1 : 0;
  };
  count.conv(3, in, 3, size);
  act(true);
  for (const MobileRow& row : network.rows) {
    if (row.hidden != in) {
      count.conv(in, row.hidden, 1, size);
      act(false);
    }
    if (row.stride == 2) size = halved(size);
    count.depthwise(row.hidden, row.window, size);
    act(false);
    if (row.squeezed > 0) {
      count.act();
      count.act();
      count.linear(row.hidden, row.squeezed, true);
      count.linear(row.squeezed, row.hidden, true);
    }
    count.conv(row.hidden, row.out, 1, size);
    count.tally.sums += row.stride == 1 && in == row.out ? 1 : 0;
    in = row.out;
    ++number;
  }
  count.conv(in, network.head, 1, size);
  act(true);
  in = network.head;
  if (network.features > 0) {
    act(true);
    count.linear(in, network.features, true);
    in = network.features;
  }
  count.linear(in, 1000, true);
  return count.tally;
}

NetworkSize spos(const std::array<int, 20>& blocks) {
  Counter count;
  Int size = 112, in = 16;
  const auto pointwise = [&](Int from, Int to, Int at) {
    count.conv(from, to, 1, at);
    count.act();
  };
  count.conv(3, in, 3, size);
  count.act();
  std::size_t next = 0;
  for (const auto& [number, out] : {std::pair<int, Int>{4, 64}, {4, 160}, {8, 320}, {4, 640}}) {
    for (int i = 0; i < number; ++i) {
      const int kind = blocks[next++];
      const Int window = kind == 3 ? 3 : 3 + 2 * kind, half = out / 2;
      const bool first = i == 0;
      const Int from = first ? in : half, to = out - from, smaller = first ? size / 2 : size;
      if (first) {
        count.depthwise(from, window, smaller);
        pointwise(from, from, smaller);
      }
      if (kind == 3) {
        for (const auto& [a, b] : {std::pair{from, half}, {half, half}, {half, to}}) {
          count.depthwise(a, 3, smaller);
          pointwise(a, b, smaller);
        }
      } else {
        pointwise(from, half, size);
        count.depthwise(half, window, smaller);
        pointwise(half, to, smaller);
      }
      size = smaller;
      in = out;
    }
  }
  pointwise(in, 1024, size);
  count.linear(1024, 1000, false);
  return count.tally;
}

}  // namespace lanista::mutate::tables
