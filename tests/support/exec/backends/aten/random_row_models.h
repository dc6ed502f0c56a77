#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "support/exec/backends/aten/test_support.h"

namespace lanista::device::testing {

// A random model on rows of eight elements, with layers that a device may fuse, in any order. A layer's result is read
// once, twice, or by a residual sum.
inline TestModel random_row_model(std::uint64_t seed) {
  Rng rng(seed);
  const auto one_of = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[rng.below(all.size())]);
  };
  std::vector<std::string> lines{"linear(%0, out=8)"};
  const auto last = [&] { return "%" + std::to_string(lines.size()); };
  const auto then = [&](const std::string& op, const std::string& rest = "") {
    lines.push_back(op + "(" + last() + rest + ")");
  };
  for (int block = 0; block < 3; ++block) {
    const std::string before = last();
    switch (rng.below(5)) {
      case 0:
        then("attention", ", heads=" + one_of({"1", "2", "4"}));
        break;
      case 1:
        then("layer_norm");
        break;
      case 2:
        then("linear", ", out=8");
        break;
      case 3:
        then("linear", ", out=" + one_of({"12", "16", "7"}));
        then(one_of({"relu", "gelu", "silu", "hard_swish", "relu6"}));
        then("linear", ", out=8");
        break;
      default: {
        const std::string cut = one_of({"3", "4"}), from = last();
        lines.push_back("slice(" + from + ", axis=2, start=0, end=" + cut + ")");
        lines.push_back("slice(" + from + ", axis=2, start=" + one_of({cut == "3" ? "3" : "4", "2"}) + ", end=8)");
        lines.push_back("concat(%" + std::to_string(lines.size()) + ", %" + std::to_string(lines.size() - 1) +
                        ", axis=2)");
        then("linear", ", out=8");
      }
    }
    const std::string made = last();
    const std::uint64_t how = rng.below(4);
    if (how == 0) lines.push_back("add(" + before + ", " + made + ")");
    if (how == 1) lines.push_back("add(" + made + ", " + before + ")");
    if (how == 2) {
      then(one_of({"relu", "gelu", "silu"}));
      if (rng.bernoulli(0.5)) lines.push_back("add(" + made + ", " + last() + ")");
    }
  }
  if (rng.bernoulli(0.3)) {
    then("layer_norm");
    then("mean", ", axes=[" + one_of({"1", "2"}) + "]");
  }
  then("flatten");
  then("linear", ", out=10");
  std::string text = "%0 = input(shape=[5,6])\n";
  for (std::size_t i = 0; i < lines.size(); ++i) text += "%" + std::to_string(i + 1) + " = " + lines[i] + "\n";
  return {.name = "random_rows_" + std::to_string(seed),
          .text = text + "%" + std::to_string(lines.size() + 1) + " = output(" + last() + ")\n"};
}

}  // namespace lanista::device::testing
