#include "lanista/exec/train/pre_epoch_records.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace lanista::train {
namespace {

template <class Item>
std::string list_text(const std::vector<Item>& items, nlohmann::json (*json_of)(const Item&)) {
  auto list = nlohmann::json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list.dump();
}

// Reads a list from the fact with this name; nothing if there is none.
template <class Item>
Result<std::optional<std::vector<Item>>> read_list(const std::map<std::string, std::string>& facts,
                                                   const std::string& name,
                                                   Result<Item> (*from_json)(const nlohmann::json&)) {
  const auto fact = facts.find(name);
  if (fact == facts.end()) return std::optional<std::vector<Item>>();
  const auto json = nlohmann::json::parse(fact->second, nullptr, false);
  if (!json.is_array()) return Error{Code::kDataLoss, "checkpoint's '" + name + "' is not a list", ""};
  std::vector<Item> out;
  for (const auto& each : json) {
    LANISTA_ASSIGN(Item item, from_json(each));
    out.push_back(std::move(item));
  }
  return std::optional(std::move(out));
}

}  // namespace

PreEpochRecords PreEpochRecords::of_copy() {
  PreEpochRecords out;
  out.search.emplace();
  return out;
}

void PreEpochRecords::write_to(study::Measurement& measurement) const {
  if (search) measurement.branches = *search;
}

void PreEpochRecords::write_to(std::map<std::string, std::string>& facts) const {
  if (search) facts["branches"] = list_text(*search, study::branch_json);
}

Result<PreEpochRecords> read_pre_epoch_records(const std::map<std::string, std::string>& facts,
                                               const TrialDefinition& definition) {
  PreEpochRecords out;
  if (definition.tune_rules || definition.input.recipe.tune.name == study::kAdaptive) {
    LANISTA_ASSIGN(out.search, read_list(facts, "branches", study::branch_from_json));
  }
  return out;
}

}  // namespace lanista::train
