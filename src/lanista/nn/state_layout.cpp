#include "lanista/nn/state_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "lanista/base/check.h"

namespace lanista::nn {
namespace {

// The layout that a kernel wants of a parameter at input `slot`. Shapes alone cannot tell: a [4, 4] value may be a
// linear weight or anything else.
Layout wanted_layout(const Call& call, std::size_t slot) {
  const std::string_view kernel = call.kernel;
  const auto is_one_of = [kernel](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), kernel) != names.end();
  };
  if (slot == 1 && is_one_of({"linear", "linear_relu", "linear_grad_x"})) return Layout::kLinearWeight;
  if (slot == 1 && is_one_of({"conv2d", "conv2d_relu", "conv2d_grad_x", "conv_transpose2d"})) {
    return Layout::kConvWeight;
  }
  const bool norm = (kernel == "layer_norm" || kernel == "layer_norm_train") && (slot == 1 || slot == 2);
  const bool norm_grad = kernel == "layer_norm_grad" && slot == 4;
  if ((norm || norm_grad) && value_layout(call.in_types[0].shape) == Layout::kImage) return Layout::kMap;
  return Layout::kPlain;
}

// Runs grow as long as nothing lies between.
void append(std::vector<Range>& runs, const Range& range) {
  if (!runs.empty() && runs.back().begin + runs.back().count == range.begin) {
    runs.back().count += range.count;
  } else {
    runs.push_back(range);
  }
}

class Wishes {
 public:
  Result<void> read(const Lowered& lowered, const std::vector<step::StateTensor>& state) {
    std::map<graph::NodeId, std::string> names;
    for (const step::StateTensor& tensor : state) names[tensor.node] = tensor.name;
    for (const Call& call : lowered.calls) {
      for (std::size_t slot = 0; slot < call.inputs.size(); ++slot) {
        const auto name = names.find(call.inputs[slot].node);
        if (name == names.end()) continue;
        const Layout layout = wanted_layout(call, slot);
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
  std::map<std::string, Layout> layouts_;
};

}  // namespace

Result<StateLayout> lay_out_state(const step::TrainingStep& train, const Lowered& train_calls,
                                  const step::InferenceStep& infer, const Lowered& infer_calls) {
  LANISTA_CHECK(train.state.size() == infer.state.size(), "training and inference have different states");
  Wishes wishes;
  LANISTA_TRY(wishes.read(train_calls, train.state));
  LANISTA_TRY(wishes.read(infer_calls, infer.state));

  std::set<graph::NodeId> renewed;
  for (const graph::NodeId id : train.commit) {
    const graph::Node& node = train.graph.node(id);
    if (node.op == "buffer_update") renewed.insert(node.inputs[0].node);
  }
  StateLayout result;
  for (std::size_t i = 0; i < train.state.size(); ++i) {
    const step::StateTensor& tensor = train.state[i];
    LANISTA_CHECK(infer.state[i].name == tensor.name && infer.state[i].shape == tensor.shape,
                  "training and inference have different states at '" + tensor.name + "'");
    StateItem item{.tensor = tensor, .range = {}, .layout = wishes.of(tensor.name), .into = {}, .out_of = {}};
    item.into = Reorder::into(tensor.shape, item.layout);
    item.out_of = Reorder::out_of(tensor.shape, item.layout);
    std::int64_t& end = tensor.trained ? result.parameters : result.buffers;
    item.range = {end, tensor.shape.elements_per_sample()};
    end += item.range.count;
    if (tensor.trained && train.gradient.contains(tensor.node)) append(result.trained, item.range);
    if (!tensor.trained && renewed.contains(tensor.node)) append(result.renewed, item.range);
    result.items.push_back(std::move(item));
  }
  if (train.options.optimizer == step::Optimizer::kSgd) {
    result.slots = {"momentum"};
  } else {
    result.slots = {"m", "v"};
  }
  return result;
}

}  // namespace lanista::nn
