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

namespace lanista::strategy {

/// What the results so far say of other trials by a study's rules (study/implied.h), and whom to begin next so that
/// they say it soon. A fold over the study's events, like a strategy; nothing else enters.
///
/// Trials that are equal but for the parameters of the rules of one event stand on one *line* (with several such
/// parameters it is a grid): equal model, other hyper-parameters, schedule, fold and start. Of two on a line one lies
/// *further* if no parameter lies nearer in its rule's direction and one lies further. Whoever lies further than a
/// trial that failed by the event in its epoch e, is to train through e at least, and has not measured e, is implied:
/// it would fail by e. One that has come through e is not, and its coming through *contradicts* the rules by which it
/// lies further: they say nothing from then on.
///
/// Not thread-safe. Memory grows with the number of trials; a question costs as much as there are failures on the line.
class DominancePruner {
 public:
  explicit DominancePruner(const std::vector<study::PruningRule>& rules);

  void observe(const study::Event& event);

  /// Who says so, and by which rules: "diverged along lr up".
  struct PruningReason {
    TrialId by;
    std::string rule;
  };
  /// Of a trial that has been proposed, is not at rest for good, and is to train through epoch `budget`; of several
  /// that say so the first. nullopt: nobody does.
  std::optional<PruningReason> of(TrialId trial, std::int64_t budget) const;
  /// Rules that a result contradicted, by rule_text.
  std::vector<std::string> contradicted_rules() const;

  /// Where a trial stands on the line of each event; none: it has no such parameter.
  struct LinePosition {
    Digest line;
    std::vector<double> at;  ///< by rule; larger is further
  };
  using LinePositions = std::vector<std::optional<LinePosition>>;  ///< by event
  LinePositions positions_of(const study::Proposal& proposal) const;
  /// Of a trial that has been proposed.
  LinePositions positions_of(TrialId trial) const;

  /// A member of a group that waits for its turn.
  struct QueueEntry {
    const LinePositions* positions = nullptr;
    double cost = 1;            ///< of training it as far as it is to go, in logical time
    std::int64_t budget = 0;    ///< through which epoch that is
    std::optional<TrialId> of;  ///< whose resumption it is
  };
  /// Which of them begins next, by an order of study/implied.h; of equals the first. In every order but `given` whoever
  /// is implied goes first: that costs nothing. Trials under way count as pending. Needs one.
  ///
  /// How likely a trial fails is a guess of the line alone: of b pending trials nearer and f further than it, (1 + b) /
  /// (2 + b + f), as if the place from which on trials fail were equally likely between any two of them; nothing if one
  /// further has come through. `informative` takes the largest expected saving over the own cost (Fluid's class
  /// discussion, F2): V(t) = sum of cost(t') P(t' cancelled by t) / cost(t). `needed_first` takes the least chance of
  /// being cancelled itself, and of equals the largest V: what nobody can spare has to be trained anyway, and tells as
  /// much on its way. One after the other, it so trains what does not fail and the nearest that fail, less than which
  /// no order can do. O(n^2) of n members on a line.
  std::size_t next_index(std::span<const QueueEntry> waiting, std::string_view order) const;

 private:
  struct Event {
    std::string when;
    std::vector<study::PruningRule> rules;
  };
  /// A trial on a line.
  struct Point {
    std::vector<double> at;
    std::int64_t measured = 0, survived = 0;  ///< epochs; survived: it went on behind it, or ended well
    std::int64_t budget = 0;
    std::int64_t failed_at = 0;  ///< epoch; 0: it did not by this event
    bool open = true;            ///< it may be training
  };
  struct Line {
    std::map<TrialId, Point> points;
    std::set<TrialId> failed;  ///< by this event
  };
  struct Trial {
    LinePositions positions;
    std::int64_t measured = 0;
    bool forked = false;
  };
  struct FailureProbabilities;

  bool is_dominated(std::size_t event, const std::vector<double>& than, const std::vector<double>& at,
                    bool or_equal) const;
  std::string rules_between(std::size_t event, const std::vector<double>& than, const std::vector<double>& at) const;
  void each_point(TrialId trial, const std::function<void(std::size_t, Line&, Point&)>& visit);
  void record_survival(TrialId trial, std::int64_t epoch);
  using Rules = std::set<std::pair<std::size_t, std::size_t>>;  ///< event, rule
  /// Adds the rules that are wrong if one of two that lies as far came through what the other failed by.
  void check(std::size_t event, const Point& failed, const Point& through, Rules& wrong) const;
  std::optional<PruningReason> implied_at(const LinePositions& positions, std::int64_t measured,
                                          std::int64_t budget) const;
  void end(const study::Ended& ended);
  FailureProbabilities failure_probabilities_on(std::size_t event, const Digest& line,
                                                std::span<const QueueEntry> waiting,
                                                std::span<const std::size_t> members) const;

  std::vector<Event> events_;
  std::vector<std::unordered_map<Digest, Line>> lines_;  ///< by event; never walked
  std::map<TrialId, Trial> trials_;
  Rules contradicted_;
};

}  // namespace lanista::strategy
