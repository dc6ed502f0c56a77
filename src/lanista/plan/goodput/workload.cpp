#include "lanista/plan/goodput/workload.h"

#include <map>

#include "lanista/plan/goodput/csv_columns.h"

namespace lanista::goodput {

Result<Workload> read_workload(FileSystem& fs, const std::string& path, const std::string& data) {
  const std::string traces = fs.exists(data + "/traces") ? data + "/traces" : data;
  LANISTA_ASSIGN(const CsvColumns table,
                 CsvColumns::read(fs, path, {"name", "time", "application", "num_replicas", "batch_size"}));
  Workload workload;
  std::map<std::string, std::size_t> known;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    Submission job;
    job.name = table.text(row, 0);
    LANISTA_ASSIGN(job.time, table.number(row, 1, 0));
    LANISTA_ASSIGN(const std::int64_t replicas, table.integer(row, 3, 1));
    LANISTA_ASSIGN(job.batch, table.integer(row, 4, 1));
    job.replicas = static_cast<std::int32_t>(replicas);
    const std::string application(table.text(row, 2));
    if (application.empty() || application.find('/') != std::string::npos || application.front() == '.') {
      return table.cell_error(row, 2, "the name of a folder in " + traces);
    }
    const auto [entry, is_new] = known.try_emplace(application, workload.applications.size());
    if (is_new) {
      LANISTA_ASSIGN(Application read, read_application(fs, traces, application));
      // Larger batches were measured, but the artefact excludes them: they do not fit into memory next to validation.
      if (application == "yolov3") read.set_max_local_batch(std::min<std::int64_t>(8, read.limits().max_local));
      workload.applications.push_back(std::make_shared<const Application>(std::move(read)));
    }
    job.application = entry->second;
    if (!workload.applications[job.application]->has_batch(job.batch)) {
      return table.cell_error(row, 4, "a batch size within those of the validation files of " + application);
    }
    workload.jobs.push_back(std::move(job));
  }
  if (workload.jobs.empty()) return Error{Code::kDataLoss, "the file has no jobs", path};
  return workload;
}

}  // namespace lanista::goodput
