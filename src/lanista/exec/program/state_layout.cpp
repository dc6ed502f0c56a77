#include "lanista/exec/program/state_layout.h"

#include <algorithm>
#include <map>

#include "lanista/base/check.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::program {
namespace {

// Appends a range, or extends the last one if it continues it.
void append(std::vector<Range>& runs, const Range& range) {
  if (!runs.empty() && runs.back().begin + runs.back().count == range.begin) {
    runs.back().count += range.count;
  } else {
    runs.push_back(range);
  }
}

class LayoutRequirements {
 public:
  explicit LayoutRequirements(const RequiredLayout& wanted) : wanted_(wanted) {}

  Result<void> read(const LoweredGraph& lowered, const std::vector<autodiff::StateTensor>& state) {
    std::map<graph::NodeId, std::string> names;
    for (const autodiff::StateTensor& tensor : state) names[tensor.node] = tensor.name;
    for (const KernelCall& call : lowered.calls) {
      for (std::size_t slot = 0; slot < call.inputs.size(); ++slot) {
        const auto name = names.find(call.inputs[slot].node);
        if (name == names.end()) continue;
        const Layout layout = wanted_(call, slot);
        const auto [known, added] = layouts_.try_emplace(name->second, layout);
        if (added || known->second == layout) continue;
        return Error{.code = Code::kUnimplemented,
                     .message = "parameter '" + name->second + "' is read in two layouts, " +
                                std::string(layout_name(known->second)) + " and " + std::string(layout_name(layout)) +
                                " (by " + call.kernel + ")",
                     .where = {}};
      }
    }
    return {};
  }

  Layout of(const std::string& name) const {
    const auto known = layouts_.find(name);
    return known == layouts_.end() ? Layout::kPlain : known->second;
  }

 private:
  const RequiredLayout& wanted_;
  std::map<std::string, Layout> layouts_;
};

}  // namespace

Result<StateLayout> plan_state_layout(const autodiff::TrainingStep* train, const LoweredGraph& train_calls,
                                      const autodiff::InferenceStep& infer, const LoweredGraph& infer_calls,
                                      const RequiredLayout& wanted) {
  const std::vector<autodiff::StateTensor>& state = train != nullptr ? train->state : infer.state;
  LANISTA_CHECK(state.size() == infer.state.size(), "training and inference have different states");
  LayoutRequirements requirements(wanted);
  LANISTA_TRY(requirements.read(train_calls, state));
  LANISTA_TRY(requirements.read(infer_calls, infer.state));

  StateLayout result;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const autodiff::StateTensor& tensor = state[i];
    LANISTA_CHECK(infer.state[i].name == tensor.name && infer.state[i].shape == tensor.shape,
                  "training and inference have different states at '" + tensor.name + "'");
    StateTensorLayout item{
        .tensor = tensor, .range = {}, .layout = requirements.of(tensor.name), .to_layout = {}, .from_layout = {}};
    item.to_layout = Reorder::to_layout(tensor.shape, item.layout);
    item.from_layout = Reorder::from_layout(tensor.shape, item.layout);
    std::int64_t& end = tensor.trained ? result.parameters : result.buffers;
    item.range = {end, tensor.shape.elements_per_sample()};
    end += item.range.count;
    if (tensor.trained && train != nullptr && train->gradient.contains(tensor.node)) append(result.trained, item.range);
    if (!tensor.trained && train != nullptr && train->renewed.contains(tensor.node)) append(result.renewed, item.range);
    result.items.push_back(std::move(item));
  }
  if (train == nullptr) return result;
  const autodiff::Optimizer* optimizer = autodiff::find_optimizer(train->options.optimizer);
  LANISTA_CHECK(optimizer != nullptr, "a step without optimiser");
  result.slots = optimizer->slots;
  return result;
}

}  // namespace lanista::program
