# Sanitizers for the whole build, selected by a preset: PLIANT_SANITIZE is empty, "address,undefined" or "thread".
set(PLIANT_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize= takes them")
set(PLIANT_SANITIZE_EXCEPT "" CACHE STRING "Checks of these sanitizers to leave out, as -fno-sanitize= takes them")

if(PLIANT_SANITIZE)
  add_compile_options(-fsanitize=${PLIANT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${PLIANT_SANITIZE})
  if(PLIANT_SANITIZE_EXCEPT)
    add_compile_options(-fno-sanitize=${PLIANT_SANITIZE_EXCEPT})
  endif()
  # halves the build time; results have the same bits at every optimisation level
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")
  # instrumentation makes GCC 12 report uninitialised reads that do not exist
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(PLIANT_SANITIZE STREQUAL "thread")
    # Boost.Asio uses fences, which this sanitizer does not support. With the sanitizer's macro defined, protobuf
    # headers lay out maps differently from Debian's library.
    add_compile_options(-Wno-tsan -U__SANITIZE_THREAD__)
    add_compile_definitions(PLIANT_THREAD_SANITIZER)
  endif()
endif()
