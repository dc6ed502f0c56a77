#include "lanista/zoo.h"

#include "lanista/app/api/guarded.h"
#include "lanista/io/zoo/zoo_store.h"
#include "lanista/model/graph/text.h"

namespace lanista {

Result<std::vector<ZooModel>> list_zoo(const std::string& folder) {
  return api::guarded([&]() -> Result<std::vector<ZooModel>> {
    LANISTA_ASSIGN(const zoo::Store store, zoo::Store::open(folder, zoo::Store::Mode::kRead));
    LANISTA_ASSIGN(const auto models, store.list());
    std::vector<ZooModel> out;
    for (const zoo::StoredModel& each : models) {
      out.push_back({each.id, each.task, each.state, each.metric, each.origin, each.quality, each.params, each.bytes,
                     each.hits, each.pinned});
    }
    return out;
  });
}

Result<std::string> read_zoo_model(const std::string& folder, const std::string& id) {
  return api::guarded([&]() -> Result<std::string> {
    LANISTA_ASSIGN(const zoo::Store store, zoo::Store::open(folder, zoo::Store::Mode::kRead));
    LANISTA_ASSIGN(const graph::Graph model, store.graph(id));
    return graph::to_text(model);
  });
}

}  // namespace lanista
