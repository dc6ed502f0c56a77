#include "lanista/engine/core/zoo_starts.h"

#include <utility>

#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/zoo_task.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/start_race.h"

namespace lanista::engine {
namespace {

std::int64_t seconds_of(const Clock& clock) { return static_cast<std::int64_t>(clock.unix_time()); }

}  // namespace

void ZooStarts::open() {
  if (!study_.state.view.zoo) return;
  zoo_ = StudyZoo::open(zoo_location(study_.state.view.config, *study_.services.data, study_.folder),
                        *study_.state.view.zoo, seconds_of(*study_.services.clock),
                        [&study = study_](const std::string& name, nlohmann::json fields) {
                          study.event(Level::kWarning, name, std::move(fields));
                        });
}

void ZooStarts::release() {
  if (zoo_) zoo_->release();
}

Result<std::optional<ZooStartOption>> ZooStarts::find_start(TrialId id, const graph::Graph& child,
                                                            const StartOption* own) {
  if (!zoo_) return std::optional<ZooStartOption>();
  const graph::OpTable& ops = study_.models.ops();
  while (true) {
    LANISTA_ASSIGN(std::optional<StudyZoo::ZooMatch> match, zoo_->find_start(child, ops));
    if (!match) return std::optional<ZooStartOption>();
    const std::string& model = match->model.id;
    auto inheritance = best_inheritance(match->graph, child, trial_seed(study_.state.view.config, id),
                                        study_.models.space().frozen(), ops);
    if (!inheritance) {
      zoo_->exclude(model, inheritance.error().text(), false);
      continue;
    }
    if (!inheritance->is_useful() || (own != nullptr && own->inheritance.usefulness() >= inheritance->usefulness()))
      return std::optional<ZooStartOption>();
    LANISTA_ASSIGN(std::string address, import_weights(model, match->graph));
    if (address.empty()) continue;
    zoo_->note_start(model, child, ops);
    study::Start start{{}, 0, "", std::move(address)};
    start.zoo = model;
    return std::optional(ZooStartOption{{std::move(start), *std::move(inheritance)}, std::move(match->model)});
  }
}

Result<std::string> ZooStarts::import_weights(const std::string& id, const graph::Graph& graph) {
  if (const auto known = addresses_.find(id);
      known != addresses_.end() && study_.checkpoints.has_reference(known->second))
    return known->second;
  auto tensors = zoo_->weights(id, graph, study_.models.ops());
  if (!tensors) return std::string();
  store::Checkpoint file;
  file.tensors = *std::move(tensors);
  file.facts["kind"] = "start";
  LANISTA_ASSIGN(std::string address, store::CheckpointStore(study_.checkpoints.files()).put(file));
  addresses_[id] = address;
  return address;
}

Result<void> ZooStarts::repair_start(TrialId id) {
  for (const study::Start* start : study::start_parents_of(study_.state.trial(id).proposal)) {
    if (!start->zoo.empty() && !study_.checkpoints.files().get(start->address)) return repair_start(id, start);
  }
  return {};  // at most one of them is a zoo model
}

Result<void> ZooStarts::repair_start(TrialId id, const study::Start* start) {
  const auto lost = [&](const std::string& why) {
    study_.event(Level::kWarning, "start_lost", {{"trial", id.value}, {"model", start->zoo}, {"reason", why}});
    return Result<void>();  // a trial without its own checkpoint fails with a reason
  };
  if (!zoo_) return lost("the zoo cannot be read");
  LANISTA_ASSIGN(const graph::Graph graph, start_model(study_.state.view, *start, study_.models.ops()));
  LANISTA_TRY(study_.checkpoints.remove_damaged(start->address));
  LANISTA_ASSIGN(const std::string address, import_weights(start->zoo, graph));
  if (address.empty()) return lost("the zoo does not have the model any more");
  if (address == start->address) return {};
  study_.checkpoints.hold(address);
  study_.checkpoints.release(address);
  return lost("the zoo has other weights under this id");
}

void ZooStarts::report_outcome(const TrialView& trial, const std::string& source) {
  const auto outcome = study::start_outcome(study_.state.view, trial);
  if (!outcome) return;
  const study::ZooModel& model = study_.state.view.zoo_models.at(study::winning_start(trial)->zoo);
  if (model.related) return;
  zoo_->report_outcome({model.id, trial.proposal.graph_hash.hex(), static_cast<double>(outcome->steps),
                        static_cast<double>(outcome->reference), source});
}

Result<ModelPackage> ZooStarts::package_of(const TrialView& trial) {
  const study::StudyConfig& config = study_.state.view.config;
  LANISTA_ASSIGN(BuiltModel built, study_.models.build(trial.proposal));
  LANISTA_ASSIGN(Job job, make_job(config, *study_.services.data, trial, std::move(built.model)));
  LANISTA_ASSIGN(store::Checkpoint checkpoint, study_.checkpoints.files().get(trial.outcome->weights));
  LANISTA_ASSIGN(auto state, full_state(store::selected_weights(std::move(checkpoint)), study_.frozen(),
                                        study_.checkpoints.files()));
  return make_package(config, *study_.services.data, trial, job.recipe, std::move(job.model), std::move(state), {});
}

void ZooStarts::add(const TrialView& trial) {
  if (!zoo_ || !trial.outcome) return;
  const std::int64_t now = seconds_of(*study_.services.clock);
  zoo_->renew(now);
  const std::string source = zoo_location(study_.state.view.config, *study_.services.data, study_.folder).holder + "#" +
                             std::to_string(trial.id.value);
  report_outcome(trial, source);
  if (trial.outcome->weights.empty() || !ranks(trial, *trial.outcome)) return;
  auto made = package_of(trial);
  const auto quality = made ? zoo_quality(*made) : std::nullopt;
  if (!quality) {
    const std::string why = made ? "the package has no quality" : made.error().text();
    return study_.event(Level::kWarning, "zoo_trial_left_out", {{"trial", trial.id.value}, {"reason", why}});
  }
  nlohmann::json facts = zoo_facts(*made);
  const study::Reference known = study::reference_of(study_.state.view, trial, quality->metric, quality->value);
  if (known.steps > 0) facts["reference"] = {{"target", known.target}, {"steps", known.steps}};
  ModelMember& member = made->members.front();
  zoo_->add({std::move(member.model), task_key(*study_.services.data), std::move(member.weights), quality->value,
             quality->metric, quality->chance, source, std::move(facts)},
            study_.models.ops(), now);
}

}  // namespace lanista::engine
