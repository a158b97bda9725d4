# Builds the chapters of docs/extending.md as printed: the file of a chapter is compiled with a copy of the registry that
# has the chapter's line. An object file of a program takes precedence over that of a library, so the copy replaces the
# shipped registry, provided that the latter is compiled alone.

set(PLIANT_RECIPES ${CMAKE_SOURCE_DIR}/docs/extending.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PLIANT_RECIPES})

# Writes a copy of a registry with the pattern `from` replaced by `to`, and returns its path.
function(pliant_registry_with result registry from to)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${registry})
  set(copy ${CMAKE_BINARY_DIR}/recipes/${registry})
  file(READ ${CMAKE_SOURCE_DIR}/${registry} text)
  string(REGEX REPLACE "${from}" "${to}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${registry} has no list of the form that docs/extending.md adds a line to")
  endif()
  file(CONFIGURE OUTPUT ${copy} CONTENT "${changed}" @ONLY)
  set(${result} ${copy} PARENT_SCOPE)
endfunction()

# Reads a chapter that shows a whole file: `In `PATH`:`, the source, and "The line, in [REGISTRY](…): `ADD(NAME)`".
# Returns the file's and the registry's paths.
function(pliant_read_chapter title source_result registry_result)
  file(READ ${PLIANT_RECIPES} page)
  string(FIND "${page}" "\n## ${title}\n" begin)
  math(EXPR begin "${begin} + 4")
  string(SUBSTRING "${page}" ${begin} -1 chapter)
  string(FIND "${chapter}" "\n## " end)
  string(SUBSTRING "${chapter}" 0 ${end} chapter)
  if(NOT chapter MATCHES "`((physics|solvers)/[a-z_/]+)/([a-z_]+)\\.cc`:")
    message(FATAL_ERROR "docs/extending.md, ${title}: no file is named")
  endif()
  set(folder ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_3})
  if(EXISTS ${CMAKE_SOURCE_DIR}/${folder}/${name}.cc)
    message(FATAL_ERROR "docs/extending.md, ${title}: ${folder}/${name}.cc exists already")
  endif()
  if(NOT chapter MATCHES "The line, in \\[([a-z_]+\\.cc)\\]\\([^)]+\\): `(ADD\\([A-Za-z]+\\))`")
    message(FATAL_ERROR "docs/extending.md, ${title}: no line for a registry")
  endif()
  set(registry ${folder}/${CMAKE_MATCH_1})
  set(line ${CMAKE_MATCH_2})
  string(FIND "${chapter}" "```cpp\n" begin)
  math(EXPR begin "${begin} + 7")
  string(SUBSTRING "${chapter}" ${begin} -1 code)
  string(FIND "${code}" "```" end)
  string(SUBSTRING "${code}" 0 ${end} code)
  set(source ${CMAKE_BINARY_DIR}/recipes/${folder}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "${code}" @ONLY)
  pliant_registry_with(copy ${registry} "(ADD\\([A-Za-z]+\\))\n\n" "\\1 ${line}\n\n")
  set(${source_result} ${source} PARENT_SCOPE)
  set(${registry_result} ${copy} PARENT_SCOPE)
endfunction()

# Builds a chapter's file into a program with tests of its room; those that match `filter` are architecture/extending/….
function(pliant_recipe name title room filter)
  pliant_read_chapter(${title} source registry)
  pliant_test_program(test_recipe_${name} ${room} ${source} ${registry} ${ARGN}
    ${CMAKE_SOURCE_DIR}/tests/architecture/chapters/${name}.cc)
  gtest_discover_tests(test_recipe_${name} TEST_PREFIX architecture/extending/ TEST_FILTER "Chapter.*:${filter}"
    DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES PROPERTIES TIMEOUT 300)
endfunction()
