#include "lanista/plan/cost/costs.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lanista::plan {

double CostPrices::us(double flops, double bytes, double calls) const {
  const double arithmetic = flops / (1e3 * gflops);
  const double traffic = bytes / (1e3 * gb_per_second);  // 1 GB/s is 1000 bytes in a microsecond.
  return (overlaps ? std::max(arithmetic, traffic) : arithmetic + traffic) + call_us * calls;
}

const CostRow* Costs::find(std::string work, std::int64_t lanes) const {
  CostKey key = machine;
  key.work = std::move(work);
  key.lanes = lanes;
  const CostRow* row = table.find(key);
  key.lanes = 1;
  return row != nullptr ? row : table.find(key);
}

std::string work_text(const graph::Node& node, std::span<const graph::ValueType> inputs, std::int64_t batch,
                      std::string_view passes) {
  std::string attrs;
  for (const auto& [name, value] : node.attrs) {
    attrs += (attrs.empty() ? "" : ", ") + name + "=" + graph::attr_text(value);
  }
  std::string text = node.op + (attrs.empty() ? "" : "(" + attrs + ")");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += (i == 0 ? " of " : ", ") + inputs[i].shape.text();
    if (inputs[i].dtype == graph::DType::kIndex) text += " index";
    if (inputs[i].dtype == graph::DType::kByte) text += " byte";
  }
  text += " batch " + std::to_string(batch);
  return passes.empty() ? text : text + " with " + std::string(passes);
}

double bytes_of(const graph::ValueType& type) { return 4.0 * static_cast<double>(type.shape.elements_per_sample()); }

graph::Cost sample_work(const graph::Node& node, const graph::Types& types, const graph::OpDef& def) {
  const std::vector<graph::ValueType> inputs = types.inputs(node);
  if (def.cost) return def.cost({std::span(inputs).first(graph::num_data_inputs(node, def)), node.attrs, def});
  graph::Cost work;
  for (const graph::ValueType& type : inputs) work.bytes += bytes_of(type);
  for (const graph::ValueType& type : types.outputs(node.id)) work.bytes += bytes_of(type);
  return work;
}

}  // namespace lanista::plan
