#include "lanista/exec/program/plan.h"

namespace lanista::program {
namespace {

template <class Show>
std::string joined(const std::vector<PlanValue>& values, Show show) {
  std::string text;
  for (const PlanValue& value : values) text += (text.empty() ? "" : ", ") + show(value);
  return text;
}

}  // namespace

std::string values_text(const std::vector<PlanValue>& values) {
  return joined(values,
                [](const PlanValue& value) { return value.shape.text() + " " + value.layout + " " + value.address; });
}

std::string PlanLine::cost_key() const {
  const auto sizes = [this](const PlanValue& value) {
    graph::Shape shape = value.shape;
    if (shape.has_batch()) shape.dims.front() = batch;
    return shape.text();
  };
  return family + " " + kernel + (attrs.empty() ? "" : "{" + attrs + "}") + "(" + joined(inputs, sizes) + ") -> " +
         joined(outputs, sizes);
}

std::string PlanLine::text() const {
  return section + " " + (node ? "%" + std::to_string(node->value) + " " : "") + kernel + "(" + values_text(inputs) +
         ") -> " + values_text(outputs);
}

}  // namespace lanista::program
