#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/graph/graph.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/zoo_start.h"
#include "lanista/io/zoo/zoo_store.h"

namespace lanista::engine {

/// What a study has to do with a zoo (train.start: zoo). What it may start from is fixed when it begins: models that
/// were there by then, which it leases until it ends, so that they stay. Nothing that a zoo does ends a study: what
/// goes wrong is told, and the study goes on without. Single-threaded.
class StudyZoo {
 public:
  using Warn = std::function<void(const std::string& event, nlohmann::json fields)>;
  struct ZooLocation {
    std::string folder;
    zoo::TaskKey task;
    std::string holder;  ///< of leases: the study
  };

  /// What a new study may start from; makes the folder. `related`: of other data, where there is nothing of these.
  /// What is in the way is the moment's `trouble`.
  static study::ZooSnapshot begin(const ZooLocation& place, bool related, std::int64_t now);
  /// For an attempt at a study that began so; nullopt: the study has nothing to do with it any more, which is told.
  static std::optional<StudyZoo> open(ZooLocation place, const study::ZooSnapshot& zoo_snapshot, std::int64_t now, Warn warn);

  struct ZooMatch {
    study::ZooModel model;
    graph::Graph graph;
  };
  /// The model that the child should start from, of those that the study may. Errors: verify's, of the child.
  Result<std::optional<ZooMatch>> find_start(const graph::Graph& child, const graph::OpTable& ops);
  /// All tensors of a model, as its graph wants them; nullopt: they are damaged or gone, and it is left out from here
  /// on.
  std::optional<std::vector<Tensor>> weights(const std::string& id, const graph::Graph& graph,
                                             const graph::OpTable& ops);
  /// Not offered again; `damaged`: to nobody.
  void exclude(const std::string& id, const std::string& why, bool damaged);
  void note_start(const std::string& id, const graph::Graph& child, const graph::OpTable& ops);

  void add(const zoo::NewModel& model, const graph::OpTable& ops, std::int64_t now);
  void report_outcome(const zoo::WarmStartOutcome& outcome);
  /// Leases last for a month from the last of these calls; the work is done once a day.
  void renew(std::int64_t now);
  void release();

 private:
  StudyZoo(ZooLocation place, study::ZooSnapshot zoo_snapshot, zoo::Store store, bool is_writable, Warn warn)
      : location_(std::move(place)),
        snapshot_(std::move(zoo_snapshot)),
        store_(std::move(store)),
        is_writable_(is_writable),
        warn_(std::move(warn)) {}
  void warn_about(const std::string& event, const Error& error) const;

  ZooLocation location_;
  study::ZooSnapshot snapshot_;
  zoo::Store store_;
  bool is_writable_ = false;
  Warn warn_;
  std::shared_ptr<const zoo::Catalogue> catalogue_;
  std::set<std::string> excluded_;
  std::int64_t leased_at_ = 0;
};

/// Where a study's zoo is, and what it is to the study.
StudyZoo::ZooLocation zoo_location(const study::StudyConfig& config, const data::DataSpec& data, const std::string& folder);

}  // namespace lanista::engine
