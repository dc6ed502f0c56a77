#include "lanista/exec/program/commit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lanista/base/check.h"
#include "lanista/exec/program/plan_lines.h"

namespace lanista::nn {
namespace {

// The inputs of an update come in runs of equal length: parameters, their gradients, then slot by slot.
template <class T>
std::vector<Place> places_of_update(const graph::Node& update, const StateKind& kind) {
  std::map<graph::NodeId, std::int64_t> begin;
  for (const StateItem& item : kind.layout().items) {
    if (item.tensor.trained) begin[item.tensor.node] = bytes_of<T>(item.range.begin);
  }
  const std::size_t runs = 2 + kind.layout().slots.size();
  LANISTA_CHECK(update.inputs.size() % runs == 0, update.op + " of other slots than the state's");
  const std::size_t n = update.inputs.size() / runs;
  std::vector<Place> places;
  for (std::size_t run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t at = begin.at(update.inputs[i].node);
      places.push_back(run == 0   ? Place{Space::kParameter, at}
                       : run == 1 ? Place{Space::kGradient, at}
                                  : Place{Space::kSlot, kind.part_offset(run) - kind.part_offset(2) + at});
    }
  }
  return places;
}

}  // namespace

template <class T>
Result<CommitSection<T>> commit_section(const step::TrainingStep& train, const StateKind& kind,
                                        const SectionInputs<T>& inputs) {
  CommitSection<T> section;
  section.line = commit_line<T>(inputs.line, kind.layout(), train.options.optimizer);
  std::vector<graph::NodeId> updates = train.commit;
  // New buffers are copied in passes over the flat buffers.
  std::erase_if(updates, [&](graph::NodeId id) { return train.renewed.contains(train.graph.node(id).inputs[0].node); });
  const std::vector<Fusion> none;
  const Lowered lowered = lower(train.graph, train.types, updates, {}, {inputs.ops, none});
  LANISTA_TRY(check_kernels(lowered, inputs));
  for (const Call& call : lowered.calls) {
    std::int64_t scratch = 0;
    std::vector<LaneNumber> numbers;
    const Binding<T> binding{.call = call,
                             .def = *inputs.ops.find(call.op),
                             .in = places_of_update<T>(train.graph.node(call.id), kind),
                             .out = {},
                             .k = inputs.kernels,
                             .max_batch = inputs.max_batch,
                             .threads = inputs.threads,
                             .scratch = scratch,
                             .numbers = numbers};
    section.updates.push_back(inputs.table.find(call.kernel)->second.prepare(binding));
    LANISTA_CHECK(scratch == 0 && numbers.empty(), call.kernel + " wants what a commit has not");
  }
  return section;
}

template <class T>
void commit(LaneState& state, const T* gradients, const T* new_buffers, const CommitSection<T>& section,
            const LaneHyper& hyper, const kernels::Kernels<T>& k) {
  state.make_own();
  const StateLayout& layout = state.kind().layout();
  RunContext<T> run;
  if (hyper.clip_norm > 0) {
    // Parameters that no gradient reaches have zeros here. Not below one, and not-a-number too: scale.
    const double norm = std::sqrt(k.square_norm(layout.parameters, gradients));
    const double wanted = hyper.clip_norm / (norm + 1e-6);
    if (!(wanted >= 1)) run.grad_scale = wanted;
  }
  const auto set = [&run](Space space, const T* at) {
    run.base[static_cast<std::size_t>(space)] = reinterpret_cast<std::byte*>(const_cast<T*>(at));
  };
  set(Space::kParameter, state.parameters<T>());
  set(Space::kGradient, gradients);
  if (!layout.slots.empty()) set(Space::kSlot, state.slot<T>(0));
  run.hyper = &hyper;
  run.step = static_cast<std::uint64_t>(state.step_count());
  for (const Run<T>& update : section.updates) update(run);
  renew_buffers(state, new_buffers);
  state.count_step();
}

template <class T>
void renew_buffers(LaneState& state, const T* new_buffers) {
  state.make_own();
  for (const Range& each : state.kind().layout().renewed) {
    std::copy_n(new_buffers + each.begin, each.count, state.buffers<T>() + each.begin);
  }
}

template Result<CommitSection<float>> commit_section(const step::TrainingStep&, const StateKind&,
                                                     const SectionInputs<float>&);
template Result<CommitSection<double>> commit_section(const step::TrainingStep&, const StateKind&,
                                                      const SectionInputs<double>&);
template void renew_buffers(LaneState&, const float*);
template void renew_buffers(LaneState&, const double*);
template void commit(LaneState&, const float*, const float*, const CommitSection<float>&, const LaneHyper&,
                     const kernels::Kernels<float>&);
template void commit(LaneState&, const double*, const double*, const CommitSection<double>&, const LaneHyper&,
                     const kernels::Kernels<double>&);

}  // namespace lanista::nn
