# `cmake --install build/release --prefix DIR`: the files of a package. The server finds scenes and viewer beside itself.
include(GNUInstallDirs)
install(TARGETS pliantd pliant RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# where the server looks for it: ../libexec/pliant
install(TARGETS pliant_surface_reader RUNTIME DESTINATION libexec/pliant)
if(TARGET pliant-gamepad)
  install(TARGETS pliant-gamepad RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT gamepad OPTIONAL)
endif()
install(DIRECTORY scenes/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pliant/scenes)
install(DIRECTORY proto/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pliant/proto FILES_MATCHING PATTERN "*.proto")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# the C++ client, for programs outside this tree: find_package(pliant) and pliant::client
include(CMakePackageConfigHelpers)
set(PLIANT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/pliant)
set(PLIANT_FOREIGN_DIR ${CMAKE_INSTALL_INCLUDEDIR}/pliant/foreign)  # google/rpc, which other packages may install, too
foreach(target pliant_clients_cpp pliant_proto)
  target_include_directories(${target} SYSTEM INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${PLIANT_FOREIGN_DIR}>)
endforeach()
set_target_properties(pliant_clients_cpp PROPERTIES EXPORT_NAME client)
set_target_properties(pliant_proto PROPERTIES EXPORT_NAME proto)
install(TARGETS pliant_clients_cpp pliant_proto EXPORT pliant ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client)
install(EXPORT pliant FILE pliantTargets.cmake NAMESPACE pliant:: DESTINATION ${PLIANT_PACKAGE_DIR} COMPONENT client)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/pliantConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/pliantConfig.cmake ${CMAKE_BINARY_DIR}/pliantConfigVersion.cmake
  DESTINATION ${PLIANT_PACKAGE_DIR} COMPONENT client)
install(DIRECTORY clients/cpp/pliant ${CMAKE_BINARY_DIR}/generated/pliant DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT client
  FILES_MATCHING PATTERN "*.h" PATTERN "*.grpc.pb.h" EXCLUDE)
install(DIRECTORY ${CMAKE_BINARY_DIR}/generated/google DESTINATION ${PLIANT_FOREIGN_DIR} COMPONENT client
  FILES_MATCHING PATTERN "*.pb.h" PATTERN "*.grpc.pb.h" EXCLUDE)
install(DIRECTORY clients/cpp/examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pliant/examples/cpp COMPONENT client)
# built by ./dev, after CMake has run
install(DIRECTORY web_viewer/dist/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pliant/viewer OPTIONAL)
