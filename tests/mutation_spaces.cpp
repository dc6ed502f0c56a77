#include "mutation_spaces.h"

#include <memory>
#include <string>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/text.h"

namespace lanista::testing {
namespace {

graph::Graph parsed(const char* text) {
  auto graph = graph::parse(text);
  LANISTA_CHECK(graph.ok(), graph.ok() ? "" : graph.error().text());
  return *std::move(graph);
}

}  // namespace

std::vector<mutate::BaseModel> small_networks() {
  return {{"residual", parsed("%0 = input(shape=[3,8,8])\n"
                              "%1 = conv2d(%0, out=8, padding=[1]) \"stem\"\n"
                              "%2 = batch_norm(%1)\n"
                              "%3 = relu(%2)\n"
                              "%4 = conv2d(%3, groups=2, out=8, padding=[1]) \"stage1\"\n"
                              "%5 = group_norm(%4, groups=4)\n"
                              "%6 = gelu(%5)\n"
                              "%7 = add(%6, %3)\n"
                              "%8 = conv2d(%7, kernel=[1], out=16, stride=[2])\n"
                              "%9 = separable_conv2d(%7, out=12, padding=[1], stride=[2])\n"
                              "%10 = concat(%8, %9)\n"
                              "%11 = depthwise_conv2d(%10, padding=[1])\n"
                              "%12 = avg_pool2d(%11)\n"
                              "%13 = global_avg_pool(%12)\n"
                              "%14 = linear(%13, out=12)\n"
                              "%15 = silu(%14)\n"
                              "%16 = linear(%15, out=5)\n"
                              "%17 = output(%16)\n")},
          {"dense", parsed("%0 = input(shape=[2,8,8])\n"
                           "%1 = conv2d(%0, out=6, padding=[1])\n"
                           "%2 = relu(%1)\n"
                           "%3 = concat(%0, %2)\n"
                           "%4 = conv2d(%3, out=6, padding=[1])\n"
                           "%5 = relu(%4)\n"
                           "%6 = concat(%0, %2, %5)\n"
                           "%7 = max_pool2d(%6)\n"
                           "%8 = flatten(%7)\n"
                           "%9 = linear(%8, out=4)\n"
                           "%10 = output(%9)\n")},
          {"inception", parsed("%0 = input(shape=[4,7,7])\n"
                               "%1 = conv2d(%0, kernel=[1], out=4)\n"
                               "%2 = conv2d(%0, out=4, padding=[1])\n"
                               "%3 = conv2d(%0, kernel=[5], out=4, padding=[2])\n"
                               "%4 = max_pool2d(%0, kernel=[3], padding=[1], stride=[1])\n"
                               "%5 = concat(%1, %2, %3, %4)\n"
                               "%6 = batch_norm(%5)\n"
                               "%7 = relu(%6)\n"
                               "%8 = global_avg_pool(%7)\n"
                               "%9 = linear(%8, out=6)\n"
                               "%10 = output(%9)\n")},
          {"squeeze", parsed("%0 = input(shape=[3,6,6])\n"
                             "%1 = conv2d(%0, out=8, padding=[1])\n"
                             "%2 = relu(%1)\n"
                             "%3 = global_avg_pool(%2)\n"
                             "%4 = linear(%3, out=4)\n"
                             "%5 = relu(%4)\n"
                             "%6 = linear(%5, out=8)\n"
                             "%7 = sigmoid(%6)\n"
                             "%8 = scale(%2, %7)\n"
                             "%9 = conv2d(%8, out=8, padding=[1], stride=[2])\n"
                             "%10 = silu(%9)\n"
                             "%11 = global_avg_pool(%10)\n"
                             "%12 = linear(%11, out=5)\n"
                             "%13 = output(%12)\n")},
          {"mixer", parsed("%0 = input(shape=[6,8])\n"
                           "%1 = linear(%0, out=12)\n"
                           "%2 = layer_norm(%1)\n"
                           "%3 = transpose(%2, axes=[0,2,1])\n"
                           "%4 = linear(%3, out=6)\n"
                           "%5 = tanh(%4)\n"
                           "%6 = transpose(%5, axes=[0,2,1])\n"
                           "%7 = add(%6, %1)\n"
                           "%8 = mean(%7, axes=[1])\n"
                           "%9 = linear(%8, out=3)\n"
                           "%10 = output(%9)\n")}};
}

Result<std::vector<mutate::BaseModel>> shipped_bases(std::int64_t tokens) {
  std::vector<mutate::BaseModel> bases;
  for (const std::string& name : mutate::builtin_base_names()) {
    for (const graph::Shape& shape : {graph::Shape{{64}}, graph::Shape{{1, 8, 8}}, graph::Shape{{12}}}) {
      auto base = mutate::builtin_base(name, shape, 10, name == "small-transformer" ? tokens : 0);
      if (!base) continue;  // the base needs other inputs
      base->name += " " + shape.text();
      bases.push_back(*std::move(base));
    }
  }
  return bases;
}

Result<std::vector<mutate::ModelSpace>> mutation_spaces(std::vector<mutate::BaseModel> bases,
                                                        const mutate::Limits& limits) {
  std::vector<std::shared_ptr<const mutate::Mutator>> mutators;
  for (const auto& plugin : mutate::builtin_mutators()) {
    LANISTA_ASSIGN(const auto options, resolve_options(plugin.example, plugin.options));
    LANISTA_ASSIGN(auto made, plugin.make(options));
    mutators.push_back(std::move(made));
  }
  using Channels = mutate::RepairPolicy::Channels;
  using Spatial = mutate::RepairPolicy::Spatial;
  std::vector<mutate::ModelSpace> spaces;
  for (const mutate::RepairPolicy repair :
       {mutate::RepairPolicy{Channels::kProject, Spatial::kPool}, mutate::RepairPolicy{Channels::kPad, Spatial::kPool},
        mutate::RepairPolicy{Channels::kProject, Spatial::kInterpolate}}) {
    LANISTA_ASSIGN(auto space, mutate::ModelSpace::make(graph::builtin_ops(), bases, mutators, repair, limits));
    spaces.push_back(std::move(space));
  }
  return spaces;
}

}  // namespace lanista::testing
