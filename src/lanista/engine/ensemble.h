#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/executor.h"
#include "lanista/graph/op.h"
#include "lanista/study/config.h"
#include "lanista/study/ensemble.h"
#include "lanista/study/view.h"

namespace lanista::engine {

/// A trained trial that may be a member of an ensemble.
struct Candidate {
  const study::TrialView* trial = nullptr;
  Job job;
  std::string weights;  ///< address
};

/// What an executor measures: these members with their shares.
std::vector<Tested> tested(std::span<const Candidate> candidates, const study::Ensemble& ensemble);

/// The best blend of at most `most` draws of the candidates by the study's first goal, as measured on the validation
/// part (study::select_ensemble); the first candidate is where it begins, and what it has to beat. A blend must not
/// break a constraint by more than that one does: of what is measured on the validation part its own values count, of
/// params and flops the sums over its members, and of all else each member's. With `validation` filled in; a single
/// member means that no ensemble is better. A goal that is not measured on the validation part has none. A function of
/// its arguments and of the executor's numbers. Errors: those of Executor::measure.
Result<study::Ensemble> choose_ensemble(Executor& executor, const study::StudyConfig& config,
                                        const graph::OpTable& ops, std::span<const Candidate> candidates,
                                        std::int64_t most);

}  // namespace lanista::engine
