# One folder is one target. `pliant_room(physics/fem physics/dynamics TBB::tbb)` makes the library of that folder and
# links it to the given targets: other rooms by their path, everything else by its CMake target or library.

function(pliant_target_of name result)
  string(REPLACE "/" "_" flat ${name})
  set(${result} pliant_${flat} PARENT_SCOPE)
endfunction()

function(pliant_links result)
  set(links)
  foreach(item ${ARGN})
    if(item MATCHES "^(solvers|physics|server|clients)/|^proto(/stubs)?$")
      pliant_target_of(${item} item)
    endif()
    list(APPEND links ${item})
  endforeach()
  set(${result} ${links} PARENT_SCOPE)
endfunction()

function(pliant_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror
    # false positives: GCC 12 considers Eigen's vector loads out of bounds
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overread;-Wno-stringop-overflow>
    # & of comparisons is intended: it avoids a branch
    $<$<CXX_COMPILER_ID:Clang>:-Wno-bitwise-instead-of-logical>)
endfunction()

function(pliant_room path)
  pliant_target_of(${path} target)
  pliant_links(links ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cc)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
    target_link_libraries(${target} PUBLIC ${links})
    pliant_warnings(${target})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${links})
  endif()
endfunction()

function(pliant_program name path)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cc)
  if(NOT sources)
    return()
  endif()
  pliant_links(links ${ARGN})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PRIVATE ${SUITESPARSE_INCLUDE})
  target_link_libraries(${name} PRIVATE ${links})
  target_compile_definitions(${name} PRIVATE PLIANT_VERSION="${PROJECT_VERSION}" PLIANT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  pliant_warnings(${name})
endfunction()

# The wire contract: the messages of every file under proto/ and, in a library of their own, the stubs with which clients
# call its gRPC services.
function(pliant_proto name)
  pliant_target_of(${name} target)
  set(out ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/*.proto)
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  set(messages)
  set(stubs)
  foreach(proto ${protos})
    file(RELATIVE_PATH stem ${CMAKE_SOURCE_DIR}/proto ${proto})
    string(REGEX REPLACE "\\.proto$" "" stem ${stem})
    set(base ${out}/${stem})
    add_custom_command(OUTPUT ${base}.pb.cc ${base}.pb.h
      COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR}/proto --cpp_out=${out} ${proto}
      DEPENDS ${protos} COMMENT "Generating ${stem}.pb")
    list(APPEND messages ${base}.pb.cc)
    file(STRINGS ${proto} services REGEX "^service ")
    if(services)
      add_custom_command(OUTPUT ${base}.grpc.pb.cc ${base}.grpc.pb.h
        COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR}/proto --grpc_out=${out}
          --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${proto}
        DEPENDS ${protos} COMMENT "Generating ${stem}.grpc.pb")
      list(APPEND stubs ${base}.grpc.pb.cc)
    endif()
  endforeach()
  add_library(${target} STATIC ${messages})
  target_include_directories(${target} SYSTEM PUBLIC $<BUILD_INTERFACE:${out}>)
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
  add_library(${target}_stubs STATIC ${stubs})
  target_link_libraries(${target}_stubs PUBLIC ${target} gRPC::grpc++)
  # internal names in generated sources clash
  set_target_properties(${target} ${target}_stubs PROPERTIES UNITY_BUILD OFF)
endfunction()

# Makes a test executable: pliant_test_program(NAME ROOM SOURCE…). Its tests are called ROOM/SUITE.TEST.
function(pliant_test_program name path)
  set(sources ${ARGN})
  add_executable(${name} ${sources})
  pliant_target_of(${path} room)
  if(TARGET ${room})
    target_link_libraries(${name} PRIVATE ${room})
  else()
    target_link_libraries(${name} PRIVATE pliant_physics_scene)
  endif()
  # tests of any room may use meshes from the mesher, arms from rigid, soft bodies from fem, and tables from YAML
  target_link_libraries(${name} PRIVATE pliant_physics_rigid pliant_physics_fem pliant_physics_geometry_meshing yaml-cpp
    GTest::gtest GTest::gtest_main GTest::gmock)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PRIVATE ${SUITESPARSE_INCLUDE})
  target_compile_definitions(${name} PRIVATE PLIANT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PLIANT_VERSION="${PROJECT_VERSION}")
  pliant_warnings(${name})
  target_compile_options(${name} PRIVATE -O1)  # saves build time; the tested libraries have the release options
endfunction()

# Builds tests/<room>/*_test.cc into an executable that links that room (physics/scene if there is none), and
# tests/<room>/*_long_test.cc into another, whose tests take more than a few seconds each and have the label `long`.
function(pliant_tests)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*_test.cc)
  if(NOT TARGET SDL2::SDL2)
    list(FILTER tests EXCLUDE REGEX "/clients/gamepad/pads/")
  endif()
  set(folders)
  foreach(test ${tests})
    get_filename_component(folder ${test} DIRECTORY)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR}/tests ${folder})
    string(REPLACE "/" "_" flat ${path})
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
    # compile sources that are not tests alone, since they may replace operator new to count allocations
    set(helpers ${sources})
    list(FILTER helpers EXCLUDE REGEX "_test\\.cc$")
    set_source_files_properties(${helpers} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set(long ${sources})
    list(FILTER long INCLUDE REGEX "_long_test\\.cc$")
    list(FILTER sources EXCLUDE REGEX "_long_test\\.cc$")
    pliant_test_program(test_${flat} ${path} ${sources})
    gtest_discover_tests(test_${flat} TEST_PREFIX ${path}/ DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES PROPERTIES TIMEOUT 300)
    if(long)
      pliant_test_program(test_${flat}_long ${path} ${long} ${helpers})
      gtest_discover_tests(test_${flat}_long TEST_PREFIX ${path}/ DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
        PROPERTIES TIMEOUT 2400 LABELS long)
    endif()
  endforeach()

  # these tests count allocations by replacing operator new
  set(counter ${CMAKE_SOURCE_DIR}/tests/counted_allocations.cc)
  set_source_files_properties(${counter} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  foreach(room physics_rigid physics_stepping physics_world solvers_linalg solvers_linalg_grid)
    target_sources(test_${room} PRIVATE ${counter})
  endforeach()
endfunction()

include(GoogleTest)
