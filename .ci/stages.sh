# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What each stage of .ci/run does. Sourced by it. stages.txt says when a stage runs and what it needs.
#
# shellcheck disable=SC2034,SC2154 # the variables are shared with .ci/run
# A stage runs in a shell of its own, with set -e. One that runs tests leaves their counts in tests_passed, tests_failed, tests_skipped and
# tests_flaky; each of the others is one check.

fuzz_seconds=30
# LeakSanitizer of GCC 12 and Clang 14 takes the header of a chunk at the start of a page for that of a dynamic library's thread-local
# block of glibc 2.19, reads what isn't there and ends ("Tracer caught signal 11"). It knows those blocks by who allocated them, too.
asan_options=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:intercept_tls_get_addr=0
# ThreadSanitizer by default waits a second at the end of each process that still has a thread. The suite under a layer has one in each case.
tsan_options=second_deadlock_stack=1:atexit_sleep_ms=10

# on_bare_debian COMMAND...: in a root that debootstrap makes, once for all stages of a run; where there can be none, on this
# machine, and that is said. What this machine had configured in build/ is of no use there, and is removed.
on_bare_debian() {
  if [[ ! -e $bare_root.made && ! -e $bare_root.cannot ]]; then
    if scripts/lib/debian_root make "$bare_root"; then
      touch "$bare_root.made"
      if [[ -d build && ! -e build/.bare-root ]]; then
        find build -mindepth 1 -maxdepth 1 ! -name ci -exec rm -rf {} +
      fi
      mkdir -p build
      touch build/.bare-root
    else
      touch "$bare_root.cannot"
    fi
  fi
  if [[ -e $bare_root.made ]]; then
    scripts/lib/debian_root run "$bare_root" "$@"
  else
    echo "-- bare Debian: left out, this machine runs '$*' itself"
    env -u CMAKE_GENERATOR "$@"
  fi
}

# counted COMMAND...: runs it, and reads the counts off its last line. What it says is in $logs/$stage.out, too.
counted() {
  local last status=0
  "$@" 2>&1 | tee "$logs/$stage.out" || status=$?
  last=$(tail -n 1 "$logs/$stage.out")
  if ! [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    tests_failed=1
    return $((status > 0 ? status : 1))
  fi
  tests_passed=${BASH_REMATCH[1]} tests_failed=${BASH_REMATCH[2]} tests_skipped=${BASH_REMATCH[4]:-0}
  tests_flaky=$(grep -c '^flaky: ' "$logs/$stage.out" || true)
  ((status == 0 && tests_failed == 0))
}

# README's second command as a newcomer gives it, on a bare Debian: the release build, with GCC and without a warning, and the tests.
stage_test() {
  local status=0
  # shellcheck disable=SC2266 # scripts/test is no test of the shell's
  counted on_bare_debian env ANYPLACE_TURN="$ANYPLACE_TURN" ANYPLACE_ROUND="${ANYPLACE_ROUND:-}" scripts/test || status=$?
  if grep -E '^[^ ]+\.(c|cpp|cu|h):[0-9]+:[0-9]+: warning: ' "$logs/test.out"; then
    echo "The build has warnings."
    return 1
  fi
  return "$status"
}

# The areas of areas.txt that a sanitizer runs for this commit, in `chosen`, with a line for each that says why or why not.
choose_areas() { # choose_areas SANITIZER
  local area sanitizers tests index=0 why
  chosen=()
  while IFS='|' read -r area sanitizers tests; do
    area=${area// /}
    if [[ -z $area || $area == \#* || " $sanitizers " != *" $1 "* ]]; then continue; fi
    index=$((index + 1))
    # shellcheck disable=SC2086 # the paths are words
    if changed_recently "tests/$area" $tests; then
      why="it has changed"
    elif [[ $ANYPLACE_TURN == all ]] || ((${ANYPLACE_TURN%/*} == index % turns)); then
      why="its turn"
    else
      echo "-- $1: $area: left out, it is the turn of others, and nothing of it has changed"
      continue
    fi
    echo "$1: $area: $why"
    chosen+=("$area")
  done <.ci/areas.txt
}

# run_areas SANITIZER: builds the chosen areas of build-SANITIZER and runs their tests.
run_areas() {
  local folder=build-$1 area targets=() list
  local -a chosen
  choose_areas "$1"
  configure "$1" "$folder"
  list=$folder/chosen/CTestTestfile.cmake
  mkdir -p "$folder/chosen"
  : >"$list"
  for area in "${chosen[@]}"; do
    targets+=("tests/$area/all")
    echo "subdirs(\"$PWD/$folder/tests/$area\")" >>"$list"
  done
  # The programs of tests/sweep, which the areas of devices run.
  targets+=(sweep sweep_pipeline sweep_shortage)
  cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}"
  # An area comes once in four commits at least, so that its sweeps are halved by rounds, not quartered.
  if [[ $ANYPLACE_TURN != all ]]; then export ANYPLACE_TURN=$((${ANYPLACE_ROUND:-0} % 2))/2; fi
  run_tests "$folder/chosen"
}

# With the second compiler, without a warning of its, under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer.
stage_asan() {
  export ASAN_OPTIONS=$asan_options
  export UBSAN_OPTIONS=print_stacktrace=1
  run_areas asan
}

stage_tsan() {
  # GCC 12's ThreadSanitizer doesn't find its memory where the kernel spreads mappings over more than 28 bits.
  local bits
  bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo unknown)
  if [[ $bits != 28 && -z ${ANYPLACE_CI_FIXED_ADDRESSES:-} ]]; then
    echo "vm.mmap_rnd_bits is $bits: address randomisation is turned off for this stage (setarch -R)"
    export ANYPLACE_CI_FIXED_ADDRESSES=1
    exec setarch "$(uname -m)" -R bash "$PWD/.ci/run" --stage tsan
  fi
  export TSAN_OPTIONS=$tsan_options
  run_areas tsan
}

# Random operations for 10 seconds on each bed, two beds at a time: natively, and under one of the sanitizers in turn.
stage_stress() {
  local preset folder fixed presets=(release asan tsan)
  if [[ $ANYPLACE_TURN != all ]]; then presets=(release "${presets[1 + ${ANYPLACE_TURN%/*} % 2]}"); fi
  export ASAN_OPTIONS=$asan_options
  export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=$tsan_options
  for preset in "${presets[@]}"; do
    folder=build-$preset fixed=()
    if [[ $preset == release ]]; then folder=build; fi
    # As in stage_tsan.
    if [[ $preset == tsan ]]; then fixed=(setarch "$(uname -m)" -R); fi
    configure "$preset" "$folder"
    cmake --build "$folder" --target stress --parallel "$jobs"
    "${fixed[@]}" tests/stress/run "$folder" 10 | tee "$logs/stress.out"
    [[ $(tail -n 1 "$logs/stress.out") =~ ^([0-9]+)\ passed,\ 0\ failed$ ]]
    tests_passed=$((tests_passed + BASH_REMATCH[1]))
  done
}

# The fuzz targets, for a while each.
stage_fuzz() {
  local name found
  configure fuzz build-fuzz
  cmake --build build-fuzz --target fuzz_place fuzz_table --parallel "$jobs"
  for name in place table; do
    found=$(mktemp -d)
    # What it finds new goes to the first folder, the seeds are in the second.
    "build-fuzz/bin/fuzz_$name" -max_total_time="$fuzz_seconds" -rss_limit_mb=2048 -timeout=120 -print_final_stats=1 \
      -artifact_prefix="$logs/fuzz_$name-" "$found" "tests/fuzz/corpus_$name" </dev/null
    rm -rf "$found"
    tests_passed=$((tests_passed + 1))
  done
}

# Everything is as clang-format has it.
stage_format() {
  scripts/format --check
}

# What a user sees of the command, and what a plugin shows of itself.
stage_shows() {
  local command=build/bin/anyplace said plugin opened
  unset "${!ANYPLACE_@}"
  said=$($command devices --json | python3 -m json.tool)
  [[ $said == *cpu_sim:0* && $said == *cpu_sim:1* ]]
  echo "devices --json is JSON and lists cpu_sim:0 and cpu_sim:1"

  said=$(ANYPLACE_CPU_SIM_DEVICES=64 $command devices)
  [[ $(grep -o '^cpu_sim:[0-9]*' <<<"$said" | sort -u | wc -l) == 64 ]]
  echo "ANYPLACE_CPU_SIM_DEVICES=64 lists 64"

  if said=$($command info cpu_sim:9 2>&1); then return 1; fi
  [[ $said == *cpu_sim:0* && $said == *cpu_sim:1* ]]
  echo "info cpu_sim:9 fails: $said"

  if said=$($command info cpu_sin:0 2>&1); then return 1; fi
  [[ $said == *cpu_sim* ]]
  echo "info cpu_sin:0 fails: $said"

  opened=$(strace -f -e trace=open,openat,openat2 $command info cpu_sim:0 2>&1 >/dev/null |
    grep -o 'libanyplace_backend_[^"]*' | sort -u)
  [[ $opened == libanyplace_backend_cpu_sim.so ]]
  echo "info cpu_sim:0 opens $opened alone"

  # Static space for thread-local variables of a library that a process opens late may be used up.
  for plugin in build/lib/libanyplace.so build/lib/libanyplace_{backend,engine,layer}_*.so; do
    if readelf -rW "$plugin" | grep -E 'TPOFF.* [_A-Za-z][A-Za-z0-9_]*(@| \+)'; then return 1; fi
    echo "$plugin asks for no thread-local variable of another library"
  done

  for plugin in build/lib/libanyplace_{backend,engine,layer}_*.so; do
    said=$(nm -D --defined-only "$plugin" | awk '{print $3}')
    [[ $plugin == */lib"${said%_entry}"_* ]]
    echo "$plugin exports $said alone"
  done
}

# An application and a plugin against the installed tree.
stage_install() { counted tests/install/run build; }

# Nothing that binaries rely on is gone or has changed since the baseline; and the guard would notice.
stage_abi() { counted tests/abi/guard build-abi; }

# What the compiler must refuse, with which words.
stage_refusals() { tests/refusals clang++-14; }

# A backend as a vendor would write it, on a driver that is not ours (PoCL), against the installed tree: its own tests, the
# conformance suite, and a replay of allocations. scripts/verify-opencl does the same on three more drivers.
stage_opencl() {
  local prefix backend
  prefix=$PWD/build/ci/opencl-prefix backend=$PWD/build/ci/opencl
  rm -rf "$prefix" "$backend"
  cmake --install build --prefix "$prefix"
  env -u ANYPLACE_BACKEND_PATH examples/backend_opencl/ci.sh "$prefix" "$backend"
  # Allocations on a device whose alignment and segments are its driver's.
  ANYPLACE_BACKEND_PATH=$backend build/bin/anyplace replay --synthetic 1 --operations 20000 --fill 50 --place opencl:0
  # One picture, wherever it is blurred.
  local places number=0
  for places in cpu_sim:0 opencl:0 cpu_sim:0,opencl:0; do
    number=$((number + 1))
    ANYPLACE_BACKEND_PATH=$backend build/bin/image_pipeline --places "$places" --in examples/image_pipeline/photo.png \
      --out "$logs/blurred-$number.png"
    cmp "$logs/blurred-$number.png" "$logs/blurred-1.png"
  done
}

# make_root ROOT WHAT [RELEASE]: a bare Debian for this stage alone. Where there can be none, which a line says, the stage counts as skipped
# and this returns 1.
make_root() {
  local status=0
  scripts/lib/debian_root make "$1" ${3:+"$3"} || status=$?
  if ((status == 0)); then return; fi
  if ((status != 77)); then exit "$status"; fi
  echo "-- $2: left out, there can be no such Debian here"
  tests_skipped=1
  return 1
}

# The library, cpu_sim, the command and the suite with the compilers of the next Debian, one of them in a round.
stage_debian13() {
  local root=${bare_root}-13 chosen=(gcc clang)
  if [[ $ANYPLACE_TURN != all && -n ${ANYPLACE_ROUND:-} ]]; then chosen=("${chosen[ANYPLACE_ROUND % 2]}"); fi
  make_root "$root" "Debian 13" trixie || return 0
  counted scripts/lib/debian_root run "$root" .ci/debian13 "${chosen[@]}"
  rm -rf --one-file-system "$root"
}

# arm64, cross-built in a bare Debian and run by qemu: the suite or the areas, one of them in a round, and what comes out there beside what
# this machine makes.
stage_arm64() {
  local root=${bare_root}-arm64 chosen=(suite areas)
  if [[ $ANYPLACE_TURN != all && -n ${ANYPLACE_ROUND:-} ]]; then chosen=("${chosen[ANYPLACE_ROUND % 2]}"); fi
  rm -f build/.bare-root # with what this machine has from here on
  configure release build
  cmake --build build --target image_pipeline anyplace_layer_trace --parallel "$jobs"
  .ci/same_everywhere build build/ci/arm64-same
  make_root "$root" arm64 || return 0
  counted scripts/lib/debian_root run "$root" .ci/arm64 build/ci/arm64-same "${chosen[@]}"
  rm -rf --one-file-system "$root"
}

# What is released, as packages, on a Debian that has nothing of it.
stage_packages() {
  local root=${bare_root}-packages
  scripts/package
  make_root "$root" "packages on a bare Debian" || return 0
  counted scripts/lib/debian_root run "$root" tests/install/packages build-package
  rm -rf --one-file-system "$root"
}

# The Level Zero backend on Intel's real driver, without a GPU: Debian's unstable packages of it, 415 MB. Left out where they can't
# be had.
stage_levelzero_driver() {
  local status=0
  counted scripts/verify-levelzero-driver --folder build/ci/levelzero-driver --build build --report "$logs/levelzero-intel-driver.md" ||
    status=$?
  if ((status == 77)); then
    echo "-- levelzero_driver: left out, $(tail -n 1 "$logs/$stage.out")"
    tests_passed=0 tests_failed=0 tests_skipped=1
    return
  fi
  return "$status"
}

# A framework's own packages from PyPI on anyplace's devices, cpu_sim and the doubles. Left out where PyPI isn't reached.
verify_framework() {
  counted "scripts/verify-$1" --build build --report "$logs/$1.md"
  if grep -q '^skipped: PyPI' "$logs/$stage.out"; then echo "-- $1: left out, $(grep '^skipped: PyPI' "$logs/$stage.out")"; fi
}
stage_paddle() { verify_framework paddle; }
stage_sycl() { verify_framework sycl; }
stage_torch() { verify_framework torch; }
# The Python package, which isn't a framework's and takes the same tools.
stage_python() { verify_framework python; }

# The site, from PyPI's MkDocs. Left out where PyPI isn't reached; what Doxygen alone finds is looked at all the same.
stage_site() {
  local status=0
  scripts/site 2>&1 | tee "$logs/$stage.out" || status=$?
  if ((status == 77)); then
    echo "-- site: left out, $(tail -n 1 "$logs/$stage.out"); the reference alone:"
    tests_skipped=1
    scripts/check-reference
    return
  fi
  return "$status"
}

# README's first command, on a bare Debian before anything else was installed there: the demo leaves its picture, and the same
# one however the work is spread.
stage_demo() {
  rm -f build/demo/out.png
  on_bare_debian scripts/demo
  test -s build/demo/out.png
  cp build/demo/out.png "$logs/one.png"
  on_bare_debian scripts/demo --place cpu_sim:0 --streams 16
  cmp build/demo/out.png "$logs/one.png"
  on_bare_debian scripts/demo --places cpu_sim:0,cpu_sim:1 --streams 1
  cmp build/demo/out.png "$logs/one.png"
}

# What the calls cost that are made millions of times, in instructions: through anyplace, and without it.
stage_instructions() {
  rm -f build/.bare-root # with what this machine has from here on
  configure release build -DANYPLACE_BENCH=ON
  cmake --build build --target bench_count --parallel "$jobs"
  bench/instructions/count --build build
}

# Kernels with barriers as loops, which needs LLVM's headers (docs/barriers.md), beside what they write on stacks: the area's tests, the
# kernels' own, and random kernels that no earlier commit had, under sanitizers, too.
stage_loops() {
  local seed passed skipped
  rm -f build/.bare-root # with what this machine has from here on
  configure release build
  cmake --build build --parallel "$jobs" --target anyplace_clang_loops tests/clang_loops/all tests/kernels/all
  mkdir -p build/loops
  printf 'subdirs("%s")\n' "$PWD/build/tests/clang_loops" "$PWD/build/tests/kernels" >build/loops/CTestTestfile.cmake
  run_tests build/loops
  passed=$tests_passed skipped=$tests_skipped
  seed=$(git rev-list --count HEAD 2>/dev/null || echo 2)
  # A random kernel takes seconds to compile, in each of three ways, so there are eight of them and not 24.
  counted tests/clang_loops/compare clang++-14 build/lib/libanyplace_clang_loops_14.so "$seed" 8
  tests_passed=$((tests_passed + passed)) tests_skipped=$skipped
}

# The protocols that rest on the order of memory or on the last look, in all their states.
stage_models() { counted models/check; }

# Every program of bench/run does what it says, we and the others: nothing is lost, and graphs keep their order. What it
# measures on a machine that does other things, too, is nobody's limit.
stage_bench() {
  rm -f build/.bare-root # with what this machine has from here on
  configure release build -DANYPLACE_BENCH=ON
  cmake --build build --target bench_speed --parallel "$jobs"
  bench/run --no-build --build build --quick
}

