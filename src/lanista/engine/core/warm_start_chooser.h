#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/engine/core/zoo_starts.h"
#include "lanista/io/zoo/catalogue.h"

namespace lanista::engine {

/// Chooses the start of a new trial if its proposal has none (`train.start`): a kept state of the study, a file or a
/// zoo model. Not thread-safe.
class WarmStartChooser {
 public:
  /// Chooses among `kept` and the models of `zoo`. All arguments outlive this.
  WarmStartChooser(StudyContext& study, const KeptStates& kept, ZooStarts& zoo)
      : study_(study), kept_(kept), zoo_(zoo) {}

  /// Sets the start of a proposal without one. No start is set if no state is useful. `model` is the trial's model.
  /// Returns the zoo model of the start; nullopt: it is none. Errors: those of the
  /// model space, of plan_inheritance and of the checkpoint store.
  Result<std::optional<study::ZooModel>> choose_start(TrialId id, study::Proposal& proposal, const graph::Graph& model);

 private:
  /// The last state of the nearest ancestor with a kept state.
  Result<std::optional<study::Start>> nearest_stored_ancestor(const study::Proposal& proposal) const;
  /// The state of the best trial that is most similar to the child.
  Result<std::optional<study::Start>> most_similar_stored(const graph::Graph& child);
  /// The weights that the child inherits from a start; nullopt: too few.
  Result<std::optional<StartOption>> inheritance_option(TrialId id, study::Start start,
                                                        const graph::Graph& model) const;
  /// The most useful start within the study: that by lineage, else the most similar model; nullopt: none.
  Result<std::optional<StartOption>> start_option_in_study(TrialId id, const study::Proposal& proposal,
                                                           const graph::Graph& model);
  /// The start that a record stores for an option. `sample` is the child's.
  study::Start recorded_start(StartOption option, const space::Sample& sample) const;

  StudyContext& study_;
  const KeptStates& kept_;
  ZooStarts& zoo_;
  std::map<TrialId, zoo::MatchModel> match_models_;  ///< Trials from which others may start.
};

}  // namespace lanista::engine
