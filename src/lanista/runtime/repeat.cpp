#include "lanista/runtime/repeat.h"

#include <new>

#include "lanista/kernels/flush_to_zero.h"
#include "lanista/runtime/trial_slot.h"
#include "lanista/step/training_step.h"

namespace lanista::runtime {
namespace {

Result<RepeatedTrial> train_alone(const engine::Job& job, std::int64_t epochs, const std::vector<std::string>& metrics,
                                  const data::Dataset& data,
                                  const std::function<void(const study::Measurement&)>& on_epoch,
                                  const nn::Operators& operators) {
  const graph::OpTable ops = step::training_ops(operators.table());
  LANISTA_ASSIGN(auto trainer, train::Trainer::create({.trial = job.trial,
                                                       .model = job.model,
                                                       .recipe = job.recipe,
                                                       .metrics = metrics,
                                                       .trial_seed = job.trial_seed,
                                                       .data_seed = job.data_seed,
                                                       .data = &data,
                                                       .step_ops = &ops,
                                                       .operators = &operators}));
  while (trainer.epochs_done() < epochs) {
    if (trainer.step()) on_epoch(trainer.measurements().back());
  }
  RepeatedTrial out{trainer.save(), trainer.measurements(), {}};
  out.hash = state_hash(out.state);
  return out;
}

}  // namespace

Result<RepeatedTrial> repeat_trial(const engine::Job& job, std::int64_t epochs, const std::vector<std::string>& metrics,
                                   const data::Dataset& data,
                                   const std::function<void(const study::Measurement&)>& on_epoch,
                                   const nn::Operators& operators) {
  const kernels::FlushToZero as_workers;  // part of the numerics
  try {
    return train_alone(job, epochs, metrics, data, on_epoch, operators);
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory", ""};
  } catch (const std::exception& error) {
    return Error{Code::kInternal, error.what(), ""};
  }
}

}  // namespace lanista::runtime
