# Sanitizers for the whole build, chosen by a preset: PLIANT_SANITIZE is empty, "address,undefined" or "thread".
set(PLIANT_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize= takes them")

if(PLIANT_SANITIZE)
  add_compile_options(-fsanitize=${PLIANT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${PLIANT_SANITIZE})
  # compiled in half the time; results have the same bits at every level
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")
  # the sanitizers' own instrumentation makes gcc 12 see uninitialised reads that are not there
  add_compile_options(-Wno-maybe-uninitialized)
  if(PLIANT_SANITIZE STREQUAL "thread")
    # Boost.Asio has fences, which this sanitizer does not follow. Under its macro protobuf lays out maps otherwise than
    # Debian's library does.
    add_compile_options(-Wno-tsan -U__SANITIZE_THREAD__)
    add_compile_definitions(PLIANT_THREAD_SANITIZER)
  endif()
endif()
