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
#include "lanista/io/zoo/zoo_store.h"
#include "lanista/model/graph/graph.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/zoo_start.h"

namespace lanista::engine {

/// A study's access to a zoo (`train.start: zoo`). The models that a study may start from are fixed when it begins. It
/// leases them until it ends, so that the zoo keeps them. A failure of the zoo never ends a study: it is logged as a
/// warning, and the study continues without the zoo. In a zoo that can only be read, functions that write to it have no
/// effect. Not thread-safe.
class StudyZoo {
 public:
  /// Receives a warning for people: the name of the message and its fields.
  using Warn = std::function<void(const std::string& event, nlohmann::json fields)>;
  /// Which zoo a study uses, and for which models.
  struct ZooLocation {
    std::string folder;  ///< Folder of the zoo.
    zoo::TaskKey task;   ///< Task of the study's models, by which the zoo finds models.
    std::string holder;  ///< Name that owns the leases: the absolute path of the study's folder.
  };

  /// Fixes the models that a new study may start from, and leases them for 30 days from `now` (Unix seconds). It
  /// creates the folder if needed. With `related` it also admits models of other data if there is none for this task.
  /// After a failure the snapshot has no models, and ZooSnapshot::trouble has the reason.
  static study::ZooSnapshot begin(const ZooLocation& location, bool related, std::int64_t now);
  /// Opens the zoo for an attempt of a study with this snapshot and renews its leases from `now` (Unix seconds).
  /// nullopt: the zoo cannot be used; `warn` receives the reason, unless the snapshot itself failed.
  static std::optional<StudyZoo> open(ZooLocation location, const study::ZooSnapshot& zoo_snapshot, std::int64_t now,
                                      Warn warn);

  /// A zoo model with its graph.
  struct ZooMatch {
    study::ZooModel model;  ///< Id, quality and training of the model, as the study logs them.
    graph::Graph graph;     ///< The graph of the model.
  };
  /// The model that is most similar to `child` and that the study may start from; nullopt: none. A model that cannot be
  /// read is excluded. Errors: those of graph::verify (kNotFound, kInvalidArgument) for `child`.
  Result<std::optional<ZooMatch>> find_start(const graph::Graph& child, const graph::OpTable& ops);
  /// All tensors of a model, checked against its graph. nullopt: they are damaged or gone; the model is then excluded.
  std::optional<std::vector<Tensor>> weights(const std::string& id, const graph::Graph& graph,
                                             const graph::OpTable& ops);
  /// Never offers the model again in this attempt, and warns with `why`; a second call for a model has no effect. With
  /// `damaged` the zoo quarantines it for all studies.
  void exclude(const std::string& id, const std::string& why, bool damaged);
  /// Records in the zoo that `child` starts from the model, for its statistics of use.
  void note_start(const std::string& id, const graph::Graph& child, const graph::OpTable& ops);

  /// Adds a trained model to the zoo, at `now` (Unix seconds). If the zoo quarantines it, a warning is logged.
  void add(const zoo::NewModel& model, const graph::OpTable& ops, std::int64_t now);
  /// Reports to the zoo how useful a warm start from one of its models was.
  void report_outcome(const zoo::WarmStartOutcome& outcome);
  /// Extends the leases to 30 days from `now` (Unix seconds), at most once a day, also after a failure.
  void renew(std::int64_t now);
  /// Ends the leases of the study.
  void release();

 private:
  StudyZoo(ZooLocation location, study::ZooSnapshot zoo_snapshot, zoo::Store store, bool is_writable, Warn warn)
      : location_(std::move(location)),
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

/// The zoo that a configuration names, for models of these data. A relative path starts at the study folder `folder`.
StudyZoo::ZooLocation zoo_location(const study::StudyConfig& config, const data::DataSpec& data,
                                   const std::string& folder);

}  // namespace lanista::engine
