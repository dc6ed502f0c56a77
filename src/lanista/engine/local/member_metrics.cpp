#include "lanista/engine/local/member_metrics.h"

#include <utility>

#include "lanista/base/blend.h"
#include "lanista/base/check.h"
#include "lanista/base/enum_table.h"
#include "lanista/exec/train/measure_weights.h"

namespace lanista::runtime {
namespace {

constexpr EnumTable<data::Part, const char*, 3> kPrefixes{
    {{data::Part::kTrain, "train_"}, {data::Part::kValidation, "val_"}, {data::Part::kTest, "test_"}}};

}  // namespace

Result<std::vector<Tensor>> MemberMetrics::weights(const std::string& address) const {
  LANISTA_ASSIGN(auto stored, checkpoints_.get(address));
  return store::selected_weights(std::move(stored));
}

Result<std::map<std::string, double>> MemberMetrics::measure(std::span<const engine::EvaluatedMember> members,
                                                             data::Part part) {
  LANISTA_CHECK(!members.empty(), "there is a member to measure");
  LANISTA_ASSIGN(const train::TrainerInput first, input_of_(members.front().job));
  if (members.size() == 1) {
    LANISTA_ASSIGN(const auto tensors, weights(members.front().weights));
    return train::measure_weights(first, tensors, part, entry_of(kPrefixes, part));
  }
  std::vector<std::vector<double>> all;
  std::vector<double> shares;
  for (const engine::EvaluatedMember& member : members) {
    LANISTA_ASSIGN(auto own, predictions(member, part));
    all.push_back(std::move(own));
    shares.push_back(member.share);
  }
  const data::DataSpec& spec = first.data->spec();
  const auto blended = blend(engine::blend_of(spec), all, shares, static_cast<std::size_t>(spec.width()));
  return train::measure_predictions(first, blended, part, entry_of(kPrefixes, part));
}

Result<std::vector<double>> MemberMetrics::predictions(const engine::EvaluatedMember& member, data::Part part) {
  if (part != part_) clear();
  part_ = part;
  if (const auto found = cached_predictions_.find(member.weights); found != cached_predictions_.end())
    return found->second;
  LANISTA_ASSIGN(const train::TrainerInput input, input_of_(member.job));
  LANISTA_ASSIGN(const auto tensors, weights(member.weights));
  LANISTA_ASSIGN(auto values, train::predict_part(input, tensors, part));
  if ((cached_predictions_.size() + 1) * values.size() * sizeof(double) <= kMaxBytes)
    cached_predictions_.emplace(member.weights, values);
  return values;
}

}  // namespace lanista::runtime
