#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lanista::cli {

/// A model that a verb of the zoo reads, and the data that it was trained for.
struct ZooModel {
  std::string target;   ///< package folder, DIR, DIR#TRIAL, MODEL.onnx, or safetensors file
  std::string graph;    ///< file of the graph of the safetensors; `match` accepts it alone
  std::string task_of;  ///< package or study with the data that it is for; empty: its own
};
/// Options of `zoo add`.
struct ZooAddRequest {
  std::string zoo;                ///< folder of the zoo
  ZooModel model;                 ///< model to add
  std::optional<double> quality;  ///< larger is better; none: the validation metric of the package
  std::int64_t replicas = 3;      ///< most models of one structure and task
  bool json = false;              ///< print JSON
};
/// Options of `zoo match`.
struct ZooMatchRequest {
  std::string zoo;       ///< folder of the zoo
  ZooModel model;        ///< new model
  bool related = false;  ///< if the task has no model: also models of other data of the same form
  bool json = false;     ///< print JSON
};
/// Options of `zoo ls`, `show`, `rm` and `verify`.
struct ZooRequest {
  std::string zoo;     ///< folder of the zoo
  std::string id;      ///< id of a model, or its beginning; show and rm only
  bool json = false;   ///< print JSON
  bool pin = false;    ///< show: never evict or replace the model
  bool unpin = false;  ///< show: undo `pin`
};
/// Options of `zoo gc`.
struct ZooGcRequest {
  std::string zoo;               ///< folder of the zoo
  std::optional<double> budget;  ///< limit of the weights, MiB; none: evict nothing
  bool json = false;             ///< print JSON
};

/// Prints the models by task, the best first. Returns the exit code.
int zoo_list(const ZooRequest& request);
/// Adds a trained model. Returns the exit code; kRefused if the zoo did not keep it.
int zoo_add(const ZooAddRequest& request);
/// Prints the model that a new one would start from, and the transfer plan. Returns the exit code.
int zoo_match(const ZooMatchRequest& request);
/// Prints one model, and pins or unpins it. Returns the exit code.
int zoo_show(const ZooRequest& request);
/// Removes one model. Returns the exit code.
int zoo_remove(const ZooRequest& request);
/// Compares all files with their hashes. Returns the exit code; kRefused if one is damaged.
int zoo_verify(const ZooRequest& request);
/// Removes files without a model, and evicts models beyond the budget. Returns the exit code.
int zoo_gc(const ZooGcRequest& request);

}  // namespace lanista::cli
