#include "lanista/io/studyfile/space_preview.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/trainings.h"

namespace lanista::studyfile {
namespace {

constexpr std::uint64_t kNumShownSamples = 5;

std::string count_text(double count) {
  if (count < 0x1p53) return std::to_string(static_cast<std::int64_t>(count));
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), count, std::chars_format::scientific, 3);
  return "about " + std::string(buffer.data(), end.ptr);
}

std::string size_text(const space::SearchSpace& space) {
  const auto size = space.size();
  return std::to_string(space.parameters().size()) + " choices, " +
         (size ? count_text(*size) + " samples" : "continuous");
}

std::string sample_text(const space::Sample& sample) {
  std::string text;
  for (const auto& [name, value] : sample) text += (text.empty() ? "" : ", ") + name + " " + space::value_text(value);
  return text.empty() ? "nothing to choose" : text;
}

std::string shapes_text(const graph::Graph& model, const graph::OpTable& ops) {
  const auto types = graph::infer_shapes(model, ops);
  LANISTA_CHECK(types.ok(), "a sampled model is valid");
  std::string text;
  for (const graph::NodeId id : model.topo()) {
    const std::string node = graph::node_text(model.node(id));
    text += "#   " + node + std::string(node.size() < 60 ? 60 - node.size() : 1, ' ') +
            types->outputs(id).front().shape.text() + "\n";
  }
  return text;
}

}  // namespace

std::string space_preview(const study::StudyConfig& config, const mutate::ModelSpace& models) {
  space::SearchSpace choices, all = config.space.params;
  for (const space::Parameter& parameter : models.parameters()) {
    const bool added = choices.add(parameter).ok() && all.add(parameter).ok();
    LANISTA_CHECK(added, "the choices of a model make a space");
  }
  std::string text = "# models: ";
  text += models.has_blueprint() ? size_text(choices) : std::to_string(models.bases().size()) + " base models";
  for (std::size_t i = 0; !models.has_blueprint() && i < models.bases().size(); ++i) {
    text += (i == 0 ? ": " : ", ") + models.bases()[i].name;
  }
  text += "\n# hyper-parameters: " + size_text(config.space.params) + "\n# ";
  text += models.mutator_count() == 0
              ? "stationary: a model is what its choices give\n"
              : "evolving: " + std::to_string(models.mutator_count()) + " mutators lead beyond that\n";

  std::string shapes;
  for (std::uint64_t i = 0; i < kNumShownSamples; ++i) {
    const Rng rng = Rng(config.run.seed).split("outlook").split(i);
    space::RandomChooser choose(rng);
    const space::Sample sample = all.sample(choose);
    const auto base = static_cast<std::int64_t>(rng.split("base").below(models.bases().size()));
    const auto model = models.model_of_sample(base, sample);
    text += "# sample " + std::to_string(i + 1) + ": " + sample_text(sample) + "\n";
    if (!model) {
      text += "#   no model: " + model.error().text() + "\n";
      continue;
    }
    const auto cost = graph::model_cost(model->graph, models.ops());
    text +=
        "#   " + std::to_string(model->graph.size()) + " nodes" +
        (cost ? ", " + std::to_string(cost->parameters) + " parameters, " + count_text(cost->forward.flops) + " FLOPs"
              : "") +
        "\n";
    if (shapes.empty()) {
      shapes = "# shapes of sample " + std::to_string(i + 1) + "\n" + shapes_text(model->graph, models.ops());
    }
  }
  return text + shapes;
}

std::string no_variation_hint(const study::StudyConfig& config, const mutate::ModelSpace& models) {
  if (search::repeats_exhausted_space(config.strategy)) return "";
  const auto varies = [](const space::Parameter& parameter) { return space::domain_size(parameter.domain) != 1; };
  if (models.mutator_count() > 0 || std::ranges::any_of(models.parameters(), varies) ||
      std::ranges::any_of(config.space.params.parameters(), varies)) {
    return "";
  }
  const std::size_t count = models.bases().size();
  const std::int64_t trials = static_cast<std::int64_t>(count) * study::trainings_per_proposal(config);
  return std::string("nothing varies in this study") + (count > 1 ? " but the base model" : "") + ", so " +
         (trials == 1 ? "1 trial is" : std::to_string(trials) + " trials are") +
         " all there is to train; to search, add for example\n"
         "  space: {" +
         (models.has_blueprint() ? "" : "mutate: [widen, deepen], ") + "params: {lr: log(0.001, 0.3)}}";
}

}  // namespace lanista::studyfile
