#include "bench/timed_training.h"

#include "bench/arms.h"

namespace lanista::bench {

Result<std::unique_ptr<TimedTraining>> TimedTraining::make(const train::TrainerInput& input) {
  LANISTA_ASSIGN(auto group, train::LaneGroup::create(input, 1));
  LANISTA_ASSIGN(auto run, train::TrialRun::create(input));
  std::unique_ptr<TimedTraining> out(new TimedTraining(std::move(group), std::move(run)));
  LANISTA_TRY(out->group_.admit(out->run_));
  return out;
}

Result<void> TimedTraining::epoch(std::int64_t most) {
  const double start = thread_cpu_seconds();
  train::TrialRun* const one = &run_;
  train::StepResult end;
  while (!end.epoch_ended && end.failure.empty()) {
    updates_ += static_cast<double>(group_.advance({&one, 1}, most, {&end, 1}));
  }
  if (!end.failure.empty()) return Error{Code::kInternal, end.failure, ""};
  const double end_of_epoch = thread_cpu_seconds();
  group_.evaluate(run_, data::Part::kValidation, "");
  const double evaluation = thread_cpu_seconds() - end_of_epoch;
  seconds_ += end_of_epoch - start - evaluation;
  return {};
}

}  // namespace lanista::bench
