#include "lanista/exec/train/search_record.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace lanista::train {

void write_search(const SearchRecord& search, std::map<std::string, std::string>& facts) {
  if (!search) return;
  auto list = nlohmann::json::array();
  for (const study::Branch& branch : *search) list.push_back(study::branch_json(branch));
  facts["branches"] = list.dump();
}

Result<SearchRecord> read_search(const std::map<std::string, std::string>& facts, const TrialDefinition& definition) {
  const auto fact = facts.find("branches");
  const bool tunes = definition.tune_rules || definition.input.recipe.tune.name == study::kAdaptive;
  if (!tunes || fact == facts.end()) return SearchRecord();
  const auto list = nlohmann::json::parse(fact->second, nullptr, false);
  if (!list.is_array()) return Error{Code::kDataLoss, "checkpoint's 'branches' is not a list", ""};
  std::vector<study::Branch> out;
  for (const auto& each : list) {
    LANISTA_ASSIGN(study::Branch branch, study::branch_from_json(each));
    out.push_back(std::move(branch));
  }
  return SearchRecord(std::move(out));
}

}  // namespace lanista::train
