// SPDX-License-Identifier: Apache-2.0
//
// Graphs as simple as they can be, over a table without them: a launch submits the nodes in the order of their indices,
// one by one, to the stream. It has a place for each way to be wrong that graphs.cpp lists.
#pragma once

#include <memory>
#include <vector>

#include "mutation.h"

namespace anyplace::mutants {

enum class Flaw {
  none,
  // -- What is in a graph.
  node_dropped,
  last_node_dropped,
  nodes_swapped,
  stride_ignored,
  stride_of_update_ignored,
  desc_size_refused,
  copy_size_refused,
  launch_size_refused,
  all_refused,
  empty_refused,
  copy_not_copied,
  arguments_not_copied,
  // -- Dependencies.
  dependencies_ignored,
  one_dependency_counts,
  // -- Copies, fills and kernels.
  row_missing,
  pitch_ignored,
  fill_by_bytes,
  fill_too_short,
  fill_from_even_address,
  fill_of_pairs,
  fill_to_even_end,
  fill_value_unmasked,
  grid_flat,
  no_shared_memory,
  // -- Host functions.
  called_once,
  called_twice,
  called_by_the_caller,
  called_early,
  // -- Launches.
  ahead_of_the_stream,
  behind_the_stream,
  branch_left_behind,
  on_the_null_stream,
  launched_once,
  fifth_launch_lost,
  fifth_launch_twice,
  faults_of_the_first_stream,
  ahead_of_the_null_stream,
  null_ahead_of_blocking,
  apart_from_the_null_stream,
  null_apart_from_blocking,
  // -- Several devices.
  peer_copy_ahead,
  peer_copy_left_behind,
  wait_for_other_device_ignored,
  on_the_first_device,
  // -- Updates.
  update_ignored,
  update_half,
  update_without_arguments,
  update_of_earlier_launches,
  update_without_peer_copies,
  update_without_records,
  update_without_waits,
  failed_update_half,
  failed_update_whole,
  failed_update_empties,
  // -- Events.
  not_recorded,
  recorded_first,
  recorded_last,
  wait_ignored,
  wait_of_creation,
  // -- The end.
  destroyed_leaks,
  unlaunched_leaks,
  update_leaks,
};

/// Gives the table these graphs, with that flaw.
void add_simple_graphs(Table& table, Flaw flaw);

}  // namespace anyplace::mutants
