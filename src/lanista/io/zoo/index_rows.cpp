#include "lanista/io/zoo/index_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lanista/base/printable.h"
#include "lanista/io/zoo/zoo_folder.h"

namespace lanista::zoo {
namespace {

constexpr std::size_t kQuotedBytes = 80;
constexpr std::size_t kHashDigits = 32;

bool is_graph_hash(std::string_view text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// What is wrong with the names of a row; empty: nothing.
std::string fault_of_names(const StoredModel& model, const std::string& weights) {
  if (!is_model_id(model.id)) return "an id is 16 hex digits";
  if (model.state != "live" && model.state != "quarantined" && model.state != "removed") {
    return "its state is " + in_quotes(model.state) + "; allowed are live, quarantined and removed";
  }
  if (!is_graph_hash(model.graph_hash)) {
    return "its graph hash is " + in_quotes(model.graph_hash) + "; allowed are 32 hex digits";
  }
  if (is_sha256(weights) || (weights.empty() && model.state != "live")) return "";
  return "its weights are " + in_quotes(weights) + "; allowed are 64 hex digits";
}

/// What is wrong with the numbers of a row; empty: nothing.
std::string fault_of_numbers(const StoredModel& model) {
  struct Number {
    const char* name;
    std::int64_t value, most;
  };
  const std::array<Number, 5> numbers{{{"number of nodes", model.nodes, kMaxNodes},
                                       {"number of parameters", model.params, kMaxWeightsBytes},
                                       {"number of bytes", model.bytes, kMaxWeightsBytes},
                                       {"change", model.added, INT64_MAX},
                                       {"number of starts", model.hits, INT64_MAX}}};
  for (const Number& one : numbers) {
    if (one.value >= 0 && one.value <= one.most) continue;
    return std::string("its ") + one.name + " is " + std::to_string(one.value) + "; allowed are 0 to " +
           std::to_string(one.most);
  }
  return std::isfinite(model.quality) ? "" : "its quality is not finite";
}

}  // namespace

std::string in_quotes(std::string_view text) {
  const bool is_cut = text.size() > kQuotedBytes;
  return "'" + printable(text.substr(0, kQuotedBytes)) + (is_cut ? "…'" : "'");
}

bool is_nested_deeper(std::string_view json, std::size_t most) {
  std::size_t depth = 0;
  bool is_in_string = false;
  for (std::size_t k = 0; k < json.size(); ++k) {
    const char c = json[k];
    if (is_in_string) {
      if (c == '\\') ++k;
      if (c == '"') is_in_string = false;
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Result<StoredModel> stored_model(const SqlRow& row) {
  const auto damaged = [&](const std::string& what) {
    return Error{Code::kDataLoss, "model " + in_quotes(row.blob(0)) + " of the index is damaged: " + what, ""};
  };
  constexpr std::array<std::pair<int, const char*>, 6> kTexts{
      {{1, "task"}, {16, "family"}, {2, "state"}, {3, "reason"}, {4, "metric"}, {5, "origin"}}};
  for (const auto& [column, name] : kTexts) {
    const std::size_t bytes = row.blob(column).size();
    if (bytes > kMaxText) {
      return damaged(std::string("its ") + name + " has " + std::to_string(bytes) + " bytes; allowed are " +
                     std::to_string(kMaxText));
    }
  }
  StoredModel out{row.text(0),     row.text(1),     row.text(2),     row.text(3),          row.text(4),
                  row.text(5),     row.text(6),     row.real(7),     row.integer(8),       row.integer(9),
                  row.integer(10), row.integer(11), row.integer(12), row.integer(13) != 0, nlohmann::json::object()};
  for (const std::string& fault : {fault_of_names(out, row.text(15)), fault_of_numbers(out)}) {
    if (!fault.empty()) return damaged(fault);
  }
  const std::string facts = row.text(14);
  if (facts.size() > kMaxFacts || is_nested_deeper(facts, kMaxFactsDepth)) {
    return damaged("its facts have " + std::to_string(facts.size()) + " bytes; allowed are " +
                   std::to_string(kMaxFacts) + ", nested " + std::to_string(kMaxFactsDepth) + " deep");
  }
  auto parsed = nlohmann::json::parse(facts, nullptr, false);
  if (parsed.is_object()) out.facts = std::move(parsed);
  return out;
}

Result<void> check_new_texts(const NewModel& model, std::size_t graph_bytes) {
  struct Text {
    const char* name;
    std::size_t bytes, most;
  };
  const std::string facts = model.facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (const Text& one : {Text{"task", model.task.text().size(), kMaxText},
                          Text{"metric", model.metric.size(), kMaxText}, Text{"origin", model.origin.size(), kMaxText},
                          Text{"facts", facts.size(), kMaxFacts}, Text{"graph", graph_bytes, kMaxGraphBytes}}) {
    if (one.bytes <= one.most) continue;
    return Error{Code::kInvalidArgument,
                 std::string("the ") + one.name + " of the model has " + std::to_string(one.bytes) +
                     " bytes; allowed are " + std::to_string(one.most),
                 ""};
  }
  if (!is_nested_deeper(facts, kMaxFactsDepth)) return {};
  return Error{Code::kInvalidArgument,
               "the facts of the model are nested deeper than " + std::to_string(kMaxFactsDepth), ""};
}

}  // namespace lanista::zoo
