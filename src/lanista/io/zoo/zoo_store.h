#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/zoo/catalogue.h"
#include "lanista/io/zoo/task.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

// Trained models in a folder, from which later ones may start:
//   index.sqlite          what they are (SQLite, write-ahead log)
//   weights/<sha256>.safetensors
namespace lanista::zoo {

/// A model for the zoo.
struct NewModel {
  graph::Graph graph;                 ///< The model.
  TaskKey task;                       ///< What it was trained for.
  std::vector<Tensor> tensors;        ///< All parameters and buffers of the graph, of one precision.
  double quality = 0;                 ///< On a held-out part; larger is better.
  std::string metric;                 ///< The metric of `quality`: "accuracy"; "-rmse" where smaller is better.
  std::optional<double> chance = {};  ///< The quality of a guess, if it is known.
  std::string origin = {};            ///< For users: "studies/digits-1#7".
  nlohmann::json facts = nlohmann::json::object();  ///< Further facts: epochs, recipe.
};

/// The result of adding a model.
struct AddResult {
  /// What the zoo did with the model.
  enum class State {
    kLive,         ///< It is in the zoo and may be offered.
    kKnown,        ///< The same model with the same weights is in the zoo already.
    kRefused,      ///< It is not kept; `why` has the reason.
    kQuarantined,  ///< Its weights are not finite. It is listed without weights and never offered.
  };
  std::string id;                          ///< Of the model.
  State state = State::kLive;              ///< What was done.
  std::string why = {};                    ///< The reason for refusal or quarantine.
  std::vector<std::string> replaced = {};  ///< Ids of replicas of its structure that it replaced.
};

/// A model in the index.
struct StoredModel {
  /// Id, task, state, reason for the state, metric, origin and hash of the graph.
  std::string id, task, state, why, metric, origin, graph_hash;
  double quality = 0;  ///< Larger is better.
  /// Nodes, parameters, bytes of weights, number of the change that added it, and trainings that started from it.
  std::int64_t nodes = 0, params = 0, bytes = 0, added = 0, hits = 0;
  bool pinned = false;   ///< Neither evicted nor replaced.
  nlohmann::json facts;  ///< Further facts.
};

/// The result of a training that started from a model.
struct WarmStartOutcome {
  std::string parent;    ///< id of the model
  std::string child;     ///< hash of the trained graph
  double steps = 0;      ///< steps to the target
  double reference = 0;  ///< steps that a random start needed, or was expected to need
  std::string source;    ///< reporter of the outcome
};
/// What earlier starts from a model saved.
struct ExpectedSaving {
  double saving = 0;             ///< mean share of steps, 1 - steps / reference; negative if they needed more
  std::int64_t outcomes = 0;     ///< reported trainings
  bool is_task_average = false;  ///< of other parents of the task, since this one has no outcomes
};

/// A problem of a model, or of a file without a model.
struct Finding {
  std::string id;    ///< of the model, or the name of the file
  std::string what;  ///< the problem
};
/// The result of a garbage collection.
struct GcResult {
  std::vector<std::string> evicted;  ///< ids of evicted models
  std::int64_t orphans = 0;          ///< removed files without a model
  std::int64_t bytes = 0;            ///< of the remaining weights
};

/// A zoo on disk. Any number of processes may read and write it at the same time.
///
/// Each change is one transaction and is on disk when the call returns. A crash may leave files without a model, which
/// the next writer removes. Thread-safe. Errors of all calls: those of the index (kUnavailable, kResourceExhausted,
/// kDataLoss, kIo), of files, and kNotFound for an unknown id.
class Store {
 public:
  /// What a store may do.
  enum class Mode {
    kRead,    ///< reads; kNotFound without a zoo
    kChange,  ///< changes an existing zoo; kNotFound without one
    kWrite,   ///< also makes a zoo in a new or empty folder
  };
  /// Settings of a store.
  struct Options {
    std::int64_t replicas = 3;                ///< most models of one task and structure (relaxed hash)
    FileSystem* files = &real_file_system();  ///< for weights
  };
  /// Opens a zoo. Nothing is written before the folder was checked. Errors: also kFailedPrecondition (another version,
  /// with its number; a folder with other files, with up to three of their names; an index with other tables). Also
  /// kFailedPrecondition (a link, a FIFO, a device, a file with several names or of another user in place of one of the
  /// zoo's files).
  static Result<Store> open(const std::string& folder, Mode mode, const Options& options);
  /// Opens a zoo with default options.
  static Result<Store> open(const std::string& folder, Mode mode) { return open(folder, mode, Options()); }
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Adds a model. `now` is the time of leases in seconds; leases that have expired then protect nothing. With 0 all
  /// leases count. Errors: also kInvalidArgument (a tensor that is missing, has another shape or belongs to no node,
  /// with its name; a quality that is not finite; an invalid graph).
  Result<AddResult> add(const NewModel& model, const graph::OpTable& ops, std::int64_t now = 0);

  /// Which models find() returns.
  enum class Scope {
    kTask,    ///< those trained on the same data
    kFamily,  ///< those with equal inputs and outputs: see TaskKey::family
  };
  /// The live models of a task, for a search. They are cached between calls; only changes are read. Rows that cannot be
  /// read are reported in `skipped`, one line each.
  Result<std::shared_ptr<const Catalogue>> find(const TaskKey& task, Scope scope = Scope::kTask,
                                                std::vector<std::string>* skipped = nullptr) const;

  /// The graph of a model.
  Result<graph::Graph> graph(const std::string& id) const;
  /// All tensors of a model, or those with these names. Only these are read, and each is compared with its SHA-256.
  /// Errors: kDataLoss with model and tensor.
  Result<std::vector<Tensor>> weights(const std::string& id, const std::vector<std::string>& names = {}) const;
  /// The id that begins with a text. Errors: kInvalidArgument if several ids do.
  Result<std::string> resolve(const std::string& beginning) const;
  /// A model in the index.
  Result<StoredModel> show(const std::string& id) const;
  /// All models except removed ones, by task and then from the best. Damaged rows are reported in `skipped`.
  Result<std::vector<StoredModel>> list(std::vector<std::string>* skipped = nullptr) const;

  /// Removes a model and its weights.
  Result<void> remove(const std::string& id);
  /// Excludes a model from all offers and keeps it in the list: its files are damaged, or its weights are not finite.
  Result<void> quarantine(const std::string& id, const std::string& why);
  /// Pins or unpins a model. Pinned models are neither evicted nor replaced.
  Result<void> pin(const std::string& id, bool pinned);
  /// Protects a model as pin() does until `until`, in seconds of the caller's clock. A later lease of the holder
  /// replaces it.
  Result<void> lease(const std::string& id, const std::string& holder, std::int64_t until);
  /// Ends a lease.
  Result<void> release(const std::string& id, const std::string& holder);
  /// Leases all live models of a task or family that were added up to change `newest`, in one change, and returns their
  /// number.
  Result<std::int64_t> lease_all(const TaskKey& task, Scope scope, std::int64_t newest, const std::string& holder,
                                 std::int64_t until);
  /// Ends all leases of a holder.
  Result<void> release_all(const std::string& holder);
  /// The number of the last change; models are numbered by the change that added them (StoredModel::added).
  Result<std::int64_t> last_change() const;

  /// Counts a training that starts from the model.
  Result<void> report_hit(const std::string& id);
  /// Stores an outcome. A second one from the same source with the same parent and child is ignored. Errors: also
  /// kInvalidArgument (steps that are not positive numbers).
  Result<void> report_outcome(const WarmStartOutcome& outcome);
  /// What starts from the model saved, or else starts from others of its task; none without outcomes.
  Result<std::optional<ExpectedSaving>> expected_gain(const std::string& id) const;
  /// Stores a query. Eviction keeps models that serve the last 64 queries of a task.
  Result<void> record_query(const TaskKey& task, const MatchModel& child);

  /// Checks everything: graphs against their hashes and packed forms, files against their SHA-256, files without a
  /// model.
  Result<std::vector<Finding>> verify(const graph::OpTable& ops) const;
  /// Removes files without a model and the rest of removed models. With a budget in bytes it evicts models until the
  /// weights fit, by similarity (its bound) to recent queries, quality, and savings. `now` is the time of leases in
  /// seconds.
  Result<GcResult> gc(std::int64_t now, std::optional<std::int64_t> budget = std::nullopt);

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lanista::zoo
