#include "lanista/exec/train/update_plan.h"

namespace lanista::train {

UpdatePlan::UpdatePlan(const study::EpochSchedule& epochs, const SettingHistory& settings, std::int64_t step)
    : epochs_(epochs),
      setting_(settings.at(step)),
      step_(step),
      end_(std::min({epochs.steps_through(epochs.epochs_completed(step) + 1), epochs.pass_begin(epochs.pass(step) + 1),
                     settings.end_of_setting(step)})) {}

DataPosition UpdatePlan::position() const {
  const std::int64_t pass = epochs_.pass(step_);
  return {.step = step_,
          .epoch = epochs_.epochs_completed(step_),
          .pass = pass,
          .ends_pass = step_ + 1 == epochs_.pass_begin(pass + 1)};
}

}  // namespace lanista::train
