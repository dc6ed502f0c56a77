#pragma once

#include "support/engine/core/conformance_fixture.h"
#include "support/engine/core/conformance_commands.h"
#include "support/engine/core/conformance_states.h"

/// What executor.h promises, as tests for every executor. A bench is default-constructible and has
///   static constexpr bool kStoresWeights           states and weights are stored; an executor that trains nothing keeps none
///   static constexpr std::int64_t kEpochs  of a job, at least 3
///   std::unique_ptr<Executor> make()       over what its earlier executors stored, as in another process
///   Job job(std::uint32_t id)              the same for the same number
namespace lanista::engine::testing {

REGISTER_TYPED_TEST_SUITE_P(ExecutorConformance, ReportsEveryEpochOnceInOrder, WaitsAtAllowedEpoch,
                            AbandonsWithoutReportAndKeepsOthers, DropsReportsOfEarlierStart,
                            IgnoresCommandsForUnknownTrials,
                            ReportsPauseOnceThenNothing, ResumesFromCheckpointsExactly,
                            PausesTrialAtAllowedEpoch, ResumesPausedTrialOnAnyExecutor,
                            ClonesWeightsOfAnotherTrial, ForksFromStateOfAnotherTrial,
                            RefusesMissingStart, RefusesMissingCheckpoint, TestsStoredWeights,
                            MeasuresTrialsAndBlendsOfThem);

}  // namespace lanista::engine::testing
