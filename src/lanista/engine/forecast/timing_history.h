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

/// Where step times are saved, and for which device.
struct ProfileLocation {
  std::string folder;  ///< Folder of the step times; empty: times are not saved.
  std::string device;  ///< Name of the machine, as device_description gives it.
};
/// Name of a machine for step times, from CPU model and numeric class: "Some CPU at 3 GHz, lanista-fma-tree-1".
std::string device_description(const std::string& cpu, const std::string& numeric_class);

/// The folder of step times that `run.profiles` gives for a study; empty: none. With `auto` it is next to the studies
/// if their folder is named `studies`, otherwise none. A relative path starts at the study folder.
std::string profile_folder_of(const study::StudyConfig& config, const std::string& study_folder);

/// The step times in a study's spans: one row for each program, width and number of lanes, in order of their first
/// spans. Trials with sample selection or tuning are left out, and so is a study with a frozen part, because their
/// steps differ from those of the model. Only the last 1,000 trials with spans count. `device` is written into each row
/// and selects nothing. Errors: those of
/// study::trial_model and make_job (kInvalidArgument, kDataLoss).
Result<std::vector<study::Profile>> profiles_of_study(const study::StudyView& view, const data::DataSpec& data,
                                                      const graph::OpTable& ops, const std::string& device);
/// Saves the step times of a study to its own file in the location's folder, in place of its earlier one. Without a
/// folder or without times it has no effect. Errors: those of profiles_of_study and ProfileStore::put.
Result<void> save_timings(const study::StudyView& view, const data::DataSpec& data, const graph::OpTable& ops,
                          const ProfileLocation& location, FileSystem& fs);

/// Predicted times of a program, in seconds.
struct ExpectedTimes {
  /// True: `step` and `between` were measured for this program and width, and `evaluation_row` too if any was timed.
  /// False: `step` and `evaluation_row` are by regression, and `between` is the median of all programs.
  bool measured = false;
  double step = 0;            ///< Seconds of one training step of one trial.
  double evaluation_row = 0;  ///< Seconds for each row that is evaluated at the end of an epoch.
  double between = 0;         ///< Seconds that a worker needs between two spans.
  double set_up = 0;          ///< Seconds to compile a program, once for a trial; the median of all on the device.
  /// Seconds for a change of workers: save the state, compile the program, restore the state. The median of all.
  double resize = 0;

  /// Seconds for the training of one trial with this many steps and epochs, without set-up. `validation_rows` are
  /// evaluated in each epoch.
  double seconds(std::int64_t steps, std::int64_t epochs, std::int64_t validation_rows) const {
    return step * static_cast<double>(steps) + between * static_cast<double>(epochs) +
           evaluation_row * static_cast<double>(epochs) * static_cast<double>(validation_rows);
  }
};

/// Step times of earlier studies on one machine. A value; predictions are a function of its rows.
class TimingHistory {
 public:
  TimingHistory() = default;
  /// Uses the rows of this device (device_description) with a positive step time; all others are only counted.
  TimingHistory(const std::vector<store::StudyProfiles>& studies, const std::string& device);
  /// Reads all step times in a folder for this device. An empty `folder` gives an empty history. `skipped` receives an
  /// error for each damaged file, and for a folder that cannot be read.
  static TimingHistory read(FileSystem& fs, const std::string& folder, const std::string& device,
                            std::vector<Error>& skipped);

  /// Predicted times of a step of this shape on `width` workers, with `lanes` trials that take turns and `residents`
  /// busy workers. Measured rows of the same program and width are used if there are any: those nearest in `lanes` and
  /// `residents`. Otherwise it is a regression over all programs. nullopt: nothing was measured on this machine.
  std::optional<ExpectedTimes> expected(const study::StepShape& shape, std::int64_t width, std::int64_t lanes,
                                        std::int64_t residents) const;
  /// Measured seconds of a step of a trial of this program that trained alone, by number of workers that share the
  /// step; empty: never measured so.
  std::map<std::int64_t, double> step_seconds_by_width(const std::string& program) const;
  /// Measured seconds of a step of one trial of this program, by number of trials that took turns on one worker; empty:
  /// not measured.
  std::map<std::int64_t, double> step_seconds_by_lanes(const std::string& program) const;
  /// Share of a step, from 0 to 1, that further workers do not shorten: the median over programs that were measured on
  /// one and on several workers. nullopt: there is no such program.
  std::optional<double> serial_fraction() const { return serial_fraction_; }
  /// Relative slowdown of a step by each further trial on a worker: the median over programs, at least 0. nullopt: no
  /// program was measured both alone and with others.
  std::optional<double> interference_fraction() const { return interference_fraction_; }
  /// Seconds for a change of workers: the sum of the median times to save, compile and restore. nullopt: no state was
  /// saved in a measured span.
  std::optional<double> resize_seconds() const;

  /// Number of measured programs on this machine.
  std::size_t programs() const { return programs_; }
  /// Number of studies with rows of this machine.
  std::size_t studies() const { return studies_; }
  /// Number of rows that are not used: those of other devices, and those without a step time.
  std::size_t rows_of_other_devices() const { return rows_of_other_devices_; }
  /// True if nothing was measured on this machine.
  bool empty() const { return rows_.empty(); }
  /// Relative error of the regression for programs that it has not measured, in percent. Without a regression its
  /// fields are 0. The reference lives as long as the history.
  const plan::TimeError& error() const;
  /// A summary for people: "8 programs of 2 studies; of one that is left out the prediction is off by 6 % (9 of 10: 15
  /// %)".
  std::string text() const;

 private:
  std::map<std::int64_t, double> step_seconds_by(const std::string& program,
                                                 std::int64_t (*group_by)(const study::Profile&)) const;

  std::vector<study::Profile> rows_;  // Rows of this device.
  std::optional<plan::TimeModel> step_, evaluation_;
  std::optional<double> serial_fraction_, interference_fraction_;
  double between_ = 0, set_up_ = 0, save_ = 0, restore_ = 0;  // Medians.
  std::size_t programs_ = 0, studies_ = 0, rows_of_other_devices_ = 0;
};

}  // namespace lanista::engine
