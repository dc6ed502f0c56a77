#include "lanista/io/data/label_kinds.h"

#include "lanista/io/data/spec.h"

namespace lanista::data {
namespace {

constexpr std::size_t kFewValues = 20;
constexpr std::size_t kRowsOfClass = 2;  ///< Fewer on average: the numbers count rows, as an index does.

bool has_no_gaps(const WholeTarget& target) {
  return target.min == 0 && target.max == static_cast<double>(target.different) - 1;
}

}  // namespace

bool are_classes(const WholeTarget& target, std::size_t most) {
  if (target.different <= kFewValues) return true;
  return has_no_gaps(target) && target.different <= most && target.rows >= kRowsOfClass * target.different;
}

std::string whole_target_text(const WholeTarget& target, bool classes) {
  const std::string range = short_number(target.min) + " to " + short_number(target.max);
  const std::string values = has_no_gaps(target)
                                 ? "the whole numbers " + range
                                 : std::to_string(target.different) + " different whole numbers from " + range;
  return values +
         (classes ? ", read as classes; task=numbers reads numbers" : ", read as numbers; task=classes reads classes");
}

std::string label_rows_text(std::size_t columns, bool one_hot) {
  const std::string count = std::to_string(columns);
  return one_hot ? "one-hot rows, read as " + count + " classes; task=multilabel reads labels, task=numbers numbers"
                 : "zeros and ones in " + count + " columns, read as labels; task=numbers reads numbers";
}

}  // namespace lanista::data
