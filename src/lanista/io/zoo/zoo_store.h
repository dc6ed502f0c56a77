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
//   index.sqlite          graphs, tasks, results (SQLite, write-ahead log)
//   weights/<sha256>.safetensors
namespace lanista::zoo {

/// A trained model that a caller adds to the zoo.
struct NewModel {
  graph::Graph graph;                               ///< Its graph.
  TaskKey task;                                     ///< Task that it was trained for.
  std::vector<Tensor> tensors;                      ///< All parameters and buffers, all float32 or all float64.
  double quality = 0;                               ///< Its result on rows that were not trained on; larger is better.
  std::string metric;                               ///< Metric of `quality`: "accuracy"; "-rmse" for a negated metric.
  std::optional<double> chance = {};                ///< Quality of a guess, if it is known.
  std::string origin = {};                          ///< Study and trial, for users: "studies/digits-1#7".
  nlohmann::json facts = nlohmann::json::object();  ///< More fields for users: epochs, recipe.
};

/// The result of adding a model.
struct AddResult {
  /// What Store::add() did with the model.
  enum class State {
    kLive,         ///< It is in the zoo and may be offered.
    kKnown,        ///< The same model with the same weights is in the zoo already.
    kRefused,      ///< It is not kept; `why` has the reason.
    kQuarantined,  ///< Its weights are not finite. It is listed without weights and never offered.
  };
  std::string id;                          ///< Id of the model.
  State state = State::kLive;              ///< What Store::add() did.
  std::string why = {};                    ///< For users: the reason for refusal or quarantine; else empty.
  std::vector<std::string> replaced = {};  ///< Ids of models of its structure that were removed for it.
};

/// A model as the index of the zoo describes it, without graph and weights.
struct StoredModel {
  /// Id, TaskKey::text(), state (live, quarantined or removed), reason for the state, metric, origin, and graph hash in
  /// hexadecimal.
  std::string id, task, state, why, metric, origin, graph_hash;
  double quality = 0;  ///< Its result; larger is better.
  /// Number of nodes, number of parameters, bytes of its file of weights, number of the change that added it, and
  /// number of trainings that started from it.
  std::int64_t nodes = 0, params = 0, bytes = 0, added = 0, hits = 0;
  bool pinned = false;   ///< True: neither evicted nor replaced.
  nlohmann::json facts;  ///< As NewModel::facts.
};

/// The result of a training that started from a model.
struct WarmStartOutcome {
  std::string parent;    ///< Id of the model from which it started.
  std::string child;     ///< Graph hash of the trained model, in hexadecimal.
  double steps = 0;      ///< Training steps to the target.
  double reference = 0;  ///< Steps to the target from random weights, measured or expected.
  std::string source;    ///< Reporter, such as a study. Equal outcomes of one source count once.
};
/// The share of training that earlier starts from a model saved.
struct ExpectedSaving {
  double saving = 0;             ///< mean of 1 - steps / reference over outcomes; negative if more steps were needed
  std::int64_t outcomes = 0;     ///< number of outcomes in the mean, at least 1
  bool is_task_average = false;  ///< true: the mean is over other parents of the task, since this one has no outcomes
};

/// A problem that verify() found: of a model, of a file without a model, or of the index.
struct Finding {
  std::string id;    ///< id of the model, or name of the file
  std::string what;  ///< description of the problem, for users
};
/// The result of a garbage collection of the zoo.
struct GcResult {
  std::vector<std::string> evicted;  ///< ids of evicted models
  std::int64_t orphans = 0;          ///< number of removed files, those of evicted models included
  std::int64_t bytes = 0;            ///< sum of StoredModel::bytes of the live models that remain
};

/// A zoo on disk. Any number of processes may read and write it at the same time.
///
/// Each change is one transaction and is on disk when the call returns. A crash may leave files without a model, which
/// the next writer removes. Thread-safe: calls run one after another. Errors of all calls: those of Database and of
/// files. Calls with an id also give kNotFound if no model, or only a removed one, has it; exceptions are noted.
class Store {
 public:
  /// What a store may do with its folder.
  enum class Mode {
    kRead,    ///< reads; kNotFound without a zoo
    kChange,  ///< changes an existing zoo; kNotFound without one
    kWrite,   ///< also makes a zoo in a new or empty folder
  };
  /// Settings of a store.
  struct Options {
    std::int64_t replicas = 3;                ///< largest number of models of one task and structure; below 1: 1
    FileSystem* files = &real_file_system();  ///< for weights; must outlive the store
  };
  /// Opens the zoo in `folder`. A writer also removes files that crashed processes left. Nothing is written before the
  /// folder was checked. Errors: kNotFound as Mode describes; kFailedPrecondition (another version, with its number; a
  /// folder with other files, with up to three of their names; an index with other tables). Also kFailedPrecondition (a
  /// link, a FIFO, a device, a file with several names or of another user in place of one of the zoo's files).
  static Result<Store> open(const std::string& folder, Mode mode, const Options& options);
  /// Opens the zoo in `folder` with default options. Errors: those of open() with options.
  static Result<Store> open(const std::string& folder, Mode mode) { return open(folder, mode, Options()); }
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Adds a trained model, unless admission_refusal() or enough better models of its structure refuse it. Worse models
  /// of its structure are removed if there are more than Options::replicas. An equal model that is not live is
  /// replaced.
  ///
  /// `now` is the time in seconds on the clock of lease(); leases that have expired by then protect no model. With 0
  /// all leases count. Errors: those of graph::verify() (kNotFound, kInvalidArgument). Also kInvalidArgument (a tensor
  /// that is missing, occurs twice, has another shape or type or belongs to no node, with its name; a quality that is
  /// not finite; texts that are too long).
  Result<AddResult> add(const NewModel& model, const graph::OpTable& ops, std::int64_t now = 0);

  /// The models that find() and lease_all() select.
  enum class Scope {
    kTask,    ///< models with an equal TaskKey
    kFamily,  ///< models with an equal TaskKey::family(), on any data
  };
  /// The live models of a task or family, for a search. Quarantined ones count only in ranks of quality
  /// (Catalogue::rank_only). They are cached: a later call reads only what changed since.
  /// The catalogue is never changed after it was returned. `skipped` (may be null) is set to one text for users for
  /// each row that cannot be read.
  Result<std::shared_ptr<const Catalogue>> find(const TaskKey& task, Scope scope = Scope::kTask,
                                                std::vector<std::string>* skipped = nullptr) const;

  /// The graph of a live or quarantined model. Errors: also kDataLoss (a damaged graph).
  Result<graph::Graph> graph(const std::string& id) const;
  /// The tensors of a live model that have these `names`, in the order of the file; all if `names` is empty. Only these
  /// are read, and each is compared with its SHA-256. Errors: kNotFound (also an unknown name); kDataLoss (damaged,
  /// with model and tensor).
  Result<std::vector<Tensor>> weights(const std::string& id, const std::vector<std::string>& names = {}) const;
  /// The one id of a model that begins with `beginning`. Errors: kInvalidArgument (several ids do), kNotFound (none
  /// does, or an empty text).
  Result<std::string> resolve(const std::string& beginning) const;
  /// The description of a live or quarantined model. Errors: also kDataLoss (a damaged row).
  Result<StoredModel> show(const std::string& id) const;
  /// All live and quarantined models by task, then state, then from the best quality. One text for users for each
  /// damaged row is appended to `skipped` (may be null).
  Result<std::vector<StoredModel>> list(std::vector<std::string>* skipped = nullptr) const;

  /// Removes a model, also a pinned or leased one, and its file of weights unless another model has equal weights.
  Result<void> remove(const std::string& id);
  /// Sets a model to quarantined, also a pinned or leased one, with the reason `why` for users: it is listed and never
  /// offered. Its file of weights stays. For models with damaged files or weights that are not finite.
  Result<void> quarantine(const std::string& id, const std::string& why);
  /// Pins (true) or unpins a live model. Pinned models are neither evicted nor replaced; remove() and quarantine()
  /// still work. Errors: kNotFound, also for a quarantined model.
  Result<void> pin(const std::string& id, bool pinned);
  /// Protects a live model from eviction and replacement until `until`, in seconds on the clock that also gives `now`
  /// of add() and gc(). A second lease of the model by the same `holder` replaces the first.
  Result<void> lease(const std::string& id, const std::string& holder, std::int64_t until);
  /// Leases all live models of a task or family that were added up to change `newest` (see last_change()), in one
  /// transaction, as lease() does. Returns the number of leased models; it may be 0.
  Result<std::int64_t> lease_all(const TaskKey& task, Scope scope, std::int64_t newest, const std::string& holder,
                                 std::int64_t until);
  /// Ends all leases by `holder`; no error if there are none.
  Result<void> release_all(const std::string& holder);
  /// The number of the last change of models, which StoredModel::added refers to; 0 in a new zoo.
  Result<std::int64_t> last_change() const;

  /// Adds 1 to StoredModel::hits of a model: a training starts from it. No error for an unknown id.
  Result<void> report_hit(const std::string& id);
  /// Stores the outcome of a training. A second one with the same parent, child and source, if that is not empty, is
  /// ignored. Errors: also kInvalidArgument (steps that are not positive finite numbers).
  Result<void> report_outcome(const WarmStartOutcome& outcome);
  /// The mean saving of starts from the model, or else of starts from other models of its task. None without outcomes,
  /// or for an unknown id.
  Result<std::optional<ExpectedSaving>> expected_gain(const std::string& id) const;
  /// Records that a study searched a start for `child`. gc() prefers to keep models that fit the last 64 such queries
  /// of a task.
  Result<void> record_query(const TaskKey& task, const MatchModel& child);

  /// Checks the whole zoo and returns the problems; empty: none. It compares graphs with their hashes and packed forms,
  /// and files with their SHA-256, and lists files without a model. It changes nothing.
  Result<std::vector<Finding>> verify(const graph::OpTable& ops) const;
  /// Removes files without a model, the rest of removed models, and expired leases. With a budget in bytes it evicts
  /// models until the weights fit, in an order by similarity to recent queries, quality, and savings; see
  /// choose_evicted(). Without one it evicts none. `now` is the time in seconds on the clock of lease().
  Result<GcResult> gc(std::int64_t now, std::optional<std::int64_t> budget = std::nullopt);

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lanista::zoo
