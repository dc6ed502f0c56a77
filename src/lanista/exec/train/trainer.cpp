#include "lanista/exec/train/trainer.h"

#include <stdexcept>

namespace lanista::train {

Result<Trainer> Trainer::create(const TrainerInput& input) {
  LANISTA_ASSIGN(auto run, TrialRun::create(input));
  if (run.tune_rules()) {
    return Error{Code::kUnimplemented, "a trial with a tune search needs a worker; the trainer does not run searches",
                 "train.tune"};
  }
  LANISTA_ASSIGN(auto group, LaneGroup::create(input, 1));
  LANISTA_TRY(group.admit(run));
  return Trainer(std::move(group), std::move(run));
}

bool Trainer::step() {
  TrialRun* const run = &run_;
  StepResult end;
  group_.step({&run, 1}, {&end, 1});
  if (!end.failure.empty()) throw std::runtime_error(end.failure);
  return end.epoch_ended;
}

}  // namespace lanista::train
