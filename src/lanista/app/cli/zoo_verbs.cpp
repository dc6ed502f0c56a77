#include "lanista/app/cli/zoo_verbs.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <map>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/model_verbs.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/text_table.h"
#include "lanista/base/enum_table.h"
#include "lanista/engine/core/onnx_file.h"
#include "lanista/engine/core/zoo_task.h"
#include "lanista/io/data/unfitted_spec.h"
#include "lanista/io/formats/safetensors.h"
#include "lanista/io/zoo/warm_start_query.h"
#include "lanista/model/graph/text.h"

namespace lanista::cli {
namespace {

using nlohmann::json;
using zoo::Store;

/// A model and its facts from its files.
struct GivenModel {
  graph::Graph graph;
  std::vector<Tensor> weights = {};
  std::optional<zoo::TaskKey> task = {};
  std::optional<engine::ZooQuality> quality = {};
  json facts = json::object();
};

/// The normalisation of each feature. An entry stands for a run of equal features; `none` has no entry.
std::vector<double> expand_to_width(const std::vector<double>& entries, std::size_t width, double none) {
  std::vector<double> out(width, none);
  for (std::size_t k = 0; k < width && !entries.empty(); ++k) out[k] = entries[k * entries.size() / width];
  return out;
}

/// Whether the file's model and studies of the data normalise features equally. Features that are always zero do not
/// count.
bool same_units(const formats::ImportedModel& model, const data::DataSpec& data) {
  const auto width = static_cast<std::size_t>(data.features.elements(1));
  const data::Normalization& of_data = data.normalization;
  const auto unseen = data::unseen_features(data);
  const auto nearest = [](double a, double b) { return std::abs(a - b) <= 1e-5 * std::max(1.0, std::abs(b)); };
  const auto mean = expand_to_width(formats::whole_means(model), width, 0),
             scale = expand_to_width(model.scale, width, 1);
  const auto mean_of_data = expand_to_width(of_data.mean, width, 0),
             scale_of_data = expand_to_width(of_data.scale, width, 1);
  for (std::size_t k = 0; k < width; ++k) {
    if (std::ranges::find(unseen, k) != unseen.end()) continue;
    if (!nearest(mean[k], mean_of_data[k]) || !nearest(scale[k], scale_of_data[k])) return false;
  }
  return true;
}

/// Checks that the model normalises its inputs as studies of the data do. Errors: kInvalidArgument.
Result<void> check_units(const formats::ImportedModel& model, const data::DataSpec& data, const std::string& file) {
  const bool own = !model.mean.empty() || !model.scale.empty() || !model.missing.empty();
  if (same_units(model, data)) return {};
  if (!own) {
    print_notes(
        {file +
         ": expects raw numbers, but studies of these data normalise them; training must adapt the model to that"});
    return {};
  }
  return Error{Code::kInvalidArgument,
               "normalises its input with other statistics than studies of these data; --task-of must name the data of "
               "its training",
               file};
}

Result<GivenModel> read_given_model(const ZooModel& model) {
  auto& files = real_file_system();
  GivenModel out;
  if (!model.graph.empty()) {
    LANISTA_ASSIGN(const std::string text, files.read(model.graph));
    LANISTA_ASSIGN(out.graph, graph::parse(text));
    if (model.target != model.graph) {
      LANISTA_ASSIGN(const std::string bytes, files.read(model.target));
      LANISTA_ASSIGN(auto file, formats::decode_safetensors(bytes));
      out.weights = std::move(file.tensors);
    }
  } else if (model.target.ends_with(".onnx")) {
    LANISTA_ASSIGN(auto imported, engine::import_onnx_file(files, model.target));
    print_notes(imported.notices);
    if (!model.task_of.empty()) {
      LANISTA_ASSIGN(const auto package, load_package(model.task_of));
      LANISTA_TRY(check_units(imported, package.data, model.target));
    }
    std::vector<std::string> notices;
    LANISTA_ASSIGN(out.graph, engine::trainable_form(imported.graph, notices));
    print_notes(notices);
    out.weights = std::move(imported.weights);
  } else {
    LANISTA_ASSIGN(auto package, load_package(model.target));
    if (package.members.size() != 1) {
      return Error{Code::kInvalidArgument,
                   "is an ensemble of " + std::to_string(package.members.size()) +
                       " models; the zoo stores single models: DIR#TRIAL",
                   model.target};
    }
    out.task = engine::task_key(package.data);
    out.quality = engine::zoo_quality(package);
    out.facts = engine::zoo_facts(package);
    out.graph = std::move(package.members.front().model);
    out.weights = std::move(package.members.front().weights);
  }
  if (!model.task_of.empty()) {
    LANISTA_ASSIGN(const auto package, load_package(model.task_of));
    out.task = engine::task_key(package.data);
  }
  if (!out.task) {
    return Error{Code::kInvalidArgument, "has no description of its data; name a package or study with --task-of",
                 model.target};
  }
  return out;
}

json model_json(const zoo::StoredModel& one) {
  return {{"id", one.id},           {"task", one.task},         {"state", one.state},   {"why", one.why},
          {"quality", one.quality}, {"metric", one.metric},     {"origin", one.origin}, {"graph_hash", one.graph_hash},
          {"nodes", one.nodes},     {"parameters", one.params}, {"bytes", one.bytes},   {"hits", one.hits},
          {"pinned", one.pinned},   {"added", one.added},       {"facts", one.facts}};
}

std::string percent(double share) { return four_digits(100 * share) + " %"; }

std::string gain_text(const std::optional<zoo::ExpectedSaving>& gain) {
  if (!gain) return "unknown: no start from the zoo has been reported for this task";
  return percent(gain->saving) + " of the steps, from " + std::to_string(gain->outcomes) +
         (gain->outcomes == 1 ? " start" : " starts") +
         (gain->is_task_average ? " from other models of the task" : " from it");
}

json start_json(const zoo::WarmStart& start) {
  json pairs = json::array();
  for (const auto& pair : start.parent_match.match.pairs) pairs.push_back({pair.a.value, pair.b.value});
  json gain = nullptr;
  if (start.expected_saving) {
    gain = {{"saving", start.expected_saving->saving},
            {"outcomes", start.expected_saving->outcomes},
            {"of_task", start.expected_saving->is_task_average}};
  }
  return {{"parent", start.parent_match.entry.id},
          {"quality", start.parent_match.entry.quality},
          {"related", start.related},
          {"similarity", start.parent_match.match.sim},
          {"coverage", start.parent_match.match.coverage},
          {"retention", start.parent_match.match.retention},
          {"score", start.parent_match.match.score},
          {"exact", start.plan.exact},
          {"exact_prefix", start.exact_prefix},
          {"lost", start.plan.inexact_reason},
          {"expected_gain", gain},
          {"pairs", pairs},
          {"plan", zoo::transfer_json(start.plan)}};
}

std::string start_text(const zoo::WarmStart& start, const graph::Graph& child) {
  const zoo::Match& match = start.parent_match.match;
  std::string out = "parent      " + printable(start.parent_match.entry.id) + ", quality " +
                    four_digits(start.parent_match.entry.quality) +
                    (start.related ? ", trained on other data of the same form\n" : "\n");
  out += "coverage    " + percent(match.coverage) + " of the new model's weights come from it\n";
  out += "retention   " + percent(match.retention) + " of its weights are kept; similarity " + four_digits(match.sim) +
         "\n";
  out += "function    " + (start.plan.exact
                               ? std::string("exactly the parent's\n")
                               : "the parent's up to node " + std::to_string(start.exact_prefix) + " of " +
                                     std::to_string(child.size()) + "; " + printable(start.plan.inexact_reason) + "\n");
  out += "saves       " + gain_text(start.expected_saving) + "\n\n";
  std::map<graph::NodeId, graph::NodeId> parents;
  for (const auto& pair : match.pairs) parents[pair.b] = pair.a;
  std::vector<TableRow> rows{{"new", "parent", ""}};
  for (const graph::NodeId id : child.topo()) {
    const auto found = parents.find(id);
    rows.push_back({printable(graph::node_text(child.node(id))),
                    found == parents.end() ? "-" : printable(graph::node_text(start.parent.node(found->second))), ""});
  }
  out += text_table(rows, {false, false, false}) + "\n";
  std::map<std::string, int> kinds;
  for (const auto& tensor : start.plan.tensors) ++kinds[std::string(zoo::kind_name(tensor.kind))];
  out += "tensors    ";
  for (const auto& [kind, count] : kinds) out += " " + std::to_string(count) + " " + kind;
  return out + "\n";
}

using AddState = zoo::AddResult::State;
constexpr EnumTable<AddState, const char*, 4> kAddStates{{{AddState::kLive, "added"},
                                                          {AddState::kKnown, "known"},
                                                          {AddState::kRefused, "refused"},
                                                          {AddState::kQuarantined, "quarantined"}}};

Result<int> list(const ZooRequest& request) {
  LANISTA_ASSIGN(const Store store, Store::open(request.zoo, Store::Mode::kRead));
  std::vector<std::string> skipped;
  LANISTA_ASSIGN(const auto models, store.list(&skipped));
  print_notes(skipped);
  if (request.json) {
    for (const auto& one : models) std::cout << json_line(model_json(one));
    return int{kDone};
  }
  std::vector<TableRow> rows{{"id", "quality", "metric", "nodes", "weights", "starts", "state", "from", "task"}};
  for (const auto& one : models) {
    // The index may contain any text; a cell must be one line.
    rows.push_back({one.id, four_digits(one.quality), printable(one.metric), std::to_string(one.nodes),
                    short_number(static_cast<double>(one.params)), std::to_string(one.hits),
                    one.state + (one.pinned ? ", pinned" : ""), printable(one.origin), printable(one.task)});
  }
  std::cout << printable_lines(text_table(rows, {false, true, false, true, true, true, false, false, false}));
  return int{kDone};
}

Result<int> add(const ZooAddRequest& request) {
  LANISTA_ASSIGN(GivenModel given, read_given_model(request.model));
  std::optional<engine::ZooQuality> quality = given.quality;
  if (request.quality) quality = engine::ZooQuality{*request.quality, quality ? quality->metric : "given"};
  if (!quality) {
    return Error{Code::kInvalidArgument, "has no quality; set --quality N, larger is better", request.model.target};
  }
  LANISTA_ASSIGN(Store store, Store::open(request.zoo, Store::Mode::kWrite, {.replicas = request.replicas}));
  LANISTA_ASSIGN(const auto added,
                 store.add({std::move(given.graph), *given.task, std::move(given.weights), quality->value,
                            quality->metric, quality->chance, request.model.target, std::move(given.facts)},
                           graph::builtin_ops(), static_cast<std::int64_t>(std::time(nullptr))));
  if (request.json) {
    std::cout << json_line({{"id", added.id},
                            {"state", entry_of(kAddStates, added.state)},
                            {"why", added.why},
                            {"replaced", added.replaced}});
  } else {
    std::cout << printable(std::string(entry_of(kAddStates, added.state)) + " " + added.id +
                           (added.why.empty() ? "" : ": " + added.why))
              << "\n";
    for (const std::string& id : added.replaced) std::cout << "replaced " << printable(id) << "\n";
  }
  const bool kept = added.state == zoo::AddResult::State::kLive || added.state == zoo::AddResult::State::kKnown;
  return int{kept ? kDone : kRefused};
}

Result<int> match(const ZooMatchRequest& request) {
  LANISTA_ASSIGN(const GivenModel given, read_given_model(request.model));
  LANISTA_ASSIGN(const Store store, Store::open(request.zoo, Store::Mode::kRead));
  std::vector<std::string> skipped;
  LANISTA_ASSIGN([[maybe_unused]] const auto models, store.find(*given.task, Store::Scope::kTask, &skipped));
  print_notes(skipped);
  LANISTA_ASSIGN(const auto start,
                 zoo::query(store, given.graph, *given.task, graph::builtin_ops(), {.related = request.related}));
  if (!start) {
    if (request.json) std::cout << json_line({{"parent", nullptr}});
    if (!request.json)
      std::cout << "the zoo has no model to start from; the new model would start from random weights\n";
    return int{kDone};
  }
  std::cout << (request.json ? json_line(start_json(*start)) : printable_lines(start_text(*start, given.graph)));
  return int{kDone};
}

Result<int> show(const ZooRequest& request) {
  const bool write = request.pin || request.unpin;
  LANISTA_ASSIGN(Store store, Store::open(request.zoo, write ? Store::Mode::kChange : Store::Mode::kRead));
  LANISTA_ASSIGN(const std::string id, store.resolve(request.id));
  if (write) LANISTA_TRY(store.pin(id, request.pin));
  LANISTA_ASSIGN(const auto model, store.show(id));
  LANISTA_ASSIGN(const auto graph, store.graph(id));
  LANISTA_ASSIGN(const auto gain, store.expected_gain(id));
  if (request.json) {
    json out = model_json(model);
    out["graph"] = graph::to_text(graph);
    std::cout << json_line(out);
    return int{kDone};
  }
  std::string out = "model       " +
                    printable(model.id + ", " + model.state + (model.pinned ? ", pinned" : "") +
                              (model.why.empty() ? "" : ": " + model.why)) +
                    "\n";
  out += "task        " + printable(model.task) + "\nquality     " + four_digits(model.quality) + " " +
         printable(model.metric) + "\n";
  out += "size        " + std::to_string(model.nodes) + " nodes, " + short_number(static_cast<double>(model.params)) +
         " weights, " + std::to_string(model.bytes) + " bytes\n";
  out += "from        " + printable(model.origin) + "\nstarts      " + std::to_string(model.hits) + "\nsaves       " +
         gain_text(gain) + "\n\n" + graph::to_text(graph);
  std::cout << printable_lines(out);
  return int{kDone};
}

Result<int> remove(const ZooRequest& request) {
  LANISTA_ASSIGN(Store store, Store::open(request.zoo, Store::Mode::kChange));
  LANISTA_ASSIGN(const std::string id, store.resolve(request.id));
  LANISTA_TRY(store.remove(id));
  std::cout << (request.json ? json_line({{"removed", id}}) : "removed " + printable(id) + "\n");
  return int{kDone};
}

Result<int> verify(const ZooRequest& request) {
  LANISTA_ASSIGN(const Store store, Store::open(request.zoo, Store::Mode::kRead));
  LANISTA_ASSIGN(const auto found, store.verify(graph::builtin_ops()));
  for (const auto& one : found) {
    std::cout << (request.json ? json_line({{"id", one.id}, {"what", one.what}})
                               : printable(one.id + ": " + one.what) + "\n");
  }
  if (found.empty() && !request.json) std::cout << "no model is damaged\n";
  return int{found.empty() ? kDone : kRefused};
}

Result<int> collect(const ZooGcRequest& request) {
  LANISTA_ASSIGN(Store store, Store::open(request.zoo, Store::Mode::kChange));
  std::optional<std::int64_t> budget;
  if (request.budget) budget = static_cast<std::int64_t>(*request.budget * 1024 * 1024);
  LANISTA_ASSIGN(const auto done, store.gc(static_cast<std::int64_t>(std::time(nullptr)), budget));
  if (request.json) {
    std::cout << json_line({{"evicted", done.evicted}, {"orphans", done.orphans}, {"bytes", done.bytes}});
    return int{kDone};
  }
  for (const std::string& id : done.evicted) std::cout << "evicted " << printable(id) << "\n";
  std::cout << done.orphans << " files without a model removed; " << done.bytes << " bytes of weights remain\n";
  return int{kDone};
}

int exit_code_of(const Result<int>& done) { return done ? *done : print_error(done.error()); }

}  // namespace

int zoo_list(const ZooRequest& request) { return exit_code_of(list(request)); }
int zoo_add(const ZooAddRequest& request) { return exit_code_of(add(request)); }
int zoo_match(const ZooMatchRequest& request) { return exit_code_of(match(request)); }
int zoo_show(const ZooRequest& request) { return exit_code_of(show(request)); }
int zoo_remove(const ZooRequest& request) { return exit_code_of(remove(request)); }
int zoo_verify(const ZooRequest& request) { return exit_code_of(verify(request)); }
int zoo_gc(const ZooGcRequest& request) { return exit_code_of(collect(request)); }

}  // namespace lanista::cli
