#include <algorithm>
#include <array>
#include <utility>

#include "lanista/model/transfer/transfer.h"

namespace lanista::zoo {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::array<std::string_view, 5> kKinds{"copy", "map", "identity", "constant", "random"};

json axis_json(const AxisMap& axis) {
  json out = json::object();
  if (!axis.from.empty()) out["from"] = axis.from;
  if (!axis.times.empty()) out["times"] = axis.times;
  return out;
}

json tensor_json(const TensorPlan& plan) {
  json out{{"name", plan.name}, {"kind", kind_name(plan.kind)}, {"shape", plan.shape}};
  if (!plan.from.empty()) out["from"] = plan.from;
  if (!plan.tap.empty()) out["tap"] = plan.tap;
  if (plan.fill != 0) out["fill"] = plan.fill;
  if (plan.groups != 1) out["groups"] = plan.groups;
  for (const AxisMap& axis : plan.axes) out["axes"].push_back(axis_json(axis));
  return out;
}

TensorPlan tensor_from(const json& in) {
  TensorPlan out;
  out.name = in.at("name").get<std::string>();
  const auto kind = std::ranges::find(kKinds, in.at("kind").get<std::string>());
  if (kind == kKinds.end()) throw json::other_error::create(501, "no such kind", &in);
  out.kind = static_cast<TensorPlan::Kind>(kind - kKinds.begin());
  out.shape = in.at("shape").get<std::vector<std::int64_t>>();
  out.from = in.value("from", std::string());
  out.tap = in.value("tap", std::vector<std::int64_t>());
  out.fill = in.value("fill", 0.0);
  out.groups = in.value("groups", std::int64_t{1});
  for (const json& axis : in.value("axes", json::array())) {
    out.axes.push_back({axis.value("from", std::vector<std::int64_t>()), axis.value("times", std::vector<double>())});
  }
  return out;
}

}  // namespace

std::string_view kind_name(TensorPlan::Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

json transfer_json(const TransferPlan& plan) {
  json out{{"lanista_transfer", kVersion}, {"exact", plan.exact}, {"tensors", json::array()}};
  if (!plan.inexact_reason.empty()) out["lost"] = plan.inexact_reason;
  for (const graph::NodeId id : plan.exact_nodes) out["exact_nodes"].push_back(id.value);
  for (const TensorPlan& tensor : plan.tensors) out["tensors"].push_back(tensor_json(tensor));
  return out;
}

Result<TransferPlan> transfer_from_json(const json& in) {
  try {
    const int version = in.at("lanista_transfer").get<int>();
    if (version != kVersion) {
      return Error{Code::kUnimplemented,
                   "a transfer plan of version " + std::to_string(version) + "; this reads version 1", ""};
    }
    TransferPlan out;
    out.exact = in.at("exact").get<bool>();
    out.inexact_reason = in.value("lost", std::string());
    for (const json& id : in.value("exact_nodes", json::array())) {
      out.exact_nodes.push_back(graph::NodeId{id.get<std::uint32_t>()});
    }
    for (const json& tensor : in.at("tensors")) out.tensors.push_back(tensor_from(tensor));
    return out;
  } catch (const json::exception& e) {
    return Error{Code::kDataLoss, std::string("no transfer plan: ") + e.what(), ""};
  }
}

}  // namespace lanista::zoo
