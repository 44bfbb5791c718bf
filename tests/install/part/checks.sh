# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # check, says, refuses and the variables are tests/install/run's
#
# anyplace as a part of another project (add_subdirectory). Sourced by tests/install/run: it builds the library once more.

source_tree=$(cd "$here/../.." && pwd)
as_part=$work/as_part
# What the parent's folders have is of the parent's alone.
only_own_files() {
  local found
  found=$(find "$as_part" -mindepth 1 -maxdepth 1 ! -name 'CMake*' ! -name 'build.ninja' ! -name '.ninja*' ! -name 'cmake_install.cmake' -printf '%f\n' | sort | tr '\n' ' ')
  [[ $found == "app backend device_layer " ]] || {
    echo "there is: $found"
    return 1
  }
}
installs_only_hello() {
  cmake --build "$as_part" --target hello && cmake --install "$as_part" --prefix "$work/of_parent" &&
    [[ $(cd "$work/of_parent" && find . -type f) == ./bin/hello ]]
}
has_no_plain_target() {
  local names plain
  names=$(ninja -C "$as_part" -t targets all | sed -n 's/^\([A-Za-z_0-9]*\): phony$/\1/p')
  grep -qx anyplace <<<"$names" || {
    echo "among the targets isn't even anyplace"
    return 1
  }
  # CMake's own, and the parent's.
  plain=$(grep -vE '^(anyplace.*|cmake_.*|all|edit_cache|help|install|list_install_components|rebuild_cache|test|app|hello|devices|rtc|sweep|stress|conformance_runner)$' <<<"$names") || return 0
  echo "plain names: $plain"
  return 1
}

configure_part() { cmake -S "$here/part" -B "$1" -G Ninja -DANYPLACE_SOURCE="$source_tree" -DANYPLACE_BACKEND_HIP=OFF "${@:2}"; }
check "a project with targets of our names has anyplace as a part" configure_part "$as_part"
check "an application that is built alone" cmake --build "$as_part" --target app
check "finds its plugin" says "42 on cpu_sim:0" from_elsewhere "$as_part/app"
check "a part writes into its own folder" only_own_files
check "a part installs nothing unasked" installs_only_hello
check "no target of a part has a plain name" has_no_plain_target
check "a backend from a folder of the parent's" cmake --build "$as_part" --target anyplace_backend_acme
check "a parent in C++17 is told what is needed" refuses configure_part "$work/cxx17" -DCMAKE_CXX_STANDARD=17
