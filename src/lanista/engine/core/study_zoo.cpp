#include "lanista/engine/core/study_zoo.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "lanista/engine/core/zoo_task.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using zoo::Store;

constexpr std::int64_t kDaySeconds = 24 * 60 * 60, kLeaseSeconds = 30 * kDaySeconds;  // seconds

/// An opened zoo, writable if possible.
struct Opened {
  Store store;
  bool is_writable = false;
};
Result<Opened> open_best_mode(const std::string& folder) {
  auto whole = Store::open(folder, Store::Mode::kWrite);
  if (whole) return Opened{*std::move(whole), true};
  auto read = Store::open(folder, Store::Mode::kRead);
  if (!read) return std::move(whole).error();  // why it cannot be opened for writing
  return Opened{*std::move(read), false};
}

Store::Scope scope_of(bool related) { return related ? Store::Scope::kFamily : Store::Scope::kTask; }

Result<study::ZooSnapshot> take_snapshot(const StudyZoo::ZooLocation& location, bool related, std::int64_t now) {
  LANISTA_ASSIGN(Opened zoo, open_best_mode(location.folder));
  study::ZooSnapshot out;
  LANISTA_ASSIGN(out.change, zoo.store.last_change());
  for (const bool others : {false, true}) {
    if (others && !related) break;
    if (zoo.is_writable) {
      LANISTA_ASSIGN(out.models, zoo.store.lease_all(location.task, scope_of(others), out.change, location.holder,
                                                     now + kLeaseSeconds));
    } else {
      LANISTA_ASSIGN(const auto known, zoo.store.find(location.task, scope_of(others)));
      out.models = static_cast<std::int64_t>(known->size());
    }
    out.related = others && out.models > 0;
    if (out.models > 0) break;
  }
  return out;
}

study::Reference read_reference(const json& facts) {
  const auto reference = facts.find("reference");
  if (reference == facts.end() || !reference->is_object()) return {};
  const auto target = reference->find("target"), steps = reference->find("steps");
  const bool whole =
      target != reference->end() && steps != reference->end() && target->is_number() && steps->is_number_integer();
  if (!whole || steps->get<std::int64_t>() < 1) return {};
  return {target->get<double>(), steps->get<std::int64_t>()};
}

/// Why the tensors do not fit the graph; empty: they fit.
std::string mismatch(const std::vector<Tensor>& tensors, const graph::Graph& graph, const graph::OpTable& ops) {
  const auto params = graph::parameters(graph, ops);
  if (!params) return params.error().text();
  for (const graph::NamedParam& param : *params) {
    const auto found = std::ranges::find(tensors, param.name, &Tensor::name);
    if (found == tensors.end()) return "the tensor " + param.name + " is missing";
    if (found->shape != param.spec.shape.dims) {
      return "tensor " + param.name + " has shape " + json(found->shape).dump() + ", the graph needs " +
             json(param.spec.shape.dims).dump();
    }
  }
  return {};
}

}  // namespace

study::ZooSnapshot StudyZoo::begin(const ZooLocation& location, bool related, std::int64_t now) {
  auto zoo_snapshot = take_snapshot(location, related, now);
  if (zoo_snapshot) return *std::move(zoo_snapshot);
  study::ZooSnapshot none;
  none.trouble = zoo_snapshot.error().text();
  return none;
}

std::optional<StudyZoo> StudyZoo::open(ZooLocation location, const study::ZooSnapshot& zoo_snapshot, std::int64_t now,
                                       Warn warn) {
  if (!zoo_snapshot.trouble.empty()) return std::nullopt;
  const auto lost = [&](const Error& error) {
    warn("zoo_lost", {{"folder", location.folder}, {"reason", error.text()}});
    return std::nullopt;
  };
  auto zoo = open_best_mode(location.folder);
  if (!zoo) return lost(zoo.error());
  const std::string folder = location.folder;
  if (!zoo->is_writable) warn("zoo_read_only", {{"folder", folder}});
  StudyZoo out(std::move(location), zoo_snapshot, std::move(zoo->store), zoo->is_writable, warn);
  std::vector<std::string> skipped;
  auto known = out.store_.find(out.location_.task, scope_of(zoo_snapshot.related), &skipped);
  if (!known) {
    warn("zoo_lost", {{"folder", folder}, {"reason", known.error().text()}});
    return std::nullopt;
  }
  out.catalogue_ = *std::move(known);
  for (const std::string& each : skipped) warn("zoo_model_left_out", {{"reason", each}});
  if (!out.is_writable_) return out;
  const auto leased = out.store_.lease_all(out.location_.task, scope_of(zoo_snapshot.related), zoo_snapshot.change,
                                           out.location_.holder, now + kLeaseSeconds);
  if (!leased) out.warn_about("zoo_trouble", leased.error());
  out.leased_at_ = now;
  if (leased && *leased < zoo_snapshot.models) {
    warn("zoo_models_gone", {{"folder", folder}, {"had", zoo_snapshot.models}, {"has", *leased}});
  }
  return out;
}

void StudyZoo::warn_about(const std::string& event, const Error& error) const {
  warn_(event, {{"folder", location_.folder}, {"reason", error.text()}});
}

Result<std::optional<StudyZoo::ZooMatch>> StudyZoo::find_start(const graph::Graph& child, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const zoo::MatchModel model, zoo::MatchModel::of(child, ops));
  const std::string task = snapshot_.related ? location_.task.family() : location_.task.text();
  zoo::SearchOptions search;
  // Excluded and quarantined models are still ranked, because a resumed study may not know of them yet.
  search.ranks = [&](const zoo::CatalogueEntry& entry) { return entry.age <= snapshot_.change; };
  search.admits = [&](const zoo::CatalogueEntry& entry) {
    return search.ranks(entry) && !excluded_.contains(entry.id);
  };
  while (const auto best = catalogue_->best(model, task, search)) {
    const std::string& id = best->entry.id;
    auto graph = store_.graph(id);
    const auto reference = graph ? store_.show(id) : Result<zoo::StoredModel>(graph.error());
    if (!reference) {
      exclude(id, reference.error().text(), reference.error().code == Code::kDataLoss);
      continue;
    }
    return std::optional(ZooMatch{{id, graph::to_text(*graph), reference->metric, reference->quality,
                                   read_reference(reference->facts), snapshot_.related},
                                  *std::move(graph)});
  }
  return std::optional<ZooMatch>();
}

std::optional<std::vector<Tensor>> StudyZoo::weights(const std::string& id, const graph::Graph& graph,
                                                     const graph::OpTable& ops) {
  auto tensors = store_.weights(id);
  if (!tensors) {
    exclude(id, tensors.error().text(), tensors.error().code == Code::kDataLoss);
    return std::nullopt;
  }
  if (const std::string why = mismatch(*tensors, graph, ops); !why.empty()) {
    exclude(id, "the weights of model " + id + " are damaged: " + why, true);
    return std::nullopt;
  }
  return *std::move(tensors);
}

void StudyZoo::exclude(const std::string& id, const std::string& why, bool damaged) {
  if (!excluded_.insert(id).second) return;
  warn_("zoo_model_left_out", {{"model", id}, {"reason", why}});
  if (!damaged || !is_writable_) return;
  if (auto done = store_.quarantine(id, why); !done) warn_about("zoo_trouble", done.error());
}

void StudyZoo::note_start(const std::string& id, const graph::Graph& child, const graph::OpTable& ops) {
  if (!is_writable_) return;
  if (auto done = store_.report_hit(id); !done) warn_about("zoo_trouble", done.error());
  const auto model = zoo::MatchModel::of(child, ops);
  if (!model) return;
  if (auto done = store_.record_query(location_.task, *model); !done) warn_about("zoo_trouble", done.error());
}

void StudyZoo::add(const zoo::NewModel& model, const graph::OpTable& ops, std::int64_t now) {
  if (!is_writable_) return;
  const auto added = store_.add(model, ops, now);
  if (!added) return warn_about("zoo_trouble", added.error());
  if (added->state == zoo::AddResult::State::kQuarantined) {
    warn_("zoo_model_quarantined", {{"model", added->id}, {"from", model.origin}, {"reason", added->why}});
  }
}

void StudyZoo::report_outcome(const zoo::WarmStartOutcome& outcome) {
  if (!is_writable_) return;
  const auto done = store_.report_outcome(outcome);
  if (!done && done.error().code != Code::kNotFound) warn_about("zoo_trouble", done.error());  // the model may be gone
}

void StudyZoo::renew(std::int64_t now) {
  if (!is_writable_ || now - leased_at_ < kDaySeconds) return;
  leased_at_ = now;
  const auto leased = store_.lease_all(location_.task, scope_of(snapshot_.related), snapshot_.change, location_.holder,
                                       now + kLeaseSeconds);
  if (!leased) warn_about("zoo_trouble", leased.error());
}

void StudyZoo::release() {
  if (!is_writable_) return;
  if (auto done = store_.release_all(location_.holder); !done) warn_about("zoo_trouble", done.error());
}

StudyZoo::ZooLocation zoo_location(const study::StudyConfig& config, const data::DataSpec& data,
                                   const std::string& folder) {
  const std::filesystem::path named = config.train.zoo;
  const std::filesystem::path location = named.is_absolute() ? named : std::filesystem::path(folder) / named;
  std::error_code failed;
  const auto study = std::filesystem::absolute(folder, failed).lexically_normal();
  return {location.lexically_normal().string(), task_key(data), failed ? folder : study.string()};
}

}  // namespace lanista::engine
