#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/mutate/model_space.h"
#include "lanista/study/config.h"
#include "lanista/study/trial.h"

namespace lanista::strategy {

/// What the engine has room for.
struct Capacity {
  std::int64_t free_slots = 1;
};

/// Trials that may be trained together. Empty: there is nothing to propose before another event; while no trial runs,
/// the space is exhausted, all that it holds was proposed or may not be.
struct TrialGroup {
  std::vector<study::Proposal> proposals;
};

/// What to try next: a fold over the log. No clock, no thread, no save or load; replaying the events rebuilds it.
/// `suggest` changes nothing: the same history gives the same answer (its Rng is keyed by the number of proposals
/// seen).
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// At most free_slots proposals. Errors: kResourceExhausted when bad luck found nothing new in a space that may well
  /// hold more (the message says how often it drew and what stood against most draws).
  virtual Result<TrialGroup> suggest(const Capacity& capacity) const = 0;
  virtual void observe(const study::Event& event) = 0;  ///< incl. its own proposals
  virtual study::Verdict verdict(TrialId trial) const = 0;
  /// The next epoch after `epoch` whose verdict may differ from kContinue; trials may run ahead up to it.
  virtual std::int64_t next_decision(TrialId trial, std::int64_t epoch, std::int64_t budget) const {
    static_cast<void>(trial), static_cast<void>(budget);
    return epoch + 1;
  }
};

/// When to end a trial early; folded like a strategy and asked after every measurement.
class StoppingRule {
 public:
  virtual ~StoppingRule() = default;
  virtual void observe(const study::Event& event) = 0;
  virtual study::Verdict verdict(TrialId trial) const = 0;
  /// The next epoch after `epoch` whose verdict may differ from kContinue; trials may run ahead up to it.
  virtual std::int64_t next_decision(TrialId trial, std::int64_t epoch, std::int64_t budget) const = 0;
};

/// What a strategy is made from.
struct Context {
  std::shared_ptr<const mutate::ModelSpace> models;
  space::SearchSpace params;
  std::vector<study::Goal> goals;
  std::int64_t epochs = 1;  ///< the budget of a proposal
  Rng rng;
  std::vector<study::Constraint> constraints = {};  ///< on what is known before training and on what is measured
};

struct StrategyPlugin {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
  std::function<Result<std::unique_ptr<Strategy>>(const Context&, const Options&, std::unique_ptr<StoppingRule>)> make;
};
/// What a stopping rule is made from.
struct Judged {
  std::vector<study::Goal> goals;
  std::int64_t epochs = 1;                          ///< that a trial trains at most
  std::vector<study::Constraint> constraints = {};  ///< those that are measured count
};
struct StoppingPlugin {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
  std::function<Result<std::unique_ptr<StoppingRule>>(const Judged&, const Options&)> make;
};
std::vector<StrategyPlugin> builtin_strategies();      ///< the room's README says what each does
std::vector<StoppingPlugin> builtin_stopping_rules();  ///< none, asha

}  // namespace lanista::strategy
