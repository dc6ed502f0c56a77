#pragma once

#include <cstddef>
#include <optional>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/job_launcher.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_search.h"
#include "lanista/engine/core/trial_ender.h"
#include "lanista/engine/core/warm_start_chooser.h"

namespace lanista::engine {

/// Records new trials and resumptions, and starts them. Not thread-safe.
class TrialStarter {
 public:
  /// Started trials enter `active`; those that end at once go to `ender`. New trials start from `kept` states or from
  /// `zoo`. All arguments outlive this.
  TrialStarter(StudyContext& study, StudySearch& search, ActiveTrials& active, JobLauncher& launcher, KeptStates& kept,
               ZooStarts& zoo, TrialEnder& ender)
      : study_(study),
        search_(search),
        active_(active),
        launcher_(launcher),
        kept_(kept),
        ender_(ender),
        starts_(study, kept, zoo) {}

  /// Records a new trial and starts it, unless it is a duplicate or pruned by a rule. `waiting_index` is its index,
  /// from 0, among the new trials that wait. If its job cannot start, it fails at its next event. Errors:
  /// kInvalidArgument (a start from a trial that does not exist, or with folds), those of TrialModels::build, of the
  /// checkpoint store and of the log.
  Result<void> propose(study::Proposal proposal, std::size_t waiting_index);
  /// Records the resumption of a trial, which must be paused, and starts it. If the state to fork from is lost, it
  /// resumes from its own state, with a warning. Errors: kInvalidArgument (a fork from a trial that does not exist,
  /// from itself, or from another epoch), those of the log.
  Result<void> resume(const search::ResumeTrial& member);

 private:
  /// The fork with the address of its state; nullopt: the state is not kept. Errors: kInvalidArgument (there was none).
  Result<std::optional<study::Fork>> resolve_fork(TrialId id, study::Fork fork) const;

  StudyContext& study_;
  StudySearch& search_;
  ActiveTrials& active_;
  JobLauncher& launcher_;
  KeptStates& kept_;
  TrialEnder& ender_;
  WarmStartChooser starts_;
};

}  // namespace lanista::engine
