# Functions that build modules: flags, one static library for each module, and its tests.
include_guard(GLOBAL)
include(GoogleTest)

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer")

# With these settings of CCACHE_SLOPPINESS, ccache also serves units that use a precompiled header.
find_program(LANISTA_CCACHE NAMES ccache)
if(LANISTA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${LANISTA_CCACHE})
endif()

find_program(LANISTA_MOLD NAMES mold)
if(LANISTA_MOLD AND NOT LANISTA_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()

if(LANISTA_LINT)
  find_program(LANISTA_CLANG_TIDY NAMES clang-tidy-16)
  if(LANISTA_CLANG_TIDY)
    set(CMAKE_CXX_CLANG_TIDY ${LANISTA_CLANG_TIDY} --quiet --warnings-as-errors=*)
  endif()
  if(NOT LANISTA_CLANG_TIDY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(WARNING "lint: clang++-16 or clang-tidy-16 is missing (Debian: clang-16 clang-tidy-16); checking less")
  endif()
endif()

# Flags of lanista code only. No contraction: a fused multiply-add is used only where the source has one.
add_library(lanista_flags INTERFACE)
target_compile_features(lanista_flags INTERFACE cxx_std_20)
target_compile_options(lanista_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Woverloaded-virtual
                                             -ffp-contract=off)
if(LANISTA_WERROR)
  target_compile_options(lanista_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns of overlapping copies in std::string operator+ without reason (GCC bug 105651).
  target_compile_options(lanista_flags INTERFACE -Wno-restrict)
  # Its garbage collection starts at 1 GB: a tenth less time and a quarter more memory for the same objects.
  target_compile_options(lanista_flags INTERFACE --param=ggc-min-heapsize=1000000)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(lanista_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(LANISTA_SANITIZE)
  target_compile_options(lanista_flags INTERFACE -fsanitize=${LANISTA_SANITIZE} -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With sanitizers g++ 12 warns of uninitialised members in a moved-from std::variant without reason.
    target_compile_options(lanista_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(lanista_flags INTERFACE -fsanitize=${LANISTA_SANITIZE})
endif()
if(LANISTA_FUZZ)
  # Branch counters guide the fuzzers. Code that no fuzzer explores has none (LANISTA_UNCOUNTED), which saves a quarter
  # of the compile time.
  target_compile_options(lanista_flags
                         INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:LANISTA_UNCOUNTED>>>:-fsanitize=fuzzer-no-link>)
endif()

# Makes one precompiled header for all units that include torch. The compiler needs more time for torch/torch.h than for
# the lanista code of a unit.
function(lanista_torch_pch)
  if(TARGET lanista_torch_pch)
    return()
  endif()
  set(unit ${CMAKE_BINARY_DIR}/lanista_torch_pch.cpp)
  file(CONFIGURE OUTPUT ${unit} CONTENT "// Carries the precompiled header of units that include torch.\n")
  add_library(lanista_torch_pch OBJECT ${unit})
  target_include_directories(lanista_torch_pch PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(lanista_torch_pch PRIVATE lanista_flags LibTorch::LibTorch)
  target_precompile_headers(lanista_torch_pch PRIVATE <torch/torch.h>)
  lanista_pch_flags(lanista_torch_pch)
endfunction()

# Adds the flags with which ccache works with a precompiled header.
function(lanista_pch_flags target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# Gives a target the precompiled header of its kind, with standard containers and JSON. The kinds are modules, modules
# without optimisation (LANISTA_UNOPTIMISED) and tests, which are not optimised either. The lint preset uses no
# precompiled header, so that each file includes what it needs.
function(lanista_use_pch target kind)
  if(LANISTA_LINT)
    return()
  endif()
  set(carrier lanista_${kind}_pch)
  if(NOT TARGET ${carrier})
    find_package(nlohmann_json REQUIRED)  # imported targets are visible in one folder only
    set(unit ${CMAKE_BINARY_DIR}/${carrier}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "// Carries a precompiled header.\n")
    add_library(${carrier} OBJECT ${unit})
    target_link_libraries(${carrier} PRIVATE lanista_flags nlohmann_json::nlohmann_json)
    target_precompile_headers(
      ${carrier} PRIVATE <algorithm> <array> <charconv> <cmath> <cstdint> <functional> <map> <memory> <optional> <set>
                         <span> <string> <string_view> <utility> <vector>
                         "${PROJECT_SOURCE_DIR}/src/lanista/base/json_templates.h")
    target_include_directories(${carrier} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    if(kind STREQUAL "test")
      target_link_libraries(${carrier} PRIVATE GTest::gtest)
      target_precompile_headers(${carrier} PRIVATE <gtest/gtest.h>)
    endif()
    if(NOT kind STREQUAL "module")
      target_compile_options(${carrier} PRIVATE -O0)
      set_target_properties(${carrier} PROPERTIES LANISTA_UNCOUNTED ON)
    endif()
    lanista_pch_flags(${carrier})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${carrier})
  lanista_pch_flags(${target})
endfunction()

# With LANISTA_UNITY, compiles groups of about six sources as one unit, so that shared headers are parsed once. The name
# of a source alone selects its group, so a new file changes one group only. Sources in `apart` are compiled alone,
# because their unnamed namespaces define names that other sources define too.
function(lanista_unity target sources apart)
  if(NOT LANISTA_UNITY)
    return()
  endif()
  list(LENGTH sources count)
  set(groups 1)
  while(groups LESS_EQUAL 128)
    math(EXPR capacity "${groups} * ${LANISTA_UNITY_SIZE}")
    if(capacity GREATER_EQUAL count)
      break()
    endif()
    math(EXPR groups "${groups} * 2")
  endwhile()
  foreach(source IN LISTS sources)
    if(NOT IS_ABSOLUTE "${source}" AND NOT source IN_LIST apart)
      string(MD5 hash "${source}")
      string(SUBSTRING "${hash}" 0 6 hash)
      math(EXPR group "0x${hash} % ${groups}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${target}_${group}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # a warning about headers
  endif()
endfunction()

# Gives a target LibTorch and the shared precompiled header.
function(lanista_use_torch target scope)
  lanista_torch_pch()
  target_link_libraries(${target} ${scope} LibTorch::LibTorch)
  target_precompile_headers(${target} REUSE_FROM lanista_torch_pch)
  lanista_pch_flags(${target})
endfunction()

# lanista_test(<binary> LABEL <label> [TORCH] [SHARDS <n>] SOURCES <files> [LIBS <targets>] [APART <files>])
# Makes a GoogleTest program. Each TEST is one test of ctest. With TORCH the whole program is one test. With SHARDS the
# program is n tests, which saves time where thousands of tests run for less time than a process needs to start. APART:
# see lanista_unity.
function(lanista_test binary)
  cmake_parse_arguments(arg "TORCH" "LABEL;SHARDS" "SOURCES;LIBS;APART" ${ARGN})
  add_executable(${binary} ${arg_SOURCES})
  lanista_unity(${binary} "${arg_SOURCES}" "${arg_APART}")
  target_include_directories(
    ${binary} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR})
  target_link_libraries(${binary} PRIVATE lanista_flags ${arg_LIBS} GTest::gtest GTest::gtest_main)
  if(arg_TORCH)
    lanista_use_torch(${binary} PRIVATE)
  else()
    # The optimisation of test code needs more time than it saves.
    target_compile_options(${binary} PRIVATE -O0)
    set_target_properties(${binary} PROPERTIES LANISTA_UNCOUNTED ON)
    lanista_use_pch(${binary} test)
  endif()
  if(arg_TORCH)
    # One process for all tests, because most of them run for less time than it needs to load LibTorch.
    add_test(NAME ${arg_LABEL}.${binary} COMMAND ${binary})
    set_tests_properties(${arg_LABEL}.${binary} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 1200)
  elseif(arg_SHARDS)
    foreach(shard RANGE 1 ${arg_SHARDS})
      math(EXPR index "${shard} - 1")
      set(name ${arg_LABEL}.${binary}_${shard}_of_${arg_SHARDS})
      add_test(NAME ${name} COMMAND ${binary} --gtest_brief=1)
      set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 600
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
    endforeach()
  else()
    gtest_discover_tests(${binary} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 TEST_PREFIX ${arg_LABEL}.
                         PROPERTIES LABELS ${arg_LABEL} TIMEOUT 600)
  endif()
endfunction()

# lanista_module(<module> [HOT] [NO_PCH] SOURCES <files> [DEPS <modules>] [LIBS <targets>] [TESTS <files>]
#                [TEST_DEPS <modules>] [TORCH] [TORCH_TESTS <files>] [TEST_SHARDS n] [APART <files>])
#
# Makes the static library lanista_<module> and the test program <module>_tests.
#
# - DEPS: the modules that it includes. Modules of one layer may include each other.
# - LIBS: targets from outside.
# - TEST_DEPS: modules that only the tests use.
# - TORCH_TESTS: tests that compare the module with LibTorch, in a second program <module>_torch_tests.
# - HOT: compiles with -O2. Other modules are compiled with -O1, in less time; the benchmarks show no difference.
# - TORCH: the module itself links LibTorch. It is omitted if LANISTA_TORCH is off.
# - NO_PCH: the sources have special flags, which no precompiled header fits.
# - APART: files that lanista_unity compiles alone.
# - TEST_SHARDS: SHARDS of lanista_test.
function(lanista_module module)
  cmake_parse_arguments(arg "HOT;TORCH;NO_PCH" "TEST_SHARDS" "SOURCES;DEPS;LIBS;TESTS;TEST_DEPS;TORCH_TESTS;APART"
                        ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lanista_module(${module}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_TORCH AND NOT LANISTA_TORCH)
    return()
  endif()

  set(library lanista_${module})
  list(TRANSFORM arg_DEPS PREPEND lanista_)
  list(TRANSFORM arg_TEST_DEPS PREPEND lanista_)
  add_library(${library} STATIC ${arg_SOURCES})
  target_include_directories(${library} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${library} PRIVATE lanista_flags PUBLIC ${arg_DEPS} ${arg_LIBS})
  if(NOT arg_HOT AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${library} PRIVATE -O1)
  endif()
  if(arg_TORCH)
    lanista_use_torch(${library} PUBLIC)
  elseif(module IN_LIST LANISTA_UNOPTIMISED AND NOT arg_NO_PCH)
    target_compile_options(${library} PRIVATE -O0)
    set_target_properties(${library} PROPERTIES LANISTA_UNCOUNTED ON)
    lanista_use_pch(${library} unoptimised)
  elseif(NOT arg_NO_PCH)
    lanista_use_pch(${library} module)
  endif()
  if(NOT arg_NO_PCH)
    lanista_unity(${library} "${arg_SOURCES}" "${arg_APART}")
  endif()

  if(NOT BUILD_TESTING)
    return()
  endif()
  set(torch "")
  if(arg_TORCH)
    set(torch TORCH)
  endif()
  if(arg_TESTS)
    lanista_test(${module}_tests ${torch} LABEL ${module} SHARDS "${arg_TEST_SHARDS}" SOURCES ${arg_TESTS}
                 LIBS ${library} ${arg_TEST_DEPS} APART ${arg_APART})
  endif()
  if(arg_TORCH_TESTS AND LANISTA_TORCH)
    lanista_test(${module}_torch_tests TORCH LABEL ${module} SOURCES ${arg_TORCH_TESTS} LIBS ${library}
                 APART ${arg_APART})
  endif()
endfunction()
