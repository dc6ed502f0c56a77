#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/cost/time_model.h"
#include "lanista/io/store/profile_store.h"
#include "lanista/search/study/step_profile.h"
#include "lanista/search/study/study_view.h"

// What studies remember of times, and what is predicted of it. Tuning reference §1.5 and §1.8 (F3). None of it enters a
// result: proposals, verdicts and bits are the same whatever is known.
namespace lanista::engine {

/// Where a study's times are put, and what machine they are of.
struct ProfileLocation {
  std::string folder;  ///< empty: nowhere
  std::string device;  ///< model of the CPU and numeric class
};
/// "Some CPU at 3 GHz, lanista-fma-tree-1".
std::string device_description(const std::string& cpu, const std::string& numeric_class);

/// The folder that `run.profiles` names for a study in `study_folder` ("auto": beside studies in a folder that is
/// called `studies`, and nowhere else); empty: none.
std::string profile_folder_of(const study::StudyConfig& config, const std::string& study_folder);

/// What a study's spans tell of its programs: a row for each of those, width and lanes, in order of their first spans.
/// Trials of which a part is frozen, that choose their examples, or that tune themselves train other steps than their
/// model says, and are passed over. Of more than 1,000 trials with spans the last count. Errors: those of models.
Result<std::vector<study::Profile>> profiles_of_study(const study::StudyView& view, const data::DataSpec& data,
                                                const graph::OpTable& ops, const std::string& device);
/// Puts them there. Errors: those of profiles_of_study and ProfileStore::put.
Result<void> save_timings(const study::StudyView& view, const data::DataSpec& data, const graph::OpTable& ops,
                            const ProfileLocation& place, FileSystem& fs);

/// What is expected of a program, by its like.
struct ExpectedTimes {
  bool measured = false;      ///< of this very program; else by regression
  double step = 0;            ///< seconds of a step of one trial
  double evaluation_row = 0;  ///< seconds a row that is measured on
  double between = 0;         ///< seconds an epoch in which the worker is told what to do
  double set_up = 0;          ///< seconds, once
  double resize = 0;          ///< seconds: a snapshot, a program made, and going on from the snapshot

  /// Of so much training of one trial, without making its program.
  double seconds(std::int64_t steps, std::int64_t epochs, std::int64_t validation_rows) const {
    return step * static_cast<double>(steps) + between * static_cast<double>(epochs) +
           evaluation_row * static_cast<double>(epochs) * static_cast<double>(validation_rows);
  }
};

/// Times of studies that were, for one machine. A value; what it says is a function of the rows.
class TimingHistory {
 public:
  TimingHistory() = default;
  /// Rows of other devices are counted and passed over.
  TimingHistory(const std::vector<store::StudyProfiles>& studies, const std::string& device);
  /// Of the folder; empty: nothing is known. What is damaged is told by `skipped`, and so is a folder that cannot
  /// be read.
  static TimingHistory read(FileSystem& fs, const std::string& folder, const std::string& device,
                         std::vector<Error>& skipped);

  /// nullopt: nothing was ever measured on this machine.
  std::optional<ExpectedTimes> expected(const study::StepShape& shape, std::int64_t width, std::int64_t lanes,
                                        std::int64_t residents) const;
  /// Seconds of a step of this very program in one lane, by width; those that were measured.
  std::map<std::int64_t, double> step_seconds_by_width(const std::string& program) const;
  /// The same by how many trials shared a worker, whose time they had in turns.
  std::map<std::int64_t, double> step_seconds_by_lanes(const std::string& program) const;
  /// Of a step, what further workers do not make shorter, as programs that were trained at several widths tell:
  /// the median. nullopt: none was.
  std::optional<double> serial_fraction() const { return serial_fraction_; }
  /// What each further trial that shares a worker slows down all of them by, beside that they take turns, as programs
  /// that were trained alone and together tell: the median, at least 0. nullopt: none was.
  std::optional<double> interference_fraction() const { return interference_fraction_; }
  /// Seconds that a change of workers costs: the median over programs. nullopt: nobody has made one.
  std::optional<double> resize_seconds() const;

  std::size_t programs() const { return programs_; }
  std::size_t studies() const { return studies_; }
  std::size_t rows_of_other_devices() const { return rows_of_other_devices_; }  ///< rows of other devices
  bool empty() const { return rows_.empty(); }
  /// How far off the regression is for programs that it does not know.
  const schedule::TimeError& error() const;
  /// "8 programs of 2 studies, regression off by 6 % (9 of 10: 15 %)".
  std::string text() const;

 private:
  std::map<std::int64_t, double> step_seconds_by(const std::string& program,
                                          std::int64_t (*group_by)(const study::Profile&)) const;

  std::vector<study::Profile> rows_;  // of this device
  std::optional<schedule::TimeModel> step_, evaluation_;
  std::optional<double> serial_fraction_, interference_fraction_;
  double between_ = 0, set_up_ = 0, save_ = 0, restore_ = 0;  // medians
  std::size_t programs_ = 0, studies_ = 0, rows_of_other_devices_ = 0;
};

}  // namespace lanista::engine
