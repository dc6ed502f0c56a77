#include "lanista/engine/zoo_task.h"

#include "lanista/base/digest.h"

namespace lanista::engine {

zoo::TaskKey task_key(const data::DataSpec& data) {
  zoo::TaskKey out;
  out.targets = data.multilabel ? "labels" : data.classes > 0 ? "classes" : "numbers";
  if (data.positions > 0) out.targets += " at " + std::to_string(data.positions) + " positions";
  out.outputs = data.width();
  if (!data.labels.empty()) {
    Hasher hasher;
    for (const std::string& label : data.labels) hasher.text(label);
    out.labels = hasher.finish().hex().substr(0, 8);
  }
  out.input = data.features.text();
  if (data.vocab > 0) out.input += " tokens below " + std::to_string(data.vocab);
  out.data = data.hash.hex();
  return out;
}

}  // namespace lanista::engine
