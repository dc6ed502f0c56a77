# Turns source files into one string inside a C++ file. At run time, a compiler gets it as source. Lines with
# `#include "` and `#pragma once` are left out, since the files come in order. Run as a script by
# lanista_embed_source().
#
#   cmake -DOUTPUT=<file.cpp> -DFUNCTION=<name> -DHEADER=<header> -DSPACE=<namespace> -DFILES=<files, "|" between>
#         -P EmbedSource.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  include(MadeByScript)
  # lanista_embed_source(<file.cpp> FUNCTION <name> HEADER <header> SPACE <namespace> FILES <files>) makes <file.cpp>,
  # which defines `std::string_view <name>()` in that namespace. It makes the file again when a source changes.
  function(lanista_embed_source output)
    cmake_parse_arguments(arg "" "FUNCTION;HEADER;SPACE" "FILES" ${ARGN})
    list(TRANSFORM arg_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(JOIN arg_FILES "|" files)
    lanista_made_by_script(${output} SCRIPT EmbedSource.cmake COMMENT "Embedding ${arg_FUNCTION}" FROM ${arg_FILES}
                           DEFINE FUNCTION=${arg_FUNCTION} HEADER=${arg_HEADER} SPACE=${arg_SPACE} FILES=${files})
  endfunction()
  return()
endif()

string(REPLACE "|" ";" files "${FILES}")
set(code "// Made by cmake/EmbedSource.cmake.\n#include \"${HEADER}\"\n\nnamespace ${SPACE} {\nnamespace {\n\n")
string(APPEND code "constexpr std::string_view kText =\n")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  string(REPLACE ")embedded\"" "" without "${text}")
  if(NOT without STREQUAL text)
    message(FATAL_ERROR "${file} contains a text that would end its C++ literal")
  endif()
  string(REGEX REPLACE "(^|\n)#(include \"|pragma once)[^\n]*" "\\1" text "${text}")
  string(APPEND code "    R\"embedded(${text})embedded\"\n")
endforeach()
string(APPEND code "    ;\n\n}  // namespace\n\nstd::string_view ${FUNCTION}() { return kText; }\n\n")
string(APPEND code "}  // namespace ${SPACE}\n")
file(WRITE "${OUTPUT}" "${code}")
