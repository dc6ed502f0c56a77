#include "lanista/exec/program/commit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lanista/base/check.h"
#include "lanista/exec/program/plan_lines.h"

namespace lanista::program {
namespace {

// An update has its inputs in groups of one length: parameters, their gradients, then each slot.
template <class T>
std::vector<Address> update_addresses(const graph::Node& update, const StateFormat& state_format) {
  std::map<graph::NodeId, std::int64_t> begin;
  for (const StateTensorLayout& item : state_format.layout().items) {
    if (item.tensor.trained) begin[item.tensor.node] = bytes_of<T>(item.range.begin);
  }
  const std::size_t runs = 2 + state_format.layout().slots.size();
  LANISTA_CHECK(update.inputs.size() % runs == 0, update.op + " has other slots than the state");
  const std::size_t n = update.inputs.size() / runs;
  std::vector<Address> addresses;
  for (std::size_t run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t at = begin.at(update.inputs[i].node);
      addresses.push_back(
          run == 0   ? Address{MemorySpace::kParameter, at}
          : run == 1 ? Address{MemorySpace::kGradient, at}
                     : Address{MemorySpace::kSlot, state_format.part_offset(run) - state_format.part_offset(2) + at});
    }
  }
  return addresses;
}

}  // namespace

template <class T>
Result<CommitSection<T>> commit_section(const autodiff::TrainingStep& train, const StateFormat& state_format,
                                        const SectionInputs<T>& inputs) {
  CommitSection<T> section;
  section.line = commit_line<T>(inputs.line, state_format.layout(), train.options.optimizer);
  std::vector<graph::NodeId> updates = train.commit;
  // Updates of buffers are not calls: the new values are copied.
  std::erase_if(updates, [&](graph::NodeId id) { return train.renewed.contains(train.graph.node(id).inputs[0].node); });
  const std::vector<Fusion> none;
  const LoweredGraph lowered = lower(train.graph, train.types, updates, {}, {inputs.ops, none});
  LANISTA_TRY(check_kernels(lowered, inputs));
  for (const KernelCall& call : lowered.calls) {
    std::int64_t scratch = 0;
    std::vector<LaneAttr> lane_attrs;
    const Binding<T> binding{.call = call,
                             .def = *inputs.ops.find(call.op),
                             .in = update_addresses<T>(train.graph.node(call.id), state_format),
                             .out = {},
                             .k = inputs.kernels,
                             .max_batch = inputs.max_batch,
                             .threads = inputs.threads,
                             .scratch = scratch,
                             .lane_attrs = lane_attrs};
    section.updates.push_back(inputs.table.find(call.kernel)->second.prepare(binding));
    LANISTA_CHECK(scratch == 0 && lane_attrs.empty(),
                  call.kernel + " needs scratch memory or lane attributes, which a commit does not have");
  }
  return section;
}

template <class T>
void commit(LaneState& state, const T* gradients, const T* new_buffers, const CommitSection<T>& section,
            const LaneHyper& hyper, const kernels::Kernels<T>& k) {
  state.ensure_unique();
  const StateLayout& layout = state.state_format().layout();
  RunContext<T> run;
  if (hyper.clip_norm > 0) {
    // Parameters without gradient have zeros here. A norm that is not below the limit, NaN too, scales.
    const double norm = std::sqrt(k.square_norm(layout.parameters, gradients));
    const double wanted = hyper.clip_norm / (norm + 1e-6);
    if (!(wanted >= 1)) run.grad_scale = wanted;
  }
  const auto set = [&run](MemorySpace space, const T* at) {
    run.base[static_cast<std::size_t>(space)] = reinterpret_cast<std::byte*>(const_cast<T*>(at));
  };
  set(MemorySpace::kParameter, state.parameters<T>());
  set(MemorySpace::kGradient, gradients);
  if (!layout.slots.empty()) set(MemorySpace::kSlot, state.slot<T>(0));
  run.hyper = &hyper;
  run.step = static_cast<std::uint64_t>(state.step_count());
  for (const Run<T>& update : section.updates) update(run);
  renew_buffers(state, new_buffers);
  state.count_step();
}

template <class T>
void renew_buffers(LaneState& state, const T* new_buffers) {
  state.ensure_unique();
  for (const Range& each : state.state_format().layout().renewed) {
    std::copy_n(new_buffers + each.begin, each.count, state.buffers<T>() + each.begin);
  }
}

template Result<CommitSection<float>> commit_section(const autodiff::TrainingStep&, const StateFormat&,
                                                     const SectionInputs<float>&);
template Result<CommitSection<double>> commit_section(const autodiff::TrainingStep&, const StateFormat&,
                                                      const SectionInputs<double>&);
template void renew_buffers(LaneState&, const float*);
template void renew_buffers(LaneState&, const double*);
template void commit(LaneState&, const float*, const float*, const CommitSection<float>&, const LaneHyper&,
                     const kernels::Kernels<float>&);
template void commit(LaneState&, const double*, const double*, const CommitSection<double>&, const LaneHyper&,
                     const kernels::Kernels<double>&);

}  // namespace lanista::program
