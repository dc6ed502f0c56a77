#include "lanista/app/cli/profiles_verbs.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <set>
#include <utility>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/text_table.h"
#include "lanista/base/printable.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/cpu_speed.h"
#include "lanista/io/store/profile_store.h"

namespace lanista::cli {
namespace {

using nlohmann::json;
using store::StudyProfiles;

std::string number(const char* pattern, double value) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

/// Seconds in a unit that gives a short number; a dash without a value.
std::string forecast_time_text(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1e-3) return number("%.3g us", seconds * 1e6);
  return seconds < 1 ? number("%.3g ms", seconds * 1e3) : number("%.3g s", seconds);
}

std::size_t programs_of(const StudyProfiles& study) {
  std::set<std::string> programs;
  for (const study::Profile& row : study.rows) programs.insert(row.shape.program);
  return programs.size();
}

json error_json(const engine::TimingHistory& known) {
  if (known.error().num_things == 0) return nullptr;
  return {{"programs", known.error().num_things},
          {"median_percent", known.error().median},
          {"ninth_tenth_percent", known.error().p90}};
}

json skipped_files_json(const std::vector<Error>& skipped) {
  json out = json::array();
  for (const Error& error : skipped) out.push_back({{"file", error.where}, {"why", error.message}});
  return out;
}

void print_skipped_files(const std::vector<Error>& skipped) {
  std::vector<std::string> notes;
  for (const Error& error : skipped) notes.push_back("skipped times: " + error.text());
  print_notes(notes);
}

/// The only study with a name that begins with the requested text.
Result<StudyProfiles> find_study(const std::vector<StudyProfiles>& studies, const ProfilesRequest& request) {
  std::vector<const StudyProfiles*> found;
  for (const StudyProfiles& each : studies) {
    if (each.name.starts_with(request.name)) found.push_back(&each);
  }
  if (found.size() == 1) return *found.front();
  return Error{found.empty() ? Code::kNotFound : Code::kInvalidArgument,
               (found.empty() ? "no name begins with '" : std::to_string(found.size()) + " names begin with '") +
                   request.name + "'; lanista profiles ls lists all names",
               request.folder};
}

Result<store::ProfileStore::Content> content_of(const ProfilesRequest& request) {
  return store::ProfileStore(real_file_system(), request.folder).read();
}

Result<void> list(const ProfilesRequest& request) {
  LANISTA_ASSIGN(const auto content, content_of(request));
  const engine::TimingHistory known(content.studies, this_device_key());
  if (request.json) {
    json studies = json::array();
    for (const StudyProfiles& each : content.studies) {
      studies.push_back({{"name", each.name},
                         {"study", each.study},
                         {"began", each.began},
                         {"programs", programs_of(each)},
                         {"rows", each.rows.size()}});
    }
    std::cout << json_line({{"v", 1},
                            {"folder", request.folder},
                            {"device", this_device_key()},
                            {"programs", known.programs()},
                            {"rows_of_other_devices", known.rows_of_other_devices()},
                            {"error", error_json(known)},
                            {"studies", std::move(studies)},
                            {"passed_over", skipped_files_json(content.skipped)}});
    return {};
  }
  print_skipped_files(content.skipped);
  std::vector<TableRow> rows{{"name", "study", "programs", "rows"}};
  for (const StudyProfiles& each : content.studies) {
    rows.push_back(
        {each.name, printable(each.study), std::to_string(programs_of(each)), std::to_string(each.rows.size())});
  }
  std::cout << text_table(rows, {false, false, true, true});
  std::cout << "on this machine (" << printable(this_device_key())
            << "): " << (known.empty() ? std::string("no times") : printable(known.text())) << "\n";
  if (known.rows_of_other_devices() > 0)
    std::cout << known.rows_of_other_devices() << " rows are from other machines\n";
  return {};
}

Result<void> show(const ProfilesRequest& request) {
  LANISTA_ASSIGN(const auto content, content_of(request));
  LANISTA_ASSIGN(const StudyProfiles study, find_study(content.studies, request));
  if (request.json) {
    json rows = json::array();
    for (const study::Profile& row : study.rows) rows.push_back(study::profile_json(row));
    std::cout << json_line(
        {{"v", 1}, {"name", study.name}, {"study", study.study}, {"began", study.began}, {"rows", std::move(rows)}});
    return {};
  }
  print_skipped_files(content.skipped);
  std::vector<TableRow> rows{{"program", "batch", "params", "width", "lanes", "spans", "step", "eval a row", "between",
                              "set-up", "save", "restore", "memory", "epochs to best"}};
  for (const study::Profile& row : study.rows) {
    rows.push_back({row.shape.program.substr(0, 12), std::to_string(row.shape.batch),
                    number("%.0f", row.shape.parameters), std::to_string(row.width), std::to_string(row.lanes),
                    std::to_string(row.spans), forecast_time_text(row.step), forecast_time_text(row.evaluation_row),
                    forecast_time_text(row.between), forecast_time_text(row.set_up), forecast_time_text(row.save),
                    forecast_time_text(row.restore), number("%.3g MB", static_cast<double>(row.bytes) * 1e-6),
                    row.epochs_to_best > 0 ? std::to_string(row.epochs_to_best) : "-"});
  }
  std::cout << printable(study.name) << "  " << printable(study.study) << "\n";
  std::set<std::pair<std::string, std::int64_t>> devices;
  for (const study::Profile& row : study.rows) devices.emplace(row.device, row.residents);
  for (const auto& [device, residents] : devices) {
    std::cout << printable(device) << ", " << residents << (residents == 1 ? " worker" : " workers") << " at a time\n";
  }
  std::cout << text_table(rows, {false, true, true, true, true, true, true, true, true, true, true, true, true, true});
  return {};
}

Result<void> remove(const ProfilesRequest& request) {
  store::ProfileStore store(real_file_system(), request.folder);
  LANISTA_ASSIGN(const auto content, store.read());
  std::size_t removed = 1;
  if (request.all) {
    LANISTA_ASSIGN(removed, store.remove_all());
  } else {
    LANISTA_ASSIGN(const StudyProfiles study, find_study(content.studies, request));
    LANISTA_TRY(store.remove(study.name));
  }
  if (request.json) {
    std::cout << json_line({{"v", 1}, {"removed", removed}});
  } else {
    std::cout << removed << (removed == 1 ? " study's times are" : " studies' times are") << " removed\n";
  }
  return {};
}

int exit_code_of(const Result<void>& done) { return done ? static_cast<int>(kDone) : print_error(done.error()); }

}  // namespace

int profiles_list(const ProfilesRequest& request) { return exit_code_of(list(request)); }
int profiles_show(const ProfilesRequest& request) { return exit_code_of(show(request)); }
int profiles_remove(const ProfilesRequest& request) { return exit_code_of(remove(request)); }

std::string this_device_key(std::string_view numeric_class) {
  return engine::device_description(
      program::cpu_model(),
      std::string(numeric_class.empty() ? program::cpu_backend().numeric_class() : numeric_class));
}

std::shared_ptr<const engine::TimingHistory> read_known_times(const std::string& folder,
                                                              std::string_view numeric_class) {
  std::vector<Error> skipped;
  auto known = engine::TimingHistory::read(real_file_system(), folder, this_device_key(numeric_class), skipped);
  print_skipped_files(skipped);
  if (known.empty()) return nullptr;
  return std::make_shared<const engine::TimingHistory>(std::move(known));
}

std::string default_profiles_folder() {
  std::string out(study::kStudiesFolder);
  out.append("/").append(study::kProfilesFolder);
  return out;
}

std::string planned_profiles_folder(const std::optional<std::string>& requested, const study::StudyConfig& config,
                                    const std::string& folder) {
  if (requested) return *requested == study::kNoProfiles ? std::string() : *requested;
  if (config.run.profiles == study::kAutoProfiles) {
    return default_profiles_folder();
  }
  return engine::profile_folder_of(config, folder);
}

}  // namespace lanista::cli
