# Each call of a pipeline to a vendor fails at each of its uses, over the vendor's double: sweep.cpp.
add_executable(sweep ${CMAKE_CURRENT_LIST_DIR}/sweep.cpp)
target_link_libraries(sweep PRIVATE Threads::Threads)
target_compile_definitions(sweep PRIVATE ANYPLACE_LOST_ORDER="${CMAKE_CURRENT_LIST_DIR}/lost_order.supp")
add_executable(sweep_pipeline ${CMAKE_CURRENT_LIST_DIR}/pipeline.cpp)
target_link_libraries(sweep_pipeline PRIVATE anyplace::anyplace)
set_target_properties(sweep sweep_pipeline PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(sweep_pipeline anyplace_backend_cpu_sim)

# anyplace_add_sweep(name PLACES place other VARIABLES prefix MODULE file FAILURES code=word... SILENT entry...
#                    SILENT_WITH_CACHE entry... ENVIRONMENT NAME=VALUE... [RUN_SERIAL])
# Test <name> without the allocator's cache, and <name>_with_cache with it. Without, each failure to allocate is seen; with it the
# allocator keeps memory over its users' failures and maps it anew, and what it asks for again after a failure succeeds, so of
# SILENT_WITH_CACHE too a failure may pass without a word.
function(anyplace_add_sweep name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RUN_SERIAL" "VARIABLES;MODULE"
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
    set_tests_properties(${test} PROPERTIES TIMEOUT 600 RUN_SERIAL ${arg_RUN_SERIAL}
                         ENVIRONMENT "${arg_ENVIRONMENT};ANYPLACE_ALLOCATOR=caching:${cache}")
  endforeach()
endfunction()
