// What trials of a study begin with that the zoo has, and what the zoo learns of them (train.start: zoo).
#include <utility>

#include "lanista/engine/core/assembly.h"
#include "lanista/engine/core/frozen.h"
#include "lanista/engine/core/study_engine.h"
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
      zoo_place(state_.view.config, *services_.data, folder_), *state_.view.zoo, seconds_of(*services_.clock),
      [this](const std::string& name, nlohmann::json fields) { event(Level::kWarning, name, std::move(fields)); });
}

Result<std::optional<StudyEngine::FoundInZoo>> StudyEngine::zoo_start(TrialId id, const graph::Graph& child,
                                                                      const Found* own) {
  if (!zoo_) return std::optional<FoundInZoo>();
  const graph::OpTable& ops = models_->ops();
  while (true) {
    LANISTA_ASSIGN(std::optional<StudyZoo::Offered> offered, zoo_->offer(child, ops));
    if (!offered) return std::optional<FoundInZoo>();
    const std::string& model = offered->model.id;
    auto taken = inherit_best(offered->graph, child, trial_seed(state_.view.config, id), models_->frozen(), ops);
    if (!taken) {
      zoo_->leave_out(model, taken.error().text(), false);
      continue;
    }
    if (!taken->is_worth_it() || (own != nullptr && own->taken.worth() >= taken->worth()))
      return std::optional<FoundInZoo>();
    LANISTA_ASSIGN(std::string address, fetched(model, offered->graph));
    if (address.empty()) continue;
    zoo_->note_start(model, child, ops);
    study::Start start{{}, 0, "", std::move(address)};
    start.zoo = model;
    return std::optional(FoundInZoo{{std::move(start), *std::move(taken)}, std::move(offered->model)});
  }
}

Result<std::string> StudyEngine::fetched(const std::string& id, const graph::Graph& graph) {
  if (const auto known = fetched_.find(id); known != fetched_.end() && shelf_.holds(known->second))
    return known->second;
  auto tensors = zoo_->weights(id, graph, models_->ops());
  if (!tensors) return std::string();
  store::Checkpoint file;
  file.tensors = *std::move(tensors);
  file.facts["kind"] = "start";
  LANISTA_ASSIGN(std::string address, store::CheckpointStore(shelf_.files()).put(file));
  fetched_[id] = address;
  return address;
}

Result<void> StudyEngine::mend_zoo_start(TrialId id) {
  for (const study::Start* start : study::starts_of(state_.trial(id).proposal)) {
    if (!start->zoo.empty() && !shelf_.files().get(start->address)) return mend_zoo_start(id, start);
  }
  return {};  // of all of them no more than one is the zoo's
}

Result<void> StudyEngine::mend_zoo_start(TrialId id, const study::Start* start) {
  const auto lost = [&](const std::string& why) {
    event(Level::kWarning, "start_lost", {{"trial", id.value}, {"model", start->zoo}, {"reason", why}});
    return Result<void>();  // whoever has no checkpoint of its own fails and says so
  };
  if (!zoo_) return lost("and the zoo cannot be asked for it");
  LANISTA_ASSIGN(const graph::Graph graph, start_model(state_.view, *start, models_->ops()));
  LANISTA_TRY(shelf_.discard(start->address));
  LANISTA_ASSIGN(const std::string address, fetched(start->zoo, graph));
  if (address.empty()) return lost("and the zoo has it no more");
  if (address == start->address) return {};
  shelf_.hold(address);
  shelf_.release(address);
  return lost("the zoo has other weights under this id");
}

void StudyEngine::tell_zoo(const TrialView& trial) {
  if (!zoo_ || !trial.outcome) return;
  const std::int64_t now = seconds_of(*services_.clock);
  zoo_->renew(now);
  const std::string source =
      zoo_place(state_.view.config, *services_.data, folder_).holder + "#" + std::to_string(trial.id.value);
  if (const auto outcome = study::start_outcome(state_.view, trial)) {
    const study::ZooModel& model = state_.view.zoo_models.at(study::begun_with(trial)->zoo);
    if (!model.related) {
      zoo_->report({model.id, trial.proposal.graph_hash.hex(), static_cast<double>(outcome->steps),
                    static_cast<double>(outcome->reference), source});
    }
  }
  if (trial.outcome->weights.empty() || !ranks(trial, *trial.outcome)) return;
  const auto package = [&]() -> Result<ModelPackage> {
    LANISTA_ASSIGN(Costed built, build(trial.proposal));
    LANISTA_ASSIGN(Job job, make_job(state_.view.config, *services_.data, trial, std::move(built.model)));
    LANISTA_ASSIGN(store::Checkpoint checkpoint, shelf_.files().get(trial.outcome->weights));
    LANISTA_ASSIGN(auto state, whole_state(store::standing_weights(std::move(checkpoint)), frozen(), shelf_.files()));
    return make_package(state_.view.config, *services_.data, trial, job.recipe, std::move(job.model), std::move(state),
                        {});
  };
  auto made = package();
  const auto quality = made ? zoo_quality(*made) : std::nullopt;
  if (!quality) {
    const std::string why = made ? "nothing says how good it is" : made.error().text();
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
