#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lanista::cli {

/// A model that a verb of the zoo is given, and what it was trained for.
struct ZooModel {
  std::string target;   ///< a package's folder, DIR, DIR#TRIAL, MODEL.onnx, or a file of safetensors
  std::string graph;    ///< text of the graph that the safetensors belong to; of `match` also alone
  std::string task_of;  ///< package or study whose data it is for; empty: its own
};
struct ZooAddRequest {
  std::string zoo;
  ZooModel model;
  std::optional<double> quality;  ///< empty: what the package says of the validation part
  std::int64_t replicas = 3;
  bool json = false;
};
struct ZooMatchRequest {
  std::string zoo;
  ZooModel model;
  bool related = false, json = false;
};
struct ZooRequest {
  std::string zoo, id;
  bool json = false, pin = false, unpin = false;
};
struct ZooGcRequest {
  std::string zoo;
  std::optional<double> budget;  ///< MiB
  bool json = false;
};

// Each prints on stdout and gives the exit code.
int zoo_list(const ZooRequest& request);
int zoo_add(const ZooAddRequest& request);
int zoo_match(const ZooMatchRequest& request);
int zoo_show(const ZooRequest& request);
int zoo_remove(const ZooRequest& request);
int zoo_verify(const ZooRequest& request);
int zoo_gc(const ZooGcRequest& request);

}  // namespace lanista::cli
