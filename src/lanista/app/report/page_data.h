#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/app/report/page.h"
#include "lanista/search/study/study_view.h"

// The data of the report page as JSON. The scripts in assets/ are its only reader.
namespace lanista::report {

/// Returns all data of the page as text for a script element (script_json), in at most `byte_limit` bytes if possible.
/// It removes curves, edits and details first, and trials last. With more than 20,000 trials real numbers have fewer
/// digits.
std::string page_data(const study::StudyView& view, const PageOptions& options, std::size_t byte_limit);

/// Returns the indices of all trials in the order of their importance for a reader: records, the winner, the best 500,
/// the first ten of each cause of failure, then the others, evenly spread.
std::vector<std::size_t> by_display_priority(const study::StudyView& view);

/// Returns columns over the trials at the indices `rows` (ascending), as an object. Columns are id, state
/// (state_number()), how, reason, rungs, start, parent, base, budget, epochs and steps. Further ones are kept,
/// parameters, rank, off_front, same_as, ended and worked (in seconds). `count` is the number of rows. off_front is 1
/// if other trials violate the constraints less. `metrics` has a column for each of page_metrics(); a duplicate has
/// those of the trial that it is equal to. `params` has the first 24 hyper-parameters. Real numbers have `real_width`
/// bytes.
nlohmann::json trial_columns(const study::StudyView& view, std::span<const std::size_t> rows, int real_width);

/// Returns the measurements of the trials at the indices `order`, from the first on, as many as fit into about
/// `byte_limit` bytes. Keys: trial, points (of each trial), count, total, epoch, values (of each of page_metrics()). A
/// trial has at most 200 points; one without points is left out.
nlohmann::json curve_columns(const study::StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit);

/// Returns the edits of each trial that its parent does not have. The object has a list of lines for each trial number,
/// from 1. It has the trials at the indices `order`. It ends before the first trial that exceeds `byte_limit` in all. A
/// trial has at most 200 lines of at most 500 bytes; one without own edits is left out.
nlohmann::json edit_lines(const study::StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit);

/// Returns the busy times of workers, with one bar for each trial of a worker interval (study::WorkerInterval): its
/// lane, the number of lanes, the width, and whether the worker is a helper. Intervals of the same trials are joined
/// across gaps of less than a 4000th of the study, or larger gaps if there are too many bars. Then shorter bars are
/// joined with their neighbours, too (trial 0). At most `most` bars; if that is not enough, the last ones are removed.
/// If workers reported hosts, bars have them (Span::host).
nlohmann::json timeline_columns(const study::StudyView& view, std::size_t most);

/// Returns the tune searches inside trials (train.tune) by trial: the branches with their settings and final losses,
/// and the trial's training loss by step. It is an object by trial number with searches, steps and losses. It has as
/// many trials of `order` as fit into `byte_limit` bytes, and of a search the first 64 branches and the kept one.
nlohmann::json search_entries(const study::StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit);

/// Returns the indices of at most 200 of `count` points, evenly spread, with the first and the last.
std::vector<std::size_t> thinned_indices(std::size_t count);

/// Returns drawings of the models of at most ten of the best trials, with the differences to their parents. It is an
/// array with as many as fit into `byte_limit` bytes, at least one. The entry of a model without a drawing has
/// `error` instead.
nlohmann::json model_drawings(const study::StudyView& view, std::size_t byte_limit);

/// Returns one object: v, study (settings and results), proposed (number of trials), states (names), counts (by state),
/// economy (costs), work (workers), waiting, waits, failures and, if hosts are known, hosts.
nlohmann::json study_facts(const study::StudyView& view, const PageOptions& options);

/// Returns the hosts of workers (names, count), the share of work on each (uses), and the moves of trials (moved,
/// moves). Null if no worker reported a host.
nlohmann::json host_facts(const study::StudyView& view);

/// Returns timed steps of programs in stages, with drawings of the stages and Gantt charts: an array of at most ten, as
/// many as fit into `byte_limit` bytes. Empty if the log has none.
nlohmann::json pipeline_steps(const study::StudyView& view, std::size_t byte_limit);

/// Returns the assessment of the winner with the names of its classes; null without a winner, or without an assessment
/// of it. Its size is limited by that of the assessment.
nlohmann::json quality_facts(const study::StudyView& view, const PageOptions& options);

/// Returns the names of the metrics on the page: goals first, then by name, at most 12.
std::vector<std::string> page_metrics(const study::StudyView& view);

}  // namespace lanista::report
