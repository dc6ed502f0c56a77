#pragma once

#include <deque>
#include <map>
#include <string>

#include "lanista/engine/core/executor.h"

namespace lanista::engine {

/// An executor that trains nothing: each allowed epoch is reported at once, with the metrics train_loss and
/// val_accuracy, which depend on the trial's number only. It ignores checkpoints, stores no file, and measure() gives
/// no metric. Benchmarks use it to measure everything except training.
class NoopExecutor final : public Executor {
 public:
  Result<void> start(const Job& job) override {
    done_[job.trial] = 0;
    return {};
  }
  void command(const Command& command) override {
    if (const auto* arrange = std::get_if<UpdateGroups>(&command)) {
      for (const Allow& allow : arrange->allow) train(allow);
    } else if (const auto* allow = std::get_if<Allow>(&command)) {
      train(*allow);
    } else if (const auto* finish = std::get_if<Finish>(&command)) {
      const bool known = done_.erase(finish->trial) > 0;
      if (known && !finish->abandon) reports_.push_back(FinishedReport{finish->trial, {}, ""});
    } else if (const auto* pause = std::get_if<PauseTrial>(&command)) {
      const auto trial = done_.extract(pause->trial);
      if (trial) reports_.push_back(TrialPausedReport{pause->trial, trial.mapped(), trial.mapped(), {}, ""});
    } else {
      done_.clear();
      reports_.push_back(AllPausedReport{});
    }
  }
  std::optional<Report> next(double) override {
    if (reports_.empty()) return std::nullopt;
    Report report = std::move(reports_.front());
    reports_.pop_front();
    return report;
  }
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember>, data::Part) override {
    return std::map<std::string, double>();
  }

 private:
  void train(const Allow& allow) {
    const auto trial = done_.find(allow.trial);
    if (trial == done_.end()) return;
    std::int64_t& done = trial->second;
    while (done < allow.epoch) {
      ++done;
      const double value = 1.0 / (1.0 + static_cast<double>(allow.trial.value % 1009));
      reports_.push_back(EpochReport{{allow.trial, done, done, {{"train_loss", value}, {"val_accuracy", value}}}});
    }
  }

  std::map<TrialId, std::int64_t> done_;
  std::deque<Report> reports_;
};

}  // namespace lanista::engine
