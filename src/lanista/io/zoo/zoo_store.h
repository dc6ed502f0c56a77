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
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/io/zoo/catalogue.h"
#include "lanista/io/zoo/task.h"

// Trained models in a folder, for starts of later ones:
//   index.sqlite          what they are (SQLite, write-ahead log)
//   weights/<sha256>.safetensors
namespace lanista::zoo {

/// A model to be added.
struct NewModel {
  graph::Graph graph;
  TaskKey task;
  std::vector<Tensor> tensors;        ///< all parameters and buffers of the graph, of one precision
  double quality = 0;                 ///< on a held-out part; larger is better
  std::string metric;                 ///< what that is: "accuracy"; "-rmse" where smaller numbers are better
  std::optional<double> chance = {};  ///< the quality of a guess, where that is known
  std::string origin = {};            ///< for people: "studies/digits-1#7"
  nlohmann::json facts = nlohmann::json::object();  ///< whatever else is known: epochs, recipe
};

/// What became of it.
struct AddResult {
  enum class State {
    kLive,         ///< it is in the zoo and may be offered
    kKnown,        ///< this model with these weights is in the zoo already
    kRefused,      ///< not kept; `why` says why
    kQuarantined,  ///< weights that are no numbers: it is listed, without weights, and never offered
  };
  std::string id;
  State state = State::kLive;
  std::string why = {};
  std::vector<std::string> replaced = {};  ///< replicas of one structure that it took the place of
};

/// What the index says of a model.
struct StoredModel {
  std::string id, task, state, why, metric, origin, graph_hash;
  double quality = 0;
  std::int64_t nodes = 0, params = 0, bytes = 0, added = 0, hits = 0;
  bool pinned = false;
  nlohmann::json facts;
};

/// How a training went that a model was the start of.
struct WarmStartOutcome {
  std::string parent;    ///< id
  std::string child;     ///< graph hash of what was trained
  double steps = 0;      ///< to the target
  double reference = 0;  ///< what a random start took, or was expected to take
  std::string source;    ///< who says so
};
struct ExpectedSaving {
  double saving = 0;  ///< mean share of steps, 1 - steps / reference; below 0 where it cost more
  std::int64_t outcomes = 0;
  bool is_task_average = false;  ///< from other parents of the task: there are none of this one
};

/// Something wrong with a model, or with a file that belongs to none.
struct Finding {
  std::string id;  ///< or the file's name
  std::string what;
};
struct GcResult {
  std::vector<std::string> evicted;  ///< ids
  std::int64_t orphans = 0;          ///< files that belonged to no model
  std::int64_t bytes = 0;            ///< of the weights that stay
};

/// A zoo on a disk. Any number of processes may read and write it at a time; each change is one transaction, and what
/// was answered is on the disk. A crash at any place leaves files that nobody refers to, which the next writer sweeps.
/// Thread-safe. Errors in general: those of the index (kUnavailable, kResourceExhausted, kDataLoss, kIo), of files, and
/// kNotFound for an id that is not there.
class Store {
 public:
  enum class Mode {
    kRead,    ///< changes nothing; kNotFound where there is no zoo
    kChange,  ///< kNotFound where there is no zoo
    kWrite,   ///< makes a zoo in a new or empty folder
  };
  struct Options {
    std::int64_t replicas = 3;  ///< most models of one task and structure (relaxed hash)
    FileSystem* files = &real_file_system();
  };
  /// Errors: also kFailedPrecondition (another version, by its number; a folder that holds other files, by up to three
  /// of their names; an index with other tables than a zoo has; a link, a FIFO, a device, a file with several names or
  /// of another user in the place of one of the zoo's files). Nothing is written before these checks.
  static Result<Store> open(const std::string& folder, Mode mode, const Options& options);
  static Result<Store> open(const std::string& folder, Mode mode) { return open(folder, mode, Options()); }
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// `now`: the clock of leases, of which those that are over protect nothing; without it all count. Errors: also
  /// kInvalidArgument naming the tensor that is missing, has another shape, or belongs to no node; a quality that is no
  /// number; a graph that is none.
  Result<AddResult> add(const NewModel& model, const graph::OpTable& ops, std::int64_t now = 0);

  enum class Scope {
    kTask,    ///< the same data
    kFamily,  ///< whatever takes and gives the same: see TaskKey::family
  };
  /// The live models of a task, to search in. OverlapOf between calls; only what changed is read. What cannot be read is
  /// left out and said in `skipped`, a line each.
  Result<std::shared_ptr<const Catalogue>> find(const TaskKey& task, Scope scope = Scope::kTask,
                                                std::vector<std::string>* skipped = nullptr) const;

  Result<graph::Graph> graph(const std::string& id) const;
  /// All tensors, or those of the names; each is compared with its SHA-256. Only what is asked for is read. Errors:
  /// kDataLoss naming model and tensor.
  Result<std::vector<Tensor>> weights(const std::string& id, const std::vector<std::string>& names = {}) const;
  /// An id as people write it: whole, or enough of its beginning. Errors: kInvalidArgument where several begin so.
  Result<std::string> resolve(const std::string& beginning) const;
  Result<StoredModel> show(const std::string& id) const;
  /// All but removed ones, by task and then from the best. Rows that are damaged are left out; `skipped` names them.
  Result<std::vector<StoredModel>> list(std::vector<std::string>* skipped = nullptr) const;

  Result<void> remove(const std::string& id);
  /// Never offered again, but listed: its files are damaged, or its weights are no numbers.
  Result<void> quarantine(const std::string& id, const std::string& why);
  /// Pinned models are neither evicted nor replaced.
  Result<void> pin(const std::string& id, bool pinned);
  /// The same until `until` seconds of the caller's clock; a later lease of the holder replaces it.
  Result<void> lease(const std::string& id, const std::string& holder, std::int64_t until);
  Result<void> release(const std::string& id, const std::string& holder);
  /// The same for all live models of a task or family that were added by the change `newest`, in one change. Gives how
  /// many.
  Result<std::int64_t> lease_all(const TaskKey& task, Scope scope, std::int64_t newest, const std::string& holder,
                                 std::int64_t until);
  Result<void> release_all(const std::string& holder);
  /// The number of the last change; models are numbered by the change that added them (StoredModel::added).
  Result<std::int64_t> last_change() const;

  /// Counts a training that starts from the model.
  Result<void> report_hit(const std::string& id);
  /// What the same source has said of the same parent and child already is not told again. Errors: also
  /// kInvalidArgument for steps that are no positive numbers.
  Result<void> report_outcome(const WarmStartOutcome& outcome);
  /// What outcomes say of starts from the model, else from others of its task; nullopt where there are none.
  Result<std::optional<ExpectedSaving>> expected_gain(const std::string& id) const;
  /// Remembers what was asked for: eviction keeps models that serve the last 64 such of a task.
  Result<void> record_query(const TaskKey& task, const MatchModel& child);

  /// Reads everything: graphs against their hashes and views, files against their SHA-256, files without a model.
  Result<std::vector<Finding>> verify(const graph::OpTable& ops) const;
  /// Removes files that belong to no model and what is left of removed models; with a budget of bytes evicts models
  /// until weights fit, by similarity (its bound) to recent queries, quality, and savings. `now`: the clock of leases.
  Result<GcResult> gc(std::int64_t now, std::optional<std::int64_t> budget = std::nullopt);

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lanista::zoo
