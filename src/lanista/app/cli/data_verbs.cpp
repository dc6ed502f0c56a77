#include "lanista/app/cli/data_verbs.h"

#include <iostream>
#include <numeric>
#include <utility>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/io/data/catalog.h"
#include "lanista/io/data/export.h"

namespace lanista::cli {
namespace {

/// The data set with raw numbers and the default split of a study. Large numbers are stored less an origin, as a study
/// stores them.
Result<data::Dataset> open_raw(const std::string& source) {
  study::DataConfig config;
  config.source = source;
  LANISTA_ASSIGN(auto raw, data::open_raw(config, ".", real_file_system()));
  return data::Dataset::make(std::move(raw.first), std::move(raw.second), "none", "raw");
}

std::vector<std::int64_t> rows_of(const data::Dataset& data, const std::string& part) {
  if (part == "train") return data.rows(data::Part::kTrain);
  if (part == "validation") return data.rows(data::Part::kValidation);
  if (part == "test") return data.rows(data::Part::kTest);
  std::vector<std::int64_t> all(static_cast<std::size_t>(data.spec().rows));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Result<void> write_files(const data::Dataset& data, const std::vector<std::int64_t>& rows, data::ExportFormat form,
                         const std::string& folder) {
  auto& files = real_file_system();
  LANISTA_ASSIGN(const auto made, data::export_rows(data, rows, form));
  for (const auto& [name, bytes] : made) {
    const std::string path = folder + "/" + name;
    LANISTA_TRY(files.make_folder(path.substr(0, path.rfind('/'))));
    LANISTA_TRY(write_atomically(files, path, std::as_bytes(std::span(bytes))));
  }
  std::cerr << "wrote " << made.size() << (made.size() == 1 ? " file" : " files") << " to " << printable(folder)
            << "\n";
  return {};
}

Result<void> write_table(const data::Dataset& data, const std::vector<std::int64_t>& rows, const std::string& path) {
  LANISTA_ASSIGN(const auto made, data::export_rows(data, rows, data::ExportFormat::kCsv));
  LANISTA_TRY(write_atomically(real_file_system(), path, made.begin()->second));
  std::cerr << "wrote " << printable(path) << "\n";
  return {};
}

}  // namespace

int list_data(bool json) {
  const auto entries = data::catalog();
  std::cout << (json ? json_line(data::catalog_json(entries)) : printable_lines(data::catalog_text(entries)));
  return kDone;
}

int check_data(const DataCheckRequest& request) {
  study::DataConfig config;
  config.source = request.source;
  const auto found = data::check_source(config, ".", real_file_system());
  if (!found) return print_error(found.error());
  std::cout << (request.json ? json_line(found->json()) : printable_lines(found->text()));
  return kDone;
}

int list_rows(const DataRowsRequest& request) {
  const auto data = open_raw(request.source);
  if (!data) return print_error(data.error());
  for (const std::int64_t row : rows_of(*data, request.part)) std::cout << row << "\n";
  return kDone;
}

int export_data(const DataExportRequest& request) {
  if (request.csv.empty() && request.npy.empty() && request.idx.empty() && request.folder.empty()) {
    return print_error(
        {Code::kInvalidArgument, "nothing to write; name a format and a path, e.g. --csv data.csv", "data export"});
  }
  const auto data = open_raw(request.source);
  if (!data) return print_error(data.error());
  const auto rows = rows_of(*data, request.part);
  const auto write_all = [&]() -> Result<void> {
    if (!request.csv.empty()) LANISTA_TRY(write_table(*data, rows, request.csv));
    if (!request.npy.empty()) LANISTA_TRY(write_files(*data, rows, data::ExportFormat::kNpy, request.npy));
    if (!request.idx.empty()) LANISTA_TRY(write_files(*data, rows, data::ExportFormat::kIdx, request.idx));
    if (!request.folder.empty()) LANISTA_TRY(write_files(*data, rows, data::ExportFormat::kFolder, request.folder));
    return {};
  };
  if (auto done = write_all(); !done) return print_error(done.error());
  return kDone;
}

}  // namespace lanista::cli
