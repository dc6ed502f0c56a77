#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/pruning_rules.h"
#include "lanista/search/study/trial.h"

namespace lanista::search {

/// Prunes trials by the pruning rules of a study (study/pruning_rules.h), and orders the trials of a group.
///
/// Trials form a *line* for an event of the rules if they differ only in the parameters of these rules and in the seed.
/// So they have equal models, other hyper-parameters, schedules, folds and starts. With several parameters the line is
/// a grid. One trial on a line is *further* than another if no parameter is nearer in the direction of its rule and one
/// is further.
///
/// Suppose a trial failed by the event in epoch e. A further trial is *pruned by dominance* if it is to train through
/// epoch e and has not measured e: it would fail by e. If a further trial survives epoch e, it *contradicts* the rules
/// between the two, which prune no trial from then on. A trial at the same place that survives contradicts all rules of
/// the event. Trials that forked are on no line.
///
/// It depends only on the events that it observes, like a strategy. Not thread-safe. Memory grows with the number of
/// trials. A call of of() needs O(failures on the line).
class DominancePruner {
 public:
  /// Takes the failure rules among `rules`. Rung rules are ignored.
  explicit DominancePruner(const std::vector<study::PruningRule>& rules);

  /// Processes the next event of the study.
  void observe(const study::Event& event);

  /// Why a trial is pruned.
  struct PruningReason {
    TrialId by;        ///< The trial that failed.
    std::string rule;  ///< The rules that apply, joined by " and ", such as "diverged along lr up".
  };
  /// Returns why a trial is pruned that is to train through epoch `budget`, or nullopt if it is not pruned.
  ///
  /// The trial must not have ended. An unknown trial, or one that forked, is not pruned. Of several reasons the one
  /// with the lowest trial id counts.
  std::optional<PruningReason> of(TrialId trial, std::int64_t budget) const;
  /// Returns the rules that a result contradicted, as study::rule_text prints them, grouped by event.
  std::vector<std::string> contradicted_rules() const;

  /// Position of a trial on the line of one event.
  struct LinePosition {
    Digest line;             ///< Key of the line.
    std::vector<double> at;  ///< One coordinate per rule. Larger is further. 0 if the proposal lacks the parameter.
  };
  /// One entry per event of the rules, in the order of their first rules. nullopt: the proposal has none of the
  /// parameters of the event.
  using LinePositions = std::vector<std::optional<LinePosition>>;
  /// Returns the positions of a proposal on the lines of all events, one entry for each event. Proposals of one line
  /// differ only in the parameters of the event's rules.
  LinePositions positions_of(const study::Proposal& proposal) const;
  /// Returns the positions of a proposed trial on the lines of all events: for each event the key of its line, and one
  /// coordinate for each rule. All are nullopt if the trial forked or is unknown.
  LinePositions positions_of(TrialId trial) const;

  /// A member of a group that has not begun.
  struct QueueEntry {
    const LinePositions* positions = nullptr;  ///< Positions of its proposal; not null.
    double cost = 1;                           ///< Cost of training it to its budget, in logical time.
    std::int64_t budget = 0;                   ///< Epoch to which it trains.
    std::optional<TrialId> of;                 ///< The paused trial that it resumes. None: it is a new trial.
  };
  /// Returns the index of the entry that begins next, by an order of study/pruning_rules.h. Needs one entry or more.
  ///
  /// Of equal entries the first one is taken. In every order except `given` a pruned entry comes first, because it
  /// costs nothing. Running trials count as pending.
  ///
  /// The probability of failure is estimated from the line alone. With b pending trials nearer and f further, it is
  /// (1 + b) / (2 + b + f). This assumes that the first failure is equally likely between any two of them. It is 0 if a
  /// trial that is further or equal survived to its budget.
  ///
  /// `informative` takes the largest V(t) = sum of cost(t') P(t cancels t') / cost(t), the expected saving over the
  /// trial's own cost (class discussion of Fluid, F2). `needed_first` takes the lowest probability of being cancelled,
  /// then the largest V. One trial after the other, it trains the survivors and the nearest failures, which is the
  /// minimum. O(n^2) for n entries on a line.
  std::size_t next_index(std::span<const QueueEntry> waiting, std::string_view order) const;

 private:
  struct Event {
    std::string when;
    std::vector<study::PruningRule> rules;
  };
  /// A trial on a line.
  struct Point {
    std::vector<double> at;
    std::int64_t measured = 0;   ///< Last epoch that was measured.
    std::int64_t survived = 0;   ///< Last epoch after which it continued, or with which it succeeded or was stopped.
    std::int64_t budget = 0;     ///< Epoch to which it trains.
    std::int64_t failed_at = 0;  ///< Epoch in which it failed by this event; 0 if it did not.
    bool open = true;            ///< Whether it may be running.
  };
  struct Line {
    std::map<TrialId, Point> points;
    std::set<TrialId> failed;  ///< Trials that failed by this event.
  };
  struct Trial {
    LinePositions positions;
    std::int64_t measured = 0;
    bool forked = false;
  };
  struct FailureProbabilities;

  /// True if `at` is further than `than`, or also equal with `or_equal`. Contradicted rules do not count.
  bool is_dominated(std::size_t event, const std::vector<double>& than, const std::vector<double>& at,
                    bool or_equal) const;
  std::string rules_between(std::size_t event, const std::vector<double>& than, const std::vector<double>& at) const;
  void each_point(TrialId trial, const std::function<void(std::size_t, Line&, Point&)>& visit);
  void record_survival(TrialId trial, std::int64_t epoch);
  using Rules = std::set<std::pair<std::size_t, std::size_t>>;  ///< Pairs of event and rule.
  /// Adds the rules that are contradicted, if `through` survived the epoch in which `failed` failed.
  void add_contradictions(std::size_t event, const Point& failed, const Point& through, Rules& wrong) const;
  std::optional<PruningReason> pruning_reason_at(const LinePositions& positions, std::int64_t measured,
                                                 std::int64_t budget) const;
  void end(const study::Ended& ended);
  FailureProbabilities failure_probabilities_on(std::size_t event, const Digest& line,
                                                std::span<const QueueEntry> waiting,
                                                std::span<const std::size_t> members) const;

  std::vector<Event> events_;
  std::vector<std::unordered_map<Digest, Line>> lines_;  ///< One map per event. Never iterated.
  std::map<TrialId, Trial> trials_;
  Rules contradicted_;
};

}  // namespace lanista::search
