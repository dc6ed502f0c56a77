#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/app/report/page.h"
#include "lanista/search/study/study_view.h"

// What the page knows, as JSON. The scripts in assets/ are its only reader.
namespace lanista::report {

/// Everything, as text that may stand inside a script element ("<" is written \u003c), in at most `byte_limit` bytes
/// where that is possible: leaving out trials is the last resort.
std::string page_data(const study::StudyView& view, const PageOptions& options, std::size_t byte_limit);

/// Indices of trials in the order in which a reader would miss them: those that set a record, the winner, the best 500,
/// the first ten of every failure, then the others evenly spread.
std::vector<std::size_t> by_display_priority(const study::StudyView& view);

/// Columns over the trials at `rows` (ascending): id, state, how, reason, parent, base, epochs, steps, parameters,
/// rank, off_front (1: others break the constraints less), same_as, ended (second), worked (seconds), one a metric of
/// results (a duplicate's are those of the trial it equals), one a hyper-parameter.
nlohmann::json trial_columns(const study::StudyView& view, std::span<const std::size_t> rows, int real_width);

/// Measurements of the trials at `order`, the first ones first, as many as fit into `byte_limit` bytes; at most 200
/// points a trial.
nlohmann::json curve_columns(const study::StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit);

/// What each trial's edits add to its parent's, as lines, for the trials at `order`, as many as fit.
nlohmann::json edit_lines(const study::StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit);

/// Busy times of workers, a bar for each trial of a go (study::goes): its place among so many lanes, the workers that
/// began it, and whether this one helped. Goes of the same trials are joined where the gap between them is under a
/// 4000th of the study, or more where there would be too many bars; then what is shorter than that is joined with its
/// neighbours, too (trial 0). At most `most` bars. Where workers said on which hosts they run, those of bars
/// (Span::host).
nlohmann::json timeline_columns(const study::StudyView& view, std::size_t most);

/// Searches inside trials (train.tune) with their branches, by trial: what was tried where, and what it came to, with
/// the trial's own training loss by step. Of the trials at `order` as many as fit; of a search 64 branches and the one
/// that was kept.
nlohmann::json search_entries(const study::StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit);

/// Indices of at most 200 of `count` points, evenly spread, with the first and the last.
std::vector<std::size_t> thinned_indices(std::size_t count);

/// Drawings of the best trials' models with the differences to their parents, as many as fit, ten at most.
nlohmann::json model_drawings(const study::StudyView& view, std::size_t byte_limit);

/// Facts, economy, failures, counts.
nlohmann::json study_facts(const study::StudyView& view, const PageOptions& options);

/// Hosts of workers, what each did, and the moves of trials by number; null where no worker said where it runs.
nlohmann::json host_facts(const study::StudyView& view);

/// Steps of programs in stages that were timed, with drawings of their stages and Gantt charts, as many as fit, ten at
/// most; none where the log tells of none.
nlohmann::json pipeline_steps(const study::StudyView& view, std::size_t byte_limit);

/// How good the winner is: its assessment, with names of the classes that it speaks of; null without one. Bounded by
/// the assessment's own bounds.
nlohmann::json quality_facts(const study::StudyView& view, const PageOptions& options);

/// Names of metrics as the page shows them: goals first, then by name; at most 12.
std::vector<std::string> page_metrics(const study::StudyView& view);

}  // namespace lanista::report
