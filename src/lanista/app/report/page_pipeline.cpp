#include <algorithm>
#include <cmath>

#include "lanista/app/report/layout.h"
#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "lanista/search/study/timed_steps.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using pipeline::TimedStep;
using study::StudyView;

constexpr std::size_t kMaxListed = 10, kMaxStages = 100, kStageName = 200;
constexpr double kStageWidth = 190, kStageHeight = 44;

double rounded(double value, double digits) { return std::round(value * digits) / digits; }
json point_json(const Point& point) { return {rounded(point.x, 10), rounded(point.y, 10)}; }

/// The milliseconds of all passes of a stage in a step.
double busy_ms(const pipeline::SimulationResult& course, std::size_t stage) {
  double seconds = 0;
  for (const pipeline::Span& span : course.spans) {
    if (span.action.stage == stage) seconds += span.end - span.begin;
  }
  return rounded(1e3 * seconds, 1e4);
}

/// The positions of the boxes of stages and the arrows between them; null with too many.
json stages_drawing(const TimedStep& step) {
  if (step.stages.size() > kMaxStages) return {};
  const std::vector<Box> boxes(step.stages.size(), {kStageWidth, kStageHeight});
  std::vector<Arrow> arrows;
  for (std::size_t s = 0; s < step.stages.size(); ++s) {
    for (const std::uint32_t next : step.stages[s].successors) arrows.push_back({s, next});
  }
  const auto placement = layered_layout(boxes, arrows);
  if (!placement) return {};
  json centres = json::array(), paths = json::array();
  for (const Point& centre : placement->centres) centres.push_back(point_json(centre));
  for (const auto& path : placement->paths) {
    json& points = paths.emplace_back(json::array());
    for (const Point& point : path) points.push_back(point_json(point));
  }
  return {{"at", std::move(centres)},
          {"paths", std::move(paths)},
          {"w", kStageWidth},
          {"h", kStageHeight},
          {"width", std::ceil(placement->width)},
          {"height", std::ceil(placement->height)}};
}

json step_json(const study::TrialStep& trial_step) {
  const TimedStep& step = *trial_step.step;
  const pipeline::SimulationResult simulated = step.simulated(), measured = step.measured();
  json stages = json::array();
  for (std::size_t s = 0; s < step.stages.size(); ++s) {
    const TimedStep::Stage& stage = step.stages[s];
    std::vector<std::size_t> places;
    for (std::size_t p = 0; p < step.ranks.size(); ++p) {
      if (std::ranges::count(step.ranks[p], s, &TimedStep::Pass::stage) > 0) places.push_back(p);
    }
    stages.push_back({{"operators", clip_utf8(stage.operators, kStageName)},
                      {"count", stage.count},
                      {"micro", stage.micro_batch},
                      {"flight", stage.in_flight},
                      {"next", stage.successors},
                      {"places", places},
                      {"simulated", busy_ms(simulated, s)},
                      {"measured", busy_ms(measured, s)}});
  }
  return {{"trial", trial_step.trial.value},
          {"batch", step.batch},
          {"places", step.ranks.size()},
          {"simulated", rounded(1e3 * simulated.seconds, 1e4)},
          {"measured", rounded(1e3 * measured.seconds, 1e4)},
          {"ratio", rounded(step.ratio(), 1e3)},
          {"stages", std::move(stages)},
          {"charts", pipeline::charts_text(step)},
          {"drawing", stages_drawing(step)}};
}

}  // namespace

json pipeline_steps(const StudyView& view, std::size_t byte_limit) {
  json out = json::array();
  std::size_t size = 0;
  for (const study::TrialStep& step : study::timed_steps(view)) {
    if (out.size() == kMaxListed) break;
    json entry = step_json(step);
    size += script_json(entry).size();
    if (size > byte_limit) break;
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace lanista::report
