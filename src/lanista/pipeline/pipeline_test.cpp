#include <gtest/gtest.h>
#include <chrono>
#include <iostream>
#include "lanista/pipeline/planner.h"
#include "lanista/pipeline/simulate.h"
namespace lanista::pipeline {
TEST(Scratch, Runs) {
  Problem p;
  const int n = 10000;
  for (int i = 0; i < n; ++i) {
    Operator op; op.name = "o" + std::to_string(i);
    for (int k = 0; k < 10; ++k) { double t = 1e-4 + 1e-4 * (1 << k) * (1 + (i * 7 % 5)); op.forward.push_back(t); op.input_grad.push_back(t); op.weight_grad.push_back(t); }
    op.output_bytes = 1000; op.activation_bytes = 1000; op.parameter_bytes = 1000;
    p.model.operators.push_back(op);
    if (i) p.model.edges.push_back({i - 1, i});
  }
  p.model.batch = 512;
  p.devices = equal_devices(64, 1e12, {1e-6, 1e10});
  auto t0 = std::chrono::steady_clock::now();
  auto r = make_plan(p);
  std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count() << " s\n";
  ASSERT_TRUE(r) << r.error().text();
  std::cout << r->seconds << " probes " << r->probes << " states " << r->states << " rem " << r->remembered << " sims " << r->simulations << " stages " << r->plan.stages.size() << "\n";
  for (auto& f : r->finalists) std::cout << f.micro_batch << " " << f.stages << " " << f.depth << " " << f.seconds_per_sample * 512 << " " << f.seconds << "\n";
  auto c = simulate(kfkb(r->plan, p), r->plan, p);
  ASSERT_TRUE(c); std::cout << c->seconds << "\n";
}
}
