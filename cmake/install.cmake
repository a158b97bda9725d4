# `cmake --install build/release --prefix DIR`: what a package needs. The server finds scenes and viewer beside itself.
include(GNUInstallDirs)
install(TARGETS pliantd pliant RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY scenes/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pliant/scenes)
install(DIRECTORY proto/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pliant/proto FILES_MATCHING PATTERN "*.proto")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# built by ./dev, after CMake has run
install(DIRECTORY web_viewer/dist/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pliant/viewer OPTIONAL)
