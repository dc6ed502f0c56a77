// The size of a model before it is built. Rounds multiply, so a short text can describe a very large model.
#include <algorithm>

#include "lanista/model/spaces/blueprint_plan.h"

namespace lanista::mutate {

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // above every limit; times a thousand, no overflow

class Counter {
 public:
  explicit Counter(const space::Sample& sample) : sample_(sample) {}

  ExpansionSize chain(const PlannedChain& chain, const std::string& suffix) const {
    ExpansionSize sum;
    for (const PlannedBlock& step : chain.steps) sum += block(step, suffix);
    return sum;
  }

 private:
  ExpansionSize block(const PlannedBlock& step, const std::string& suffix) const {
    const auto& what = step.block->what;
    if (const auto* choice = std::get_if<LayerChoice>(&what)) {
      return ExpansionSize{0, 1} + option(step, choice->options, choice->label, suffix);
    }
    if (const auto* repeat = std::get_if<Repeat>(&what)) return ExpansionSize{0, 1} + rounds(step, *repeat, suffix);
    if (const auto* cell = std::get_if<Cell>(&what)) return ExpansionSize{0, 1} + of_cell(step, *cell, suffix);
    const bool sums = std::holds_alternative<Group>(what) || std::holds_alternative<Parallel>(what);
    if (!sums) return step.min_extent;
    ExpansionSize sum{0, 1};
    for (const PlannedChain& inner : step.chains) sum += chain(inner, suffix);
    return sum;
  }

  ExpansionSize option(const PlannedBlock& step, const std::vector<Option>& options, const std::string& label,
                       const std::string& suffix) const {
    const auto chosen = sample_.find(label + suffix);
    const auto* name = chosen == sample_.end() ? nullptr : std::get_if<std::string>(&chosen->second);
    for (std::size_t i = 0; name != nullptr && i < options.size(); ++i) {
      if (options[i].name == *name) return chain(step.chains[i], suffix);
    }
    return min_extent_of(step.chains);
  }

  ExpansionSize rounds(const PlannedBlock& step, const Repeat& repeat, const std::string& suffix) const {
    std::int64_t count = rounds_of(repeat).front();
    const auto chosen = sample_.find(repeat.label + suffix);
    const auto* depth = chosen == sample_.end() ? nullptr : std::get_if<std::int64_t>(&chosen->second);
    if (depth != nullptr) count = std::clamp<std::int64_t>(*depth, 0, kMaxRounds);
    const PlannedChain& body = step.chains.front();
    if (!repeat.own) return count * chain(body, suffix);
    ExpansionSize sum;
    for (std::int64_t round = 1; round <= count; ++round) sum += chain(body, suffix + "/" + std::to_string(round));
    return sum;
  }

  ExpansionSize of_cell(const PlannedBlock& step, const Cell& cell, const std::string& suffix) const {
    ExpansionSize sum;
    for (std::int64_t node = 1; node <= cell.nodes; ++node) {
      for (std::int64_t input = 1; input <= cell.inputs; ++input) {
        sum += option(step, cell.ops, cell_label(cell, node, input, "op"), suffix);
      }
      sum.nodes += cell.inputs > 1 ? 1 : 0;
    }
    return sum;
  }

  const space::Sample& sample_;
};

}  // namespace

ExpansionSize& ExpansionSize::operator+=(const ExpansionSize& other) {
  nodes = std::min(nodes + other.nodes, kMost);
  steps = std::min(steps + other.steps, kMost);
  return *this;
}

ExpansionSize operator*(std::int64_t rounds, const ExpansionSize& one) {
  return {std::min(rounds * one.nodes, kMost), std::min(rounds * one.steps, kMost)};
}

ExpansionSize min_extent_of(const std::vector<PlannedChain>& chains) {
  if (chains.empty()) return {};
  ExpansionSize min_extent = chains.front().min_extent;
  for (const PlannedChain& chain : chains) {
    min_extent = {std::min(min_extent.nodes, chain.min_extent.nodes),
                  std::min(min_extent.steps, chain.min_extent.steps)};
  }
  return min_extent;
}

std::optional<std::string> size_limit_error(const ExpansionSize& extent) {
  const auto above = [](std::int64_t size, std::size_t most) { return size > static_cast<std::int64_t>(most); };
  if (above(extent.nodes, kMaxModelNodes))
    return "the model would have more than " + std::to_string(kMaxModelNodes) + " nodes";
  if (above(extent.steps, kMaxSteps)) return "more than " + std::to_string(kMaxSteps) + " blocks in all rounds";
  return std::nullopt;
}

ExpansionSize extent_of(const PlannedChain& root, const space::Sample& sample) {
  return Counter(sample).chain(root, "");
}

}  // namespace lanista::mutate
