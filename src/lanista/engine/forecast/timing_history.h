#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/io/store/profile_store.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/cost/time_model.h"
#include "lanista/search/study/step_profile.h"
#include "lanista/search/study/study_view.h"

// Step times of earlier studies, and predictions from them. They never change proposals, verdicts or bits.
namespace lanista::engine {

/// The folder and the machine of a study's step times.
struct ProfileLocation {
  std::string folder;  ///< Empty: times are not saved.
  std::string device;  ///< CPU model and numeric class.
};
/// Name of a machine for step times: "Some CPU at 3 GHz, lanista-fma-tree-1".
std::string device_description(const std::string& cpu, const std::string& numeric_class);

/// The folder that `run.profiles` gives for a study; empty: none. With `auto` it is next to the studies if their folder
/// is named `studies`, otherwise none.
std::string profile_folder_of(const study::StudyConfig& config, const std::string& study_folder);

/// The step times in a study's spans: one row for each program, width and number of lanes, in order of their first
/// spans. Trials with a frozen part, sample selection or tuning are left out, because their steps differ from those of
/// the model. Only the last 1,000 trials with spans count. Errors: those of models.
Result<std::vector<study::Profile>> profiles_of_study(const study::StudyView& view, const data::DataSpec& data,
                                                      const graph::OpTable& ops, const std::string& device);
/// Saves the step times of a study. Errors: those of profiles_of_study and ProfileStore::put.
Result<void> save_timings(const study::StudyView& view, const data::DataSpec& data, const graph::OpTable& ops,
                          const ProfileLocation& location, FileSystem& fs);

/// Predicted times of a program.
struct ExpectedTimes {
  bool measured = false;      ///< Measured for this program; otherwise by regression.
  double step = 0;            ///< Seconds of a step of one trial.
  double evaluation_row = 0;  ///< Seconds for each evaluated row.
  double between = 0;         ///< Seconds between two epochs.
  double set_up = 0;          ///< Seconds once, for making the program.
  double resize = 0;          ///< Seconds for a change of workers: save, make the program, restore.

  /// Seconds for the training of one trial, without set-up.
  double seconds(std::int64_t steps, std::int64_t epochs, std::int64_t validation_rows) const {
    return step * static_cast<double>(steps) + between * static_cast<double>(epochs) +
           evaluation_row * static_cast<double>(epochs) * static_cast<double>(validation_rows);
  }
};

/// Step times of earlier studies on one machine. A value; predictions are a function of its rows.
class TimingHistory {
 public:
  TimingHistory() = default;
  /// Uses the rows of this device; rows of other devices are only counted.
  TimingHistory(const std::vector<store::StudyProfiles>& studies, const std::string& device);
  /// Reads a folder; an empty name gives an empty history. `skipped` receives an error for each damaged file, and for a
  /// folder that cannot be read.
  static TimingHistory read(FileSystem& fs, const std::string& folder, const std::string& device,
                            std::vector<Error>& skipped);

  /// Predicted times of a step of this shape; nullopt: nothing was measured on this machine.
  std::optional<ExpectedTimes> expected(const study::StepShape& shape, std::int64_t width, std::int64_t lanes,
                                        std::int64_t residents) const;
  /// Measured seconds of a step of this program, by width.
  std::map<std::int64_t, double> step_seconds_by_width(const std::string& program) const;
  /// Measured seconds of a step of this program, by the number of trials that took turns on one worker.
  std::map<std::int64_t, double> step_seconds_by_lanes(const std::string& program) const;
  /// Share of a step that further workers do not shorten: the median over programs with several widths. nullopt: none.
  std::optional<double> serial_fraction() const { return serial_fraction_; }
  /// Relative slowdown by each further trial on a worker, in addition to taking turns: the median over programs, at
  /// least 0. nullopt: no program trained both alone and with others.
  std::optional<double> interference_fraction() const { return interference_fraction_; }
  /// Seconds for a change of workers: the median over programs. nullopt: none was made.
  std::optional<double> resize_seconds() const;

  /// Number of measured programs.
  std::size_t programs() const { return programs_; }
  /// Number of studies with rows.
  std::size_t studies() const { return studies_; }
  /// Number of rows of other devices.
  std::size_t rows_of_other_devices() const { return rows_of_other_devices_; }
  /// Whether nothing was measured on this machine.
  bool empty() const { return rows_.empty(); }
  /// Error of the regression for programs that it has not measured.
  const schedule::TimeError& error() const;
  /// A summary for users: "8 programs of 2 studies, regression off by 6 % (9 of 10: 15 %)".
  std::string text() const;

 private:
  std::map<std::int64_t, double> step_seconds_by(const std::string& program,
                                                 std::int64_t (*group_by)(const study::Profile&)) const;

  std::vector<study::Profile> rows_;  // Rows of this device.
  std::optional<schedule::TimeModel> step_, evaluation_;
  std::optional<double> serial_fraction_, interference_fraction_;
  double between_ = 0, set_up_ = 0, save_ = 0, restore_ = 0;  // Medians.
  std::size_t programs_ = 0, studies_ = 0, rows_of_other_devices_ = 0;
};

}  // namespace lanista::engine
