#include "lanista/engine/core/study_devices.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lanista/base/real_json.h"
#include "lanista/engine/core/executor.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::engine {

using nlohmann::json;
using namespace study::fields;

bool DeviceTable::has_several_classes() const {
  return std::ranges::any_of(rows, [&](const Row& row) { return row.numeric_class != rows.front().numeric_class; });
}

const DeviceTable::Row* DeviceTable::find(const std::string& name) const {
  const auto it = std::ranges::find(rows, name, &Row::name);
  return it == rows.end() ? nullptr : &*it;
}

bool DeviceTable::has_same_devices(const DeviceTable& other) const {
  return std::ranges::equal(rows, other.rows, [](const Row& a, const Row& b) {
    return a.name == b.name && a.numeric_class == b.numeric_class;
  });
}

Result<Job> benchmark_job(const study::StudyConfig& config, const data::DataSpec& data,
                          const mutate::ModelSpace& models) {
  study::TrialView trial;
  trial.id = TrialId{1};
  trial.proposal.budget = config.train.length.epochs;
  if (!data.folds.empty()) trial.proposal.fold = 0;
  LANISTA_ASSIGN(graph::Graph base, models.rebuild(0, {}));
  return make_job(config, data, trial, std::move(base));
}

void encode_device_table(const DeviceTable& table, json& numerics) {
  std::string classes;
  std::set<std::string> listed;
  json rows = json::array();
  for (const DeviceTable::Row& row : table.rows) {
    if (listed.insert(row.numeric_class).second) classes += (classes.empty() ? "" : " + ") + row.numeric_class;
    rows.push_back({{"name", row.name},
                    {"class", row.numeric_class},
                    {"alone", real_json(row.speed.alone)},
                    {"together", real_json(row.speed.together)}});
  }
  numerics["class"] = classes;
  numerics["devices"] = std::move(rows);
}

Result<DeviceTable> decode_device_table(const json& numerics) {
  return read_record<DeviceTable>("numerics", [&] {
    DeviceTable table;
    if (!numerics.is_object() || !numerics.contains("devices")) return table;
    for (const json& row : array(numerics, "devices")) {
      table.rows.push_back(
          {text(row, "name"), text(row, "class"), {.alone = real(row, "alone"), .together = real(row, "together")}});
      const plan::DeviceSpeed& speed = table.rows.back().speed;
      const bool good =
          std::isfinite(speed.alone) && std::isfinite(speed.together) && speed.alone > 0 && speed.together > 0;
      if (!good) throw Malformed{"the speed of device " + table.rows.back().name + " is none"};
    }
    return table;
  });
}

}  // namespace lanista::engine
