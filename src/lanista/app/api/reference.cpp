#include "lanista/reference.h"

#include "lanista/io/data/readers.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/metric.h"

namespace lanista {
namespace {

/// Entries of a table with the fields `name` and `help`.
template <class Rows>
std::vector<ReferenceEntry> entries_of(const Rows& rows) {
  std::vector<ReferenceEntry> out;
  for (const auto& row : rows) out.push_back({std::string(row.name), std::string(row.help)});
  return out;
}

}  // namespace

std::vector<ReferenceEntry> data_sources() { return entries_of(data::source_kinds()); }

std::vector<ReferenceEntry> operators() {
  const graph::OpTable table = graph::builtin_ops();
  std::vector<ReferenceEntry> out;
  for (const std::string& name : table.names()) out.push_back({name, table.find(name)->help});
  return out;
}

std::vector<ReferenceEntry> optimizers() { return entries_of(autodiff::optimizers()); }

std::vector<ReferenceEntry> losses() {
  std::vector<ReferenceEntry> out;
  for (const autodiff::Loss& loss : autodiff::losses()) out.push_back({std::string(loss.name), loss.forward.help});
  return out;
}

std::vector<ReferenceEntry> metrics() { return entries_of(study::metrics()); }

std::vector<ReferenceEntry> strategies() {
  std::vector<ReferenceEntry> out = entries_of(search::builtin_strategies());
  out.push_back({std::string(studyfile::kMltuner), study::builtin_tuners().front().help});
  return out;
}

std::vector<ReferenceEntry> stopping_rules() { return entries_of(search::builtin_stopping_rules()); }

std::vector<ReferenceEntry> mutators() { return entries_of(mutate::builtin_mutators()); }

std::string study_file_schema() { return studyfile::study_json_schema().dump(2); }

}  // namespace lanista
