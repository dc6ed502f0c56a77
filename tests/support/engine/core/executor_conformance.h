#pragma once

#include "support/engine/core/conformance_commands.h"
#include "support/engine/core/conformance_fixture.h"
#include "support/engine/core/conformance_states.h"

// The contract of executor.h as tests for every executor. A bench is default-constructible and has these members.
//
// - `static constexpr bool kStoresWeights`: whether it stores states and weights.
// - `static constexpr std::int64_t kEpochs`: the epochs of a job, at least 3.
// - `std::unique_ptr<Executor> make()`: a new executor with the files of its earlier executors, as in another process.
// - `Job job(std::uint32_t id)`: a job; equal for equal numbers.
namespace lanista::engine::testing {

REGISTER_TYPED_TEST_SUITE_P(ExecutorConformance, ReportsEveryEpochOnceInOrder, WaitsAtAllowedEpoch,
                            AbandonsWithoutReportAndKeepsOthers, DropsReportsOfEarlierStart,
                            IgnoresCommandsForUnknownTrials, ReportsPauseOnceThenNothing, ResumesFromCheckpointsExactly,
                            PausesTrialAtAllowedEpoch, ResumesPausedTrialOnAnyExecutor, ClonesWeightsOfAnotherTrial,
                            ForksFromStateOfAnotherTrial, RefusesMissingStart, RefusesMissingCheckpoint,
                            TestsStoredWeights, MeasuresTrialsAndBlendsOfThem);

}  // namespace lanista::engine::testing
