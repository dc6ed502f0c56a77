#include "lanista/exec/program/sections.h"

#include <cstring>

#include "lanista/exec/program/plan_lines.h"

namespace lanista::nn {

using graph::Port;

template <class T>
void place_state(SectionInputs<T>& inputs, const StateLayout& layout, const std::vector<step::StateTensor>& state) {
  for (std::size_t i = 0; i < state.size(); ++i) {
    const StateItem& item = layout.items[i];
    const Port port{state[i].node, 0};
    inputs.fixed[port] = {item.tensor.trained ? Space::kParameter : Space::kBuffer, bytes_of<T>(item.range.begin)};
    inputs.layouts[port] = item.layout;
  }
}

template <class T>
std::vector<Delivery> deliveries(const step::TrainingStep& train, const Lowered& lowered, const StateLayout& layout) {
  std::vector<Delivery> result;
  for (const StateItem& item : layout.items) {
    const auto& sources = item.tensor.trained ? train.gradient : train.renewed;
    const auto found = sources.find(item.tensor.node);
    if (found == sources.end()) continue;
    const Space space = item.tensor.trained ? Space::kGradient : Space::kNewBuffer;
    result.push_back({lowered.source(found->second), {space, bytes_of<T>(item.range.begin)}, item.layout, item.range});
  }
  return result;
}

std::set<Port> results_of(const step::TrainingStep& train) {
  std::set<Port> ports{train.loss};
  for (const auto& [parameter, gradient] : train.gradient) ports.insert(gradient);
  for (const auto& [buffer, value] : train.renewed) ports.insert(value);
  return ports;
}

template <class T>
Section<T> train_section(const step::TrainingStep& train, const Lowered& lowered, const StateLayout& layout,
                         SectionInputs<T> inputs) {
  place_state(inputs, layout, train.state);
  inputs.fixed[train.input] = {Space::kInput, 0};
  inputs.fixed[train.target] = {Space::kTarget, 0};
  inputs.keep = {lowered.source(train.loss)};

  // Results are computed where they are wanted; only a value wanted twice, or a source, has to be copied.
  std::set<graph::NodeId> produced;
  for (const Call& call : lowered.calls) produced.insert(call.id);
  std::vector<Delivery> copies;
  for (const Delivery& delivery : deliveries<T>(train, lowered, layout)) {
    const bool direct = produced.contains(delivery.value.node) && !inputs.keep.contains(delivery.value) &&
                        inputs.fixed.try_emplace(delivery.value, delivery.place).second;
    if (direct) {
      inputs.layouts[delivery.value] = delivery.layout;
    } else {
      copies.push_back(delivery);
    }
  }
  Section<T> section = build_section(lowered, inputs);
  for (const Delivery& copy : copies) {
    const Place from = section.places.at(copy.value);
    const auto size = static_cast<std::size_t>(bytes_of<T>(copy.range.count));
    section.calls.push_back(
        [from, to = copy.place, size](const RunContext<T>& run) { std::memcpy(run.at(to), run.at(from), size); });
    section.plan.push_back(copy_line<T>(inputs.line, copy.value.node, copy.range.count, from, copy.place));
  }
  return section;
}

template <class T>
Section<T> infer_section(const step::InferenceStep& infer, const Lowered& lowered, const StateLayout& layout,
                         SectionInputs<T> inputs) {
  inputs.line.section = "infer";
  place_state(inputs, layout, infer.state);
  inputs.fixed[infer.input] = {Space::kInput, 0};
  inputs.keep = {lowered.source(infer.prediction)};
  return build_section(lowered, inputs);
}

template void place_state(SectionInputs<float>&, const StateLayout&, const std::vector<step::StateTensor>&);
template void place_state(SectionInputs<double>&, const StateLayout&, const std::vector<step::StateTensor>&);
template std::vector<Delivery> deliveries<float>(const step::TrainingStep&, const Lowered&, const StateLayout&);
template std::vector<Delivery> deliveries<double>(const step::TrainingStep&, const Lowered&, const StateLayout&);
template Section<float> train_section(const step::TrainingStep&, const Lowered&, const StateLayout&,
                                      SectionInputs<float>);
template Section<double> train_section(const step::TrainingStep&, const Lowered&, const StateLayout&,
                                       SectionInputs<double>);
template Section<float> infer_section(const step::InferenceStep&, const Lowered&, const StateLayout&,
                                      SectionInputs<float>);
template Section<double> infer_section(const step::InferenceStep&, const Lowered&, const StateLayout&,
                                       SectionInputs<double>);

}  // namespace lanista::nn
