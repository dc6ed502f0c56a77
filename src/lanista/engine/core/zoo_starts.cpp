// Starts from zoo models, and reports of trials to the zoo (train.start: zoo).
#include <utility>

#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/zoo_task.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/start_race.h"

namespace lanista::engine {
namespace {

std::int64_t seconds_of(const Clock& clock) { return static_cast<std::int64_t>(clock.unix_time()); }

}  // namespace

void StudyEngine::open_zoo() {
  if (!state_.view.zoo) return;
  zoo_ = StudyZoo::open(
      zoo_location(state_.view.config, *services_.data, folder_), *state_.view.zoo, seconds_of(*services_.clock),
      [this](const std::string& name, nlohmann::json fields) { event(Level::kWarning, name, std::move(fields)); });
}

Result<std::optional<StudyEngine::ZooStartOption>> StudyEngine::zoo_start(TrialId id, const graph::Graph& child,
                                                                          const StartOption* own) {
  if (!zoo_) return std::optional<ZooStartOption>();
  const graph::OpTable& ops = models_->ops();
  while (true) {
    LANISTA_ASSIGN(std::optional<StudyZoo::ZooMatch> match, zoo_->find_start(child, ops));
    if (!match) return std::optional<ZooStartOption>();
    const std::string& model = match->model.id;
    auto inheritance =
        best_inheritance(match->graph, child, trial_seed(state_.view.config, id), models_->frozen(), ops);
    if (!inheritance) {
      zoo_->exclude(model, inheritance.error().text(), false);
      continue;
    }
    if (!inheritance->is_useful() || (own != nullptr && own->inheritance.usefulness() >= inheritance->usefulness()))
      return std::optional<ZooStartOption>();
    LANISTA_ASSIGN(std::string address, import_zoo_weights(model, match->graph));
    if (address.empty()) continue;
    zoo_->note_start(model, child, ops);
    study::Start start{{}, 0, "", std::move(address)};
    start.zoo = model;
    return std::optional(ZooStartOption{{std::move(start), *std::move(inheritance)}, std::move(match->model)});
  }
}

Result<std::string> StudyEngine::import_zoo_weights(const std::string& id, const graph::Graph& graph) {
  if (const auto known = zoo_addresses_.find(id);
      known != zoo_addresses_.end() && checkpoint_refs_.has_reference(known->second))
    return known->second;
  auto tensors = zoo_->weights(id, graph, models_->ops());
  if (!tensors) return std::string();
  store::Checkpoint file;
  file.tensors = *std::move(tensors);
  file.facts["kind"] = "start";
  LANISTA_ASSIGN(std::string address, store::CheckpointStore(checkpoint_refs_.files()).put(file));
  zoo_addresses_[id] = address;
  return address;
}

Result<void> StudyEngine::repair_zoo_start(TrialId id) {
  for (const study::Start* start : study::start_parents_of(state_.trial(id).proposal)) {
    if (!start->zoo.empty() && !checkpoint_refs_.files().get(start->address)) return repair_zoo_start(id, start);
  }
  return {};  // at most one of them is a zoo model
}

Result<void> StudyEngine::repair_zoo_start(TrialId id, const study::Start* start) {
  const auto lost = [&](const std::string& why) {
    event(Level::kWarning, "start_lost", {{"trial", id.value}, {"model", start->zoo}, {"reason", why}});
    return Result<void>();  // a trial without its own checkpoint fails with a reason
  };
  if (!zoo_) return lost("the zoo cannot be read");
  LANISTA_ASSIGN(const graph::Graph graph, start_model(state_.view, *start, models_->ops()));
  LANISTA_TRY(checkpoint_refs_.remove_damaged(start->address));
  LANISTA_ASSIGN(const std::string address, import_zoo_weights(start->zoo, graph));
  if (address.empty()) return lost("the zoo does not have the model any more");
  if (address == start->address) return {};
  checkpoint_refs_.hold(address);
  checkpoint_refs_.release(address);
  return lost("the zoo has other weights under this id");
}

void StudyEngine::add_to_model_zoo(const TrialView& trial) {
  if (!zoo_ || !trial.outcome) return;
  const std::int64_t now = seconds_of(*services_.clock);
  zoo_->renew(now);
  const std::string source =
      zoo_location(state_.view.config, *services_.data, folder_).holder + "#" + std::to_string(trial.id.value);
  if (const auto outcome = study::start_outcome(state_.view, trial)) {
    const study::ZooModel& model = state_.view.zoo_models.at(study::winning_start(trial)->zoo);
    if (!model.related) {
      zoo_->report_outcome({model.id, trial.proposal.graph_hash.hex(), static_cast<double>(outcome->steps),
                            static_cast<double>(outcome->reference), source});
    }
  }
  if (trial.outcome->weights.empty() || !ranks(trial, *trial.outcome)) return;
  const auto package = [&]() -> Result<ModelPackage> {
    LANISTA_ASSIGN(BuiltModel built, build_model(trial.proposal));
    LANISTA_ASSIGN(Job job, make_job(state_.view.config, *services_.data, trial, std::move(built.model)));
    LANISTA_ASSIGN(store::Checkpoint checkpoint, checkpoint_refs_.files().get(trial.outcome->weights));
    LANISTA_ASSIGN(auto state,
                   full_state(store::selected_weights(std::move(checkpoint)), frozen(), checkpoint_refs_.files()));
    return make_package(state_.view.config, *services_.data, trial, job.recipe, std::move(job.model), std::move(state),
                        {});
  };
  auto made = package();
  const auto quality = made ? zoo_quality(*made) : std::nullopt;
  if (!quality) {
    const std::string why = made ? "the package has no quality" : made.error().text();
    return event(Level::kWarning, "zoo_trial_left_out", {{"trial", trial.id.value}, {"reason", why}});
  }
  nlohmann::json facts = zoo_facts(*made);
  const study::Reference known = study::reference_of(state_.view, trial, quality->metric, quality->value);
  if (known.steps > 0) facts["reference"] = {{"target", known.target}, {"steps", known.steps}};
  ModelMember& member = made->members.front();
  zoo_->add({std::move(member.model), task_key(*services_.data), std::move(member.weights), quality->value,
             quality->metric, quality->chance, source, std::move(facts)},
            models_->ops(), now);
}

}  // namespace lanista::engine
