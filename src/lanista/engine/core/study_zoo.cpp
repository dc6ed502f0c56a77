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

constexpr std::int64_t kDay = 24 * 60 * 60, kLease = 30 * kDay;  // seconds

/// A zoo as far as this process may have it.
struct Opened {
  Store store;
  bool writes = false;
};
Result<Opened> opened(const std::string& folder) {
  auto whole = Store::open(folder, Store::Mode::kWrite);
  if (whole) return Opened{*std::move(whole), true};
  auto read = Store::open(folder, Store::Mode::kRead);
  if (!read) return std::move(whole).error();  // what stands in the way of more
  return Opened{*std::move(read), false};
}

Store::Scope scope_of(bool related) { return related ? Store::Scope::kFamily : Store::Scope::kTask; }

Result<study::ZooMoment> moment_of(const StudyZoo::Place& place, bool related, std::int64_t now) {
  LANISTA_ASSIGN(Opened zoo, opened(place.folder));
  study::ZooMoment out;
  LANISTA_ASSIGN(out.change, zoo.store.last_change());
  for (const bool others : {false, true}) {
    if (others && !related) break;
    if (zoo.writes) {
      LANISTA_ASSIGN(out.models,
                     zoo.store.lease_all(place.task, scope_of(others), out.change, place.holder, now + kLease));
    } else {
      LANISTA_ASSIGN(const auto known, zoo.store.find(place.task, scope_of(others)));
      out.models = static_cast<std::int64_t>(known->size());
    }
    out.related = others && out.models > 0;
    if (out.models > 0) break;
  }
  return out;
}

study::Reference reference_in(const json& facts) {
  const auto told = facts.find("reference");
  if (told == facts.end() || !told->is_object()) return {};
  const auto target = told->find("target"), steps = told->find("steps");
  const bool whole = target != told->end() && steps != told->end() && target->is_number() && steps->is_number_integer();
  if (!whole || steps->get<std::int64_t>() < 1) return {};
  return {target->get<double>(), steps->get<std::int64_t>()};
}

/// What keeps the tensors from being the graph's; empty: nothing.
std::string misfit(const std::vector<Tensor>& tensors, const graph::Graph& graph, const graph::OpTable& ops) {
  const auto params = graph::parameters(graph, ops);
  if (!params) return params.error().text();
  for (const graph::NamedParam& param : *params) {
    const auto found = std::ranges::find(tensors, param.name, &Tensor::name);
    if (found == tensors.end()) return "the tensor " + param.name + " is missing";
    if (found->shape != param.spec.shape.dims) {
      return "tensor " + param.name + " has shape " + json(found->shape).dump() + ", the graph wants " +
             json(param.spec.shape.dims).dump();
    }
  }
  return {};
}

}  // namespace

study::ZooMoment StudyZoo::begin(const Place& place, bool related, std::int64_t now) {
  auto moment = moment_of(place, related, now);
  if (moment) return *std::move(moment);
  study::ZooMoment none;
  none.trouble = moment.error().text();
  return none;
}

std::optional<StudyZoo> StudyZoo::open(Place place, const study::ZooMoment& moment, std::int64_t now, Warn warn) {
  if (!moment.trouble.empty()) return std::nullopt;
  const auto lost = [&](const Error& error) {
    warn("zoo_lost", {{"folder", place.folder}, {"reason", error.text()}});
    return std::nullopt;
  };
  auto zoo = opened(place.folder);
  if (!zoo) return lost(zoo.error());
  const std::string folder = place.folder;
  if (!zoo->writes) warn("zoo_read_only", {{"folder", folder}});
  StudyZoo out(std::move(place), moment, std::move(zoo->store), zoo->writes, warn);
  std::vector<std::string> skipped;
  auto known = out.store_.find(out.place_.task, scope_of(moment.related), &skipped);
  if (!known) {
    warn("zoo_lost", {{"folder", folder}, {"reason", known.error().text()}});
    return std::nullopt;
  }
  out.known_ = *std::move(known);
  for (const std::string& each : skipped) warn("zoo_model_left_out", {{"reason", each}});
  if (!out.writes_) return out;
  const auto leased =
      out.store_.lease_all(out.place_.task, scope_of(moment.related), moment.change, out.place_.holder, now + kLease);
  if (!leased) out.tell("zoo_trouble", leased.error());
  out.leased_at_ = now;
  if (leased && *leased < moment.models) {
    warn("zoo_models_gone", {{"folder", folder}, {"had", moment.models}, {"has", *leased}});
  }
  return out;
}

void StudyZoo::tell(const std::string& event, const Error& error) const {
  warn_(event, {{"folder", place_.folder}, {"reason", error.text()}});
}

Result<std::optional<StudyZoo::Offered>> StudyZoo::offer(const graph::Graph& child, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const zoo::MatchModel model, zoo::MatchModel::of(child, ops));
  const std::string task = moment_.related ? place_.task.family() : place_.task.text();
  zoo::SearchOptions search;
  // Whoever falls away, or is quarantined, goes on being ranked: a study that is resumed may not know of it yet.
  search.ranks = [&](const zoo::CatalogueEntry& entry) { return entry.age <= moment_.change; };
  search.admits = [&](const zoo::CatalogueEntry& entry) {
    return search.ranks(entry) && !left_out_.contains(entry.id);
  };
  while (const auto best = known_->best(model, task, search)) {
    const std::string& id = best->entry.id;
    auto graph = store_.graph(id);
    const auto told = graph ? store_.show(id) : Result<zoo::StoredModel>(graph.error());
    if (!told) {
      leave_out(id, told.error().text(), told.error().code == Code::kDataLoss);
      continue;
    }
    return std::optional(
        Offered{{id, graph::to_text(*graph), told->metric, told->quality, reference_in(told->facts), moment_.related},
                *std::move(graph)});
  }
  return std::optional<Offered>();
}

std::optional<std::vector<Tensor>> StudyZoo::weights(const std::string& id, const graph::Graph& graph,
                                                     const graph::OpTable& ops) {
  auto tensors = store_.weights(id);
  if (!tensors) {
    leave_out(id, tensors.error().text(), tensors.error().code == Code::kDataLoss);
    return std::nullopt;
  }
  if (const std::string why = misfit(*tensors, graph, ops); !why.empty()) {
    leave_out(id, "the weights of model " + id + " are damaged: " + why, true);
    return std::nullopt;
  }
  return *std::move(tensors);
}

void StudyZoo::leave_out(const std::string& id, const std::string& why, bool damaged) {
  if (!left_out_.insert(id).second) return;
  warn_("zoo_model_left_out", {{"model", id}, {"reason", why}});
  if (!damaged || !writes_) return;
  if (auto done = store_.quarantine(id, why); !done) tell("zoo_trouble", done.error());
}

void StudyZoo::note_start(const std::string& id, const graph::Graph& child, const graph::OpTable& ops) {
  if (!writes_) return;
  if (auto done = store_.report_hit(id); !done) tell("zoo_trouble", done.error());
  const auto model = zoo::MatchModel::of(child, ops);
  if (!model) return;
  if (auto done = store_.note_query(place_.task, *model); !done) tell("zoo_trouble", done.error());
}

void StudyZoo::add(const zoo::NewModel& model, const graph::OpTable& ops, std::int64_t now) {
  if (!writes_) return;
  const auto added = store_.add(model, ops, now);
  if (!added) return tell("zoo_trouble", added.error());
  if (added->state == zoo::Added::State::kQuarantined) {
    warn_("zoo_model_quarantined", {{"model", added->id}, {"from", model.origin}, {"reason", added->why}});
  }
}

void StudyZoo::report(const zoo::Outcome& outcome) {
  if (!writes_) return;
  const auto done = store_.report_outcome(outcome);
  if (!done && done.error().code != Code::kNotFound) tell("zoo_trouble", done.error());  // it may have gone meanwhile
}

void StudyZoo::renew(std::int64_t now) {
  if (!writes_ || now - leased_at_ < kDay) return;
  leased_at_ = now;
  const auto leased =
      store_.lease_all(place_.task, scope_of(moment_.related), moment_.change, place_.holder, now + kLease);
  if (!leased) tell("zoo_trouble", leased.error());
}

void StudyZoo::release() {
  if (!writes_) return;
  if (auto done = store_.release_all(place_.holder); !done) tell("zoo_trouble", done.error());
}

StudyZoo::Place zoo_place(const study::StudyConfig& config, const data::DataSpec& data, const std::string& folder) {
  const std::filesystem::path named = config.train.zoo;
  const std::filesystem::path place = named.is_absolute() ? named : std::filesystem::path(folder) / named;
  std::error_code failed;
  const auto study = std::filesystem::absolute(folder, failed).lexically_normal();
  return {place.lexically_normal().string(), task_key(data), failed ? folder : study.string()};
}

}  // namespace lanista::engine
