#include "lanista/exec/program/sections.h"

#include <cstring>

#include "lanista/exec/program/plan_lines.h"

namespace lanista::program {

using graph::Port;

template <class T>
void assign_state_addresses(SectionInputs<T>& inputs, const StateLayout& layout,
                            const std::vector<autodiff::StateTensor>& state) {
  for (std::size_t i = 0; i < state.size(); ++i) {
    const StateTensorLayout& item = layout.items[i];
    const Port port{state[i].node, 0};
    inputs.fixed_addresses[port] = {item.tensor.trained ? MemorySpace::kParameter : MemorySpace::kBuffer,
                                    bytes_of<T>(item.range.begin)};
    inputs.layouts[port] = item.layout;
  }
}

template <class T>
std::vector<CommitInput> commit_inputs(const autodiff::TrainingStep& train, const LoweredGraph& lowered,
                                       const StateLayout& layout) {
  std::vector<CommitInput> result;
  for (const StateTensorLayout& item : layout.items) {
    const auto& sources = item.tensor.trained ? train.gradient : train.renewed;
    const auto found = sources.find(item.tensor.node);
    if (found == sources.end()) continue;
    const MemorySpace space = item.tensor.trained ? MemorySpace::kGradient : MemorySpace::kNewBuffer;
    result.push_back({lowered.source(found->second), {space, bytes_of<T>(item.range.begin)}, item.layout, item.range});
  }
  return result;
}

std::set<Port> outputs_read_after(const autodiff::TrainingStep& train) {
  std::set<Port> ports{train.loss};
  for (const auto& [parameter, gradient] : train.gradient) ports.insert(gradient);
  for (const auto& [buffer, value] : train.renewed) ports.insert(value);
  return ports;
}

template <class T>
Section<T> train_section(const autodiff::TrainingStep& train, const LoweredGraph& lowered, const StateLayout& layout,
                         SectionInputs<T> inputs) {
  assign_state_addresses(inputs, layout, train.state);
  inputs.fixed_addresses[train.input] = {MemorySpace::kInput, 0};
  inputs.fixed_addresses[train.target] = {MemorySpace::kTarget, 0};
  inputs.live_out = {lowered.source(train.loss)};

  // Results are computed at their destination. Only a source, or a value with two destinations, is copied.
  std::set<graph::NodeId> produced;
  for (const KernelCall& call : lowered.calls) produced.insert(call.id);
  std::vector<CommitInput> copies;
  for (const CommitInput& commit_input : commit_inputs<T>(train, lowered, layout)) {
    const bool direct = produced.contains(commit_input.value.node) && !inputs.live_out.contains(commit_input.value) &&
                        inputs.fixed_addresses.try_emplace(commit_input.value, commit_input.address).second;
    if (direct) {
      inputs.layouts[commit_input.value] = commit_input.layout;
    } else {
      copies.push_back(commit_input);
    }
  }
  Section<T> section = build_section(lowered, inputs);
  for (const CommitInput& copy : copies) {
    const Address from = section.addresses.at(copy.value);
    const auto size = static_cast<std::size_t>(bytes_of<T>(copy.range.count));
    section.calls.push_back(
        [from, to = copy.address, size](const RunContext<T>& run) { std::memcpy(run.at(to), run.at(from), size); });
    section.plan.push_back(copy_line<T>(inputs.line, copy.value.node, copy.range.count, from, copy.address));
  }
  return section;
}

template <class T>
Section<T> infer_section(const autodiff::InferenceStep& infer, const LoweredGraph& lowered, const StateLayout& layout,
                         SectionInputs<T> inputs) {
  inputs.line.section = "infer";
  assign_state_addresses(inputs, layout, infer.state);
  inputs.fixed_addresses[infer.input] = {MemorySpace::kInput, 0};
  inputs.live_out = {lowered.source(infer.prediction)};
  return build_section(lowered, inputs);
}

template void assign_state_addresses(SectionInputs<float>&, const StateLayout&,
                                     const std::vector<autodiff::StateTensor>&);
template void assign_state_addresses(SectionInputs<double>&, const StateLayout&,
                                     const std::vector<autodiff::StateTensor>&);
template std::vector<CommitInput> commit_inputs<float>(const autodiff::TrainingStep&, const LoweredGraph&,
                                                       const StateLayout&);
template std::vector<CommitInput> commit_inputs<double>(const autodiff::TrainingStep&, const LoweredGraph&,
                                                        const StateLayout&);
template Section<float> train_section(const autodiff::TrainingStep&, const LoweredGraph&, const StateLayout&,
                                      SectionInputs<float>);
template Section<double> train_section(const autodiff::TrainingStep&, const LoweredGraph&, const StateLayout&,
                                       SectionInputs<double>);
template Section<float> infer_section(const autodiff::InferenceStep&, const LoweredGraph&, const StateLayout&,
                                      SectionInputs<float>);
template Section<double> infer_section(const autodiff::InferenceStep&, const LoweredGraph&, const StateLayout&,
                                       SectionInputs<double>);

}  // namespace lanista::program
