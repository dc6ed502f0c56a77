#include "lanista/plan/pipeline/model_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lanista/model/graph/op.h"
#include "lanista/model/graph/text.h"
#include "lanista/plan/pipeline/model_costs.h"
#include "lanista/plan/pipeline/planner.h"
#include "support/plan/pipeline/test_support.h"

namespace lanista::pipeline {
namespace {

using Json = nlohmann::json;

constexpr const char* kProfile =
    "node1 -- Input0 -- forward_compute_time=635.902, backward_compute_time=0.000, activation_size=9.0, "
    "parameter_size=0.000\n"
    "node10 -- Linear(4, 4) -- forward_compute_time=2.0, backward_compute_time=6.0, activation_size=[6.0; 1.0; 1.0], "
    "parameter_size=40.000 -- stage_id=3\n"
    "node9 -- ReLU(inplace) -- forward_compute_time=1.0, backward_compute_time=4.0, activation_size=8.000, "
    "parameter_size=0.000\n"
    "\tnode1 -- node9\n\tnode9 -- node10\n\tnode1 -- node10\n";

TEST(ModelFile, RoundTrips) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    Model model = random_problem(Rng(71).split(i), 20, 2, 8).model;
    model.operators[0].warm_cache_factor = i % 2 == 0 ? 1 : 0.75;
    const auto back = read_model(Json::parse(model_json(model).dump()));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, model);
  }
}

TEST(ModelFile, ReportsTheWrongMember) {
  const Json good = model_json(a_problem(3, {{0, 1}, {1, 2}}, 8, 2).model);
  const auto message = [&](const Json& change) {
    Json bad = good;
    bad.merge_patch(change);
    const auto read = read_model(bad);
    return read ? "" : read.error().text();
  };
  EXPECT_NE(message({{"pipeline_model", 0}}).find("pipeline_model of 1"), std::string::npos);
  EXPECT_NE(message({{"batch", 0}}).find("a batch of 0"), std::string::npos);
  EXPECT_NE(message({{"hash", "abc"}}).find("hash"), std::string::npos);
  EXPECT_NE(message({{"edges", {{0, 7}}}}).find("edge 0 from 0 to 7"), std::string::npos);
  EXPECT_NE(message({{"edges", {{0, 1}, {1, 0}}}}).find("cannot be cut into stages"), std::string::npos);
  EXPECT_NE(message({{"operators", {{{"name", "x"}}}}}).find("operator 0"), std::string::npos);
  EXPECT_NE(message({{"operators", 3}}), "");
  Json near = good;
  near["operators"][1]["again"] = 0;
  EXPECT_NE(read_model(near).error().text().find("again is 0"), std::string::npos);
}

TEST(PipedreamProfile, IsReadWithoutInputs) {
  const auto model = read_pipedream_profile(kProfile, 16);

  ASSERT_TRUE(model) << model.error().text();
  ASSERT_EQ(model->operators.size(), 2u);
  EXPECT_EQ(model->operators[0].name, "node9 ReLU(inplace)");
  EXPECT_EQ(model->edges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}}));
  EXPECT_EQ(model->batch, 16);
  EXPECT_DOUBLE_EQ(model->operators[1].output_bytes, 8);
  EXPECT_DOUBLE_EQ(model->operators[1].parameter_bytes, 40);
  EXPECT_DOUBLE_EQ(work_at(model->operators[1], 1), 8e-3);
  EXPECT_DOUBLE_EQ(model->operators[1].weight_grad[0], 3e-3);
  EXPECT_DOUBLE_EQ(work_at(model->operators[0], 4), 20e-3);
  EXPECT_DOUBLE_EQ(model->operators[0].weight_grad[0], 0);
}

TEST(PipedreamProfile, ReportsTheWrongLine) {
  const auto message = [](const std::string& text) {
    const auto read = read_pipedream_profile(text, 8);
    return read ? "" : read.error().text();
  };
  const std::string good = kProfile;
  EXPECT_NE(message("node1 -- ReLU -- forward_compute_time=x\n").find("line 1"), std::string::npos);
  EXPECT_NE(message(good + "\tnode9 -- node77\n").find("node77"), std::string::npos);
  EXPECT_NE(message(good + "\tnode9\n").find("line 7"), std::string::npos);
  EXPECT_NE(message(good + good).find("is listed twice"), std::string::npos);
  EXPECT_NE(message(good + "\tnode10 -- node9\n").find("cannot be cut"), std::string::npos);
  EXPECT_NE(message("graph\n").find("must begin with a node"), std::string::npos);
  EXPECT_NE(message(""), "");
}

Json piper_input() {
  const auto node = [](int id, double time, double weights) {
    const Json other = {{"id", "activation recomp"},
                        {"timePerSample", 99.0},
                        {"parameterSize", weights},
                        {"memoryUsageA", 1.0},
                        {"memoryUsageB", 5 * weights}};
    const Json plain = {{"id", "vanilla"},
                        {"timePerSample", time},
                        {"parameterSize", weights},
                        {"memoryUsageA", 7.0},
                        {"memoryUsageB", 2 * weights}};
    return Json{{"id", id}, {"name", "n"}, {"TMPCs", {{"1", {other, plain}}}}};
  };
  return {{"maxDevices", 3},
          {"maxMemoryPerDevice", 1000.0},
          {"bandwidth", 50.0},
          {"mbsInBatch", 8},
          {"nodes", {node(4, 6, 10), node(2, 4, 0)}},
          {"edges", {{{"sourceId", 4}, {"destId", 2}, {"communicationCost", 12.5}}}}};
}

TEST(PiperInput, GivesModelAndDevices) {
  const auto problem = read_piper_input(piper_input(), 0.5);

  ASSERT_TRUE(problem) << problem.error().text();
  EXPECT_EQ(problem->devices.count(), 3);
  EXPECT_EQ(problem->model.batch, 8);
  EXPECT_EQ(problem->model.edges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}}));
  EXPECT_DOUBLE_EQ(work_at(problem->model.operators[0], 1), 3);
  EXPECT_DOUBLE_EQ(problem->model.operators[0].forward[0], 1);
  EXPECT_DOUBLE_EQ(problem->model.operators[1].forward[0], 1);
  EXPECT_DOUBLE_EQ(problem->model.operators[0].output_bytes, 12.5);
  EXPECT_DOUBLE_EQ(problem->model.operators[0].activation_bytes, 7);
  EXPECT_DOUBLE_EQ(problem->model.parameter_copies, 2);
  EXPECT_DOUBLE_EQ(problem->devices.links[0][0].bytes_per_second, 50);

  Json bad = piper_input();
  bad["edges"][0]["destId"] = 9;
  EXPECT_NE(read_piper_input(bad).error().text().find("edges between listed nodes"), std::string::npos);
  bad = piper_input();
  bad["nodes"][1]["id"] = 4;
  EXPECT_NE(read_piper_input(bad).error().text().find("twice"), std::string::npos);
  bad.erase("bandwidth");
  EXPECT_EQ(read_piper_input(bad).error().code, Code::kDataLoss);
}

TEST(ModelCosts, PreferMeasuredTimes) {
  const auto ops = graph::builtin_ops();
  const auto graph = graph::parse(
      "%0 = input(shape=[8])\n%1 = linear(%0, out=4)\n%2 = relu(%1)\n%3 = linear(%2, out=2)\n%4 = output(%3)\n");
  ASSERT_TRUE(graph) << graph.error().text();
  const auto types = graph::infer_shapes(*graph, ops);
  ASSERT_TRUE(types) << types.error().text();
  plan::Costs costs;
  costs.machine.cpu = "here";
  const auto put = [&](const char* pass, std::int64_t n, double us) {
    plan::CostKey key = costs.machine;
    const graph::Node& node = graph->node(graph::NodeId{1});
    key.work = plan::work_text(node, types->inputs(node), n, pass);
    costs.table.put(key, {us, 0, 0, 1});
  };
  put("forward", 1, 10);
  put("forward", 2, 12);
  put("weight_grad", 1, 5);

  const auto model = model_of(*graph, ops, 8, 3, costs);

  ASSERT_TRUE(model) << model.error().text();
  ASSERT_EQ(model->operators.size(), 3u);
  EXPECT_EQ(model->hash, graph::canonical_hash(*graph, ops));
  EXPECT_EQ(model->edges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 2}}));
  const Operator& first = model->operators[0];
  EXPECT_EQ(first.name, "%1 linear");
  EXPECT_DOUBLE_EQ(seconds_at(first.forward, 1), 10e-6);
  EXPECT_DOUBLE_EQ(seconds_at(first.forward, 2), 12e-6);
  EXPECT_DOUBLE_EQ(seconds_at(first.forward, 8), 48e-6);  // Proportional above the largest measured size.
  EXPECT_DOUBLE_EQ(seconds_at(first.weight_grad, 4), 20e-6);
  EXPECT_DOUBLE_EQ(first.parameter_bytes, 4 * (8 * 4 + 4));
  EXPECT_DOUBLE_EQ(first.output_bytes, 16);
  const graph::Cost linear = {2.0 * 4 * 2, 0};  // The second one is predicted from its products.
  EXPECT_GE(model->operators[2].forward[0] * 1e6, costs.prices.us(linear.flops, 0));
  EXPECT_EQ(model->operators[1].weight_grad[0], 0);
}

}  // namespace
}  // namespace lanista::pipeline
