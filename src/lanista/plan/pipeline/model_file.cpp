#include "lanista/plan/pipeline/model_file.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "lanista/base/json_object.h"
#include "lanista/base/parse_number.h"
#include "lanista/base/text_cursor.h"

namespace lanista::pipeline {
namespace {

using nlohmann::json;

Error invalid_model(const std::string& rank, const std::string& message) {
  return {Code::kDataLoss, rank + ": " + message, ""};
}

/// Calls `read` and turns exceptions of the JSON library and of readers of numbers into an error at `rank`. `read` may
/// change `rank`.
template <class Read>
Result<void> reading(const std::string& rank, Read read) {
  try {
    read();
  } catch (const json::exception& e) {
    return invalid_model(rank, e.what());
  } catch (const std::out_of_range& e) {
    return invalid_model(rank, std::string("allowed is ") + e.what());
  }
  return {};
}

std::int64_t whole(const json& value, const char* name, std::int64_t most) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > most) {
    throw std::out_of_range(std::string(name) + " from 0 to " + std::to_string(most));
  }
  return value.get<std::int64_t>();
}

constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;

void set_edges(Model& model, std::vector<std::pair<std::uint32_t, std::uint32_t>> edges) {
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  model.edges = std::move(edges);
}

/// Returns the words of a line of a profile, which " -- " separates.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(" -- ", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 4;
  }
  return words;
}

/// Reads "node12" as 12. Returns nullopt for other text.
std::optional<std::uint32_t> node_number(std::string_view word) {
  return word.starts_with("node") ? parse_number<std::uint32_t>(word.substr(4)) : std::nullopt;
}

/// Reads the number after "key=", or the sum of a list in brackets ("[1.0; 2.0]"). Returns false if there is none.
bool number_of(std::string_view word, std::string_view key, double* sum) {
  const std::size_t at = word.find(std::string(key) + "=");
  if (at == std::string_view::npos) return false;
  std::string_view rest = word.substr(at + key.size() + 1);
  const bool list = rest.starts_with('[');
  if (list) rest = rest.substr(1, rest.find(']') - 1);
  *sum = 0;
  for (TextCursor cursor(rest, "; "); !cursor.rest().empty(); cursor.skip_blanks()) {
    const auto number = cursor.number<double>();
    if (!number) return false;
    *sum += *number;
    if (!list) break;
  }
  return true;
}

bool profiled(std::string_view word, Operator& op) {
  double forward = 0, backward = 0;
  if (!number_of(word, "forward_compute_time", &forward) || !number_of(word, "backward_compute_time", &backward) ||
      !number_of(word, "activation_size", &op.output_bytes) ||
      !number_of(word, "parameter_size", &op.parameter_bytes)) {
    return false;
  }
  const double part = op.parameter_bytes > 0 ? 0.5 : 1;
  op.activation_bytes = op.output_bytes;
  op.forward = {1e-3 * forward};
  op.input_grad = {1e-3 * backward * part};
  op.weight_grad = {1e-3 * backward * (1 - part)};
  return true;
}

}  // namespace

json model_json(const Model& model) {
  json operators = json::array(), edges = json::array();
  for (const Operator& op : model.operators) {
    operators.push_back(json_object("name", op.name, "forward", op.forward, "input_grad", op.input_grad, "weight_grad",
                                    op.weight_grad, "activation_bytes", op.activation_bytes, "output_bytes",
                                    op.output_bytes, "parameter_bytes", op.parameter_bytes));
    if (op.warm_cache_factor != 1) operators.back()["again"] = op.warm_cache_factor;
  }
  for (const auto& [from, to] : model.edges) edges.push_back({from, to});
  return json_object("pipeline_model", 1, "name", model.name, "hash", model.hash.hex(), "batch", model.batch,
                     "parameter_copies", model.parameter_copies, "operators", std::move(operators), "edges",
                     std::move(edges));
}

Result<Model> read_model(const json& in) {
  Model model;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::string hash, rank = "model";
  const auto moved = [&](const char* name, std::size_t i) {
    rank = std::string("model: ") + name + " " + std::to_string(i);
  };
  try {
    if (whole(in.at("pipeline_model"), "pipeline_model", 1) != 1) throw std::out_of_range("pipeline_model of 1");
    model.name = in.value("name", "");
    hash = in.value("hash", "");
    model.batch = whole(in.at("batch"), "batch", kMostSamples);
    model.parameter_copies = in.value("parameter_copies", 4.0);
    for (const json& each : in.at("operators")) {
      moved("operator", model.operators.size());
      Operator op;
      op.name = each.value("name", "");
      op.forward = each.at("forward").get<Curve>();
      op.input_grad = each.at("input_grad").get<Curve>();
      op.weight_grad = each.at("weight_grad").get<Curve>();
      op.activation_bytes = each.at("activation_bytes").get<double>();
      op.output_bytes = each.at("output_bytes").get<double>();
      op.parameter_bytes = each.at("parameter_bytes").get<double>();
      op.warm_cache_factor = each.value("again", 1.0);
      model.operators.push_back(std::move(op));
    }
    rank = "model";
    for (const json& each : in.at("edges")) {
      moved("edge", edges.size());
      edges.push_back({static_cast<std::uint32_t>(whole(each.at(0), "an operator", kMaxOperators)),
                       static_cast<std::uint32_t>(whole(each.at(1), "an operator", kMaxOperators))});
    }
  } catch (const json::exception& e) {
    return invalid_model(rank, e.what());
  } catch (const std::out_of_range& e) {
    return invalid_model(rank, std::string("allowed is ") + e.what());
  }
  set_edges(model, std::move(edges));
  if (const auto digest = Digest::from_hex(hash)) {
    model.hash = *digest;
  } else if (hash.empty()) {
    model.hash = hash_of(model);
  } else {
    return invalid_model("model", "hash must have 32 hexadecimal digits");
  }
  LANISTA_TRY(check(model));
  return model;
}

Result<Model> read_pipedream_profile(std::string_view text, std::int64_t batch) {
  std::map<std::uint32_t, Operator> nodes;
  std::map<std::uint32_t, bool> known;  // True for an operator, false for an input.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> read;
  std::size_t line_number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string rank = "line " + std::to_string(line_number);
    const bool edge = line.starts_with('\t');
    const auto words = words_of(edge ? line.substr(1) : line);
    const auto from = node_number(words[0]);
    if (!from) return invalid_model(rank, "the line must begin with a node, as \"node4 -- ...\"");
    if (edge) {
      const auto to = words.size() < 2 ? std::nullopt : node_number(words[1]);
      if (!to) return invalid_model(rank, "allowed is \"\\tnode4 -- node5\"");
      read.push_back({*from, *to});
      continue;
    }
    Operator op;
    if (words.size() < 3 || !profiled(words[2], op)) {
      return invalid_model(rank,
                           "allowed is \"node4 -- NAME -- forward_compute_time=..., backward_compute_time=..., "
                           "activation_size=..., parameter_size=...\"");
    }
    op.name = std::string(words[0]) + " " + std::string(words[1]);
    if (!known.emplace(*from, !words[1].starts_with("Input")).second)
      return invalid_model(rank, "node" + std::to_string(*from) + " is listed twice");
    if (known[*from]) nodes.emplace(*from, std::move(op));
  }
  Model model;
  model.name = "pipedream profile";
  model.batch = batch;
  std::map<std::uint32_t, std::uint32_t> number;
  for (auto& [id, op] : nodes) {
    number[id] = static_cast<std::uint32_t>(model.operators.size());
    model.operators.push_back(std::move(op));
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const auto& [from, to] : read) {
    for (const std::uint32_t end : {from, to}) {
      if (!known.contains(end)) return invalid_model("edges", "node" + std::to_string(end) + " does not exist");
    }
    if (known[from] && known[to]) edges.push_back({number[from], number[to]});
  }
  set_edges(model, std::move(edges));
  model.hash = hash_of(model);
  LANISTA_TRY(check(model));
  return model;
}

Result<Problem> read_piper_input(const json& in, double unit) {
  Problem problem;
  Model& model = problem.model;
  std::map<std::int64_t, std::uint32_t> number;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  double held = 0, parameters = 0;
  std::string rank = "Piper input";
  LANISTA_TRY(reading(rank, [&] {
    model.name = "piper input";
    model.batch =
        whole(in.contains("mbsInBatch") ? in["mbsInBatch"] : in.at("maxBatchSize"), "mbsInBatch", kMostSamples);
    problem.devices = equal_devices(whole(in.at("maxDevices"), "maxDevices", kMaxDevices),
                                    in.at("maxMemoryPerDevice").get<double>(), {0, in.at("bandwidth").get<double>()});
    for (const json& node : in.at("nodes")) {
      const json& choices = node.at("TMPCs").at("1");
      const json* cost = &choices.at(0);
      for (const json& each : choices) {
        if (each.value("id", "") == "vanilla") cost = &each;
      }
      Operator op;
      op.name = node.value("name", "");
      op.parameter_bytes = cost->at("parameterSize").get<double>();
      op.activation_bytes = cost->at("memoryUsageA").get<double>();
      const double time = unit * cost->at("timePerSample").get<double>();
      const double pass = time / (op.parameter_bytes > 0 ? 3 : 2);
      op.forward = op.input_grad = {pass};
      op.weight_grad = {op.parameter_bytes > 0 ? pass : 0};
      held += cost->at("memoryUsageB").get<double>();
      parameters += op.parameter_bytes;
      const std::int64_t id = whole(node.at("id"), "id", kMostSamples);
      if (!number.emplace(id, static_cast<std::uint32_t>(model.operators.size())).second) {
        throw std::out_of_range("each id once; " + std::to_string(id) + " is listed twice");
      }
      model.operators.push_back(std::move(op));
    }
    for (const json& edge : in.at("edges")) {
      const auto from = number.find(whole(edge.at("sourceId"), "sourceId", kMostSamples));
      const auto to = number.find(whole(edge.at("destId"), "destId", kMostSamples));
      if (from == number.end() || to == number.end()) throw std::out_of_range("edges between listed nodes");
      edges.push_back({from->second, to->second});
      double& sent = model.operators[from->second].output_bytes;
      sent = std::max(sent, edge.at("communicationCost").get<double>());
    }
  }));
  model.parameter_copies = parameters > 0 ? held / parameters : 0;
  set_edges(model, std::move(edges));
  model.hash = hash_of(model);
  LANISTA_TRY(check(problem));
  return problem;
}

}  // namespace lanista::pipeline
