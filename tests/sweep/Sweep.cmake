# Each call of a pipeline to a vendor fails at each of its uses, over the vendor's double: sweep.cpp.
add_executable(sweep ${CMAKE_CURRENT_LIST_DIR}/sweep.cpp)
target_link_libraries(sweep PRIVATE anyplace_test_process Threads::Threads)
target_include_directories(sweep PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(sweep PRIVATE ANYPLACE_LOST_ORDER="${CMAKE_CURRENT_LIST_DIR}/lost_order.supp")
add_executable(sweep_pipeline ${CMAKE_CURRENT_LIST_DIR}/pipeline.cpp ${CMAKE_CURRENT_LIST_DIR}/steps.cpp
  ${CMAKE_CURRENT_LIST_DIR}/vendor_steps.cpp)
target_link_libraries(sweep_pipeline PRIVATE anyplace::anyplace)
set_target_properties(sweep sweep_pipeline PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(sweep_pipeline anyplace_backend_cpu_sim)

# Each allocation of the process fails, and each start of a thread: shortage.cpp.
if(TARGET anyplace_conformance_kernels)
  add_executable(sweep_shortage ${CMAKE_CURRENT_LIST_DIR}/shortage.cpp ${CMAKE_CURRENT_LIST_DIR}/failing.cpp
    ${CMAKE_CURRENT_LIST_DIR}/everything.cpp ${CMAKE_CURRENT_LIST_DIR}/steps.cpp)
  target_link_libraries(sweep_shortage PRIVATE anyplace_test_process anyplace::anyplace Threads::Threads ${CMAKE_DL_LIBS})
  if(ANYPLACE_SANITIZE)
    # Optimised, so that it calls none of the templates that other files have with the sanitizer in them.
    set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/failing.cpp PROPERTIES
      COMPILE_OPTIONS "-fno-sanitize=all;-O2" COMPILE_DEFINITIONS FAILING_UNDER_SANITIZER)
  endif()
  target_include_directories(sweep_shortage PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  set_target_properties(sweep_shortage PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                        ENABLE_EXPORTS ON)  # its malloc is for all
  add_dependencies(sweep_shortage anyplace_backend_cpu_sim anyplace_backend_sim_c anyplace_conformance_kernels)
else()
  anyplace_left_out(tests/sweep "the conformance suite, whose kernels sweep_shortage runs, is not built")
endif()

# anyplace_add_sweep(name PLACES place other VARIABLES prefix MODULE file FAILURES code=word... SILENT entry...
#                    SILENT_WITH_CACHE entry... ENVIRONMENT NAME=VALUE...)
# Test <name> without the allocator's cache, and <name>_with_cache with it. Without, each failure to allocate is seen; with it the
# allocator keeps memory over its users' failures and maps it anew, and what it asks for again after a failure succeeds, so of
# SILENT_WITH_CACHE too a failure may pass without a word.
# Not under ThreadSanitizer: what is done when a call fails is no question of threads, and takes minutes there.
function(anyplace_add_sweep name)
  if(ANYPLACE_SANITIZE STREQUAL "thread")
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VARIABLES;MODULE"
                        "PLACES;FAILURES;SILENT;SILENT_WITH_CACHE;ENVIRONMENT")
  list(GET arg_PLACES 0 place)
  list(GET arg_PLACES 1 other)
  list(JOIN arg_FAILURES , failures)
  set(every 1)
  if(ANYPLACE_SANITIZE)
    set(every 7)
  endif()
  foreach(cache IN ITEMS false true)
    set(test ${name})
    set(silent ${arg_SILENT})
    if(cache)
      string(APPEND test _with_cache)
      list(APPEND silent ${arg_SILENT_WITH_CACHE})
    endif()
    list(JOIN silent , silent)
    add_test(NAME ${test}
             COMMAND sweep --pipeline $<TARGET_FILE:sweep_pipeline> --variables ${arg_VARIABLES} --place ${place} --other ${other}
                     --module ${arg_MODULE} --failures ${failures} --silent ${silent} --every ${every})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${long_time_limit}
                         ENVIRONMENT "${arg_ENVIRONMENT};ANYPLACE_ALLOCATOR=caching:${cache}")
  endforeach()
endfunction()

# anyplace_add_shortage(name WHAT allocations|threads PLACES place other MODULE file [EVERY n] ENVIRONMENT NAME=VALUE...)
# The n-th allocation or start of a thread fails, for each n: that one in test <name>, and all that come after it in
# <name>_for_long, where n is a multiple of EVERY.
function(anyplace_add_shortage name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "WHAT;MODULE;EVERY" "PLACES;ENVIRONMENT")
  if(ANYPLACE_SANITIZE STREQUAL "thread" AND arg_WHAT STREQUAL "allocations")
    return()  # as of a sweep
  endif()
  list(GET arg_PLACES 0 place)
  list(GET arg_PLACES 1 other)
  foreach(how_many IN ITEMS 1 rest)
    set(test ${name})
    set(every 1)
    if(how_many STREQUAL "rest")
      set(test ${name}_for_long)
      if(arg_EVERY)
        set(every ${arg_EVERY})
      endif()
    endif()
    if(ANYPLACE_SANITIZE AND arg_WHAT STREQUAL "allocations")
      set(every 101)  # for time's sake: the build without sanitizers takes every one
    endif()
    add_test(NAME ${test}
             COMMAND sweep_shortage --what ${arg_WHAT} --place ${place} --other ${other} --simple sim_c:0 --module ${arg_MODULE}
                     --how-many ${how_many} --every ${every})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${long_time_limit} COST 100
      ENVIRONMENT "ANYPLACE_BACKEND_PATH=${CMAKE_BINARY_DIR}/tests/plugins/forward;${arg_ENVIRONMENT}")
  endforeach()
endfunction()
