# Durations in seconds of the tests that run for eight seconds or more. ctest reads this file when all tests are known;
# an unknown name has no effect.
foreach(
  test
  exec_backends.BlockText.CompilesForCurrentArchitectures=45
  readers.report_browser=42
  system.limits=34
  system.model_oracle_published=34
  engine_local.DataParallelTrials.HaveTheSameBitsAfterAnyKill=31
  readers.onnx_light=29
  readers.onnx_nodes=28
  system.campaign_log=25
  engine_core.ClonedTrials.ResumeExactlyAfterAnyKill=23
  system.model_oracle_random=22
  engine_core.RandomVerdicts.ResumeExactlyAfterAnyKill=19
  system.cpp_suite=19
  system.devices=16
  system.model_oracle_mutated=15
  system.device_kill_resume=15
  readers.metrics=15
  system.kill_and_resume_with_stops=13
  exec_backends.Block.EqualsCpuBitsOverFiftySteps=12
  system.command_line=12
  exec_program.exec_program_torch_tests=11
  system.onnx_suite=11
  bench_steps.bench_steps_tests=10
  system.model_oracle_kernels=10
  engine_core.Promotion.ResumesExactlyAfterKills=9
  exec_aten.exec_aten_tests_1_of_4=9
  system.mutation_proof=9
  engine_core.Resume.CountsDuplicatesAcrossKill=9
  system.model_oracle_device=8
  engine_local.Faults.OfAnyWriteEndInACodedErrorAndAResumableStudy=8)
  string(REPLACE "=" ";" test "${test}")
  list(GET test 0 name)
  list(GET test 1 seconds)
  set_tests_properties(${name} PROPERTIES COST ${seconds})
endforeach()
