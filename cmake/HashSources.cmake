# Makes a header that defines one macro, a hash of source files. Two builds are equal if their hashes are.
# Run as a script by lanista_hash_sources().
#
#   cmake -DOUTPUT=<file.h> -DMACRO=<name> -DFILES=<files, "|" between> -P HashSources.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  include(MadeByScript)
  # lanista_hash_sources(<file.h> MACRO <name> FILES <files>): makes <file.h> again when one of the files changes.
  function(lanista_hash_sources output)
    cmake_parse_arguments(arg "" "MACRO" "FILES" ${ARGN})
    list(JOIN arg_FILES "|" files)
    lanista_made_by_script(${output} SCRIPT HashSources.cmake COMMENT "Hashing for ${arg_MACRO}" FROM ${arg_FILES}
                           DEFINE MACRO=${arg_MACRO} FILES=${files})
  endfunction()
  return()
endif()

string(REPLACE "|" ";" files "${FILES}")
set(hashes "")
foreach(file IN LISTS files)
  file(SHA256 "${file}" hash)
  string(APPEND hashes "${hash}")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING "${hash}" 0 16 hash)
file(WRITE "${OUTPUT}" "// Made by cmake/HashSources.cmake.\n#pragma once\n#define ${MACRO} \"${hash}\"\n")
