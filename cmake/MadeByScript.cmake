# lanista_made_by_script(<file> SCRIPT <name> COMMENT <text> FROM <files> DEFINE <NAME=value...>)
# Makes <file> by the script cmake/<name>, which gets OUTPUT and the definitions. It runs again when the script or one
# of the files of FROM changes. Lists in definitions have "|" between their entries.
function(lanista_made_by_script output)
  cmake_parse_arguments(arg "" "SCRIPT;COMMENT" "FROM;DEFINE" ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/cmake/${arg_SCRIPT})
  list(TRANSFORM arg_DEFINE PREPEND -D)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} ${arg_DEFINE} -P ${script}
    DEPENDS ${arg_FROM} ${script}
    COMMENT "${arg_COMMENT}" VERBATIM)
endfunction()
