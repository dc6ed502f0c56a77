#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lanista::cli {

/// A model that a verb of the zoo reads, and the data that it was trained for.
struct ZooModel {
  std::string target;  ///< Package folder, DIR, DIR#TRIAL, MODEL.onnx, or safetensors file.
  /// File of the graph of safetensors in `target`; else empty. For `match` both may be the graph file, without weights.
  std::string graph;
  /// Package or study with the data that it is for; empty: its own, which only a package or a study has.
  std::string task_of;
};
/// Options of `zoo add`.
struct ZooAddRequest {
  std::string zoo;  ///< Folder of the zoo.
  ZooModel model;   ///< Model to add.
  /// Quality of the model, larger is better; absent: that of the package, from its validation metric. Required for
  /// other files.
  std::optional<double> quality;
  /// Most models of one structure and task. Above it, the worst of them are removed.
  std::int64_t replicas = 3;
  bool json = false;  ///< True: print JSON.
};
/// Options of `zoo match`.
struct ZooMatchRequest {
  std::string zoo;       ///< Folder of the zoo.
  ZooModel model;        ///< Model for which a start is searched.
  bool related = false;  ///< True: if no model of the task fits, also models of other data count.
  bool json = false;     ///< True: print JSON.
};
/// Options of `zoo ls`, `show`, `rm` and `verify`.
struct ZooRequest {
  std::string zoo;     ///< Folder of the zoo.
  std::string id;      ///< Id of a model, or its beginning; show and rm only.
  bool json = false;   ///< True: print JSON.
  bool pin = false;    ///< Show: true marks the model, so that it is never evicted or replaced.
  bool unpin = false;  ///< Show: true removes that mark.
};
/// Options of `zoo gc`.
struct ZooGcRequest {
  std::string zoo;               ///< Folder of the zoo.
  std::optional<double> budget;  ///< Limit of the weights of all models, in MiB; absent: evict nothing.
  bool json = false;             ///< True: print JSON.
};

/// Prints the models by task, the best first. Returns the exit code.
int zoo_list(const ZooRequest& request);
/// Adds a trained model, and prints the models that it replaced. Returns the exit code; kDone also if the zoo has it
/// already, kRefused if the zoo did not keep it.
int zoo_add(const ZooAddRequest& request);
/// Prints the model that a new one would start from, and the transfer plan. Returns the exit code; kDone also if there
/// is no such model.
int zoo_match(const ZooMatchRequest& request);
/// Prints one model, and pins or unpins it. Returns the exit code.
int zoo_show(const ZooRequest& request);
/// Removes the model with this id from the zoo. Returns the exit code.
int zoo_remove(const ZooRequest& request);
/// Checks the index, the graphs, and the files of weights against their hashes, and prints what is wrong, including
/// files of no model. Returns the exit code; kRefused if anything was found.
int zoo_verify(const ZooRequest& request);
/// Removes files without a model, and evicts models beyond the budget. Returns the exit code.
int zoo_gc(const ZooGcRequest& request);

}  // namespace lanista::cli
