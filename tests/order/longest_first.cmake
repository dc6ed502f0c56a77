# Read by ctest after all tests are known: about how many seconds those take that take more than eight. A name that is not
# there any more does nothing.
foreach(
  test
  device.BlockText.CompilesForCurrentArchitectures=45
  readers.report_browser=42
  house.limits=34
  house.model_oracle_published=34
  runtime.DataParallelTrials.HaveTheSameBitsAfterAnyKill=31
  readers.onnx_light=29
  readers.onnx_nodes=28
  house.campaign_log=25
  engine.Children.ResumeExactlyAfterAnyKill=23
  house.model_oracle_random=22
  engine.Whims.ResumeExactlyAfterAnyKill=19
  house.cpp_suite=19
  house.devices=16
  house.model_oracle_mutated=15
  house.device_kill_resume=15
  readers.metrics=15
  house.kill_and_resume_with_stops=13
  device.Block.EqualsCpuBitsOverFiftySteps=12
  house.command_line=12
  nn.nn_torch_tests=11
  house.onnx_suite=11
  races.races_tests=10
  house.model_oracle_kernels=10
  engine.Promotion.ResumesExactlyAfterKills=9
  device.device_tests_1_of_4=9
  house.mutation_proof=9
  engine.Resume.CountsDuplicatesAcrossKill=9
  house.model_oracle_device=8
  runtime.Faults.OfAnyWriteEndInACodedErrorAndAResumableStudy=8)
  string(REPLACE "=" ";" test "${test}")
  list(GET test 0 name)
  list(GET test 1 seconds)
  set_tests_properties(${name} PROPERTIES COST ${seconds})
endforeach()
