// SPDX-License-Identifier: Apache-2.0
// Mutations of graphs: of what is in them, when their nodes run, and what an update changes.
#include "simple_graphs.h"

namespace anyplace::mutants {
namespace {

template <Flaw flaw>
void with(Table& table) {
  add_simple_graphs(table, flaw);
}

constexpr const char* captured = "graphs: nothing of a capture runs before a launch, and all of it at each launch";
constexpr const char* called = "graphs: a host function is called once at each launch, on a thread of the runtime's";
constexpr const char* of_earlier_work = "graphs: a launch waits for its stream's earlier work";
constexpr const char* one_by_one = "graphs: many launches behind each other all run, in their order";
constexpr const char* recorded = "graphs: a recorded event is complete when what it comes after is done";
constexpr const char* waited = "graphs: a node waits for the event's most recent record when the graph is launched";
constexpr const char* newer = "graph table: a newer core's longer structs describe the graph that today's would";
constexpr const char* narrow_bytes = "graphs: fills of bytes in each count from each address write that and no more";
constexpr const char* narrow_pairs =
    "graphs: fills of 16-bit numbers in each count from each address write that and no more";
constexpr const char* failed_kernel =
    "graph table: an update that fails at a kernel that is given an argument too many leaves the graph as it was, for "
    "launches before and after";
constexpr const char* failed_copy =
    "graph table: an update that fails at a copy to another device leaves the graph as it was, for launches before and "
    "after";

const Mutation mutations[] = {
    {"graphs_are_right", "graphs are launched node by node, which is right", "innocent: graphs.", with<Flaw::none>},

    // -- What is in a graph.
    {"graph_node_dropped", "a node in the middle of a graph is left out", captured, with<Flaw::node_dropped>},
    {"graph_last_node_dropped", "a graph is made without its last node",
     "graphs: copies go from the host, within the device, and to the host", with<Flaw::last_node_dropped>},
    {"graph_nodes_swapped", "a graph's last two nodes change places", captured, with<Flaw::nodes_swapped>},
    {"graph_stride_ignored", "nodes are taken for lying side by side",
     "graph table: nodes may lie 8 bytes more apart, and are the caller's again at once", with<Flaw::stride_ignored>},
    {"graph_copies_kept", "what describes a node's copy is read at the launch",
     "graph table: nodes may lie as long as a node apart, and are the caller's again at once",
     with<Flaw::copy_not_copied>},
    {"graph_stride_of_update_ignored", "an update takes the nodes for lying side by side", newer,
     with<Flaw::stride_of_update_ignored>},
    {"graph_desc_size_refused", "a description that is longer than today's is refused", newer,
     with<Flaw::desc_size_refused>},
    {"graph_copy_size_refused", "a node's copy that is longer than today's is refused", newer,
     with<Flaw::copy_size_refused>},
    {"graph_launch_size_refused", "a node's launch that is longer than today's is refused",
     "graph table: a newer core's longer launch describes the kernel that today's would",
     with<Flaw::launch_size_refused>},
    {"graphs_all_refused", "graphs are claimed, and each is refused as UNSUPPORTED",
     "graph table: a launch is behind the stream's earlier work and before its later work", with<Flaw::all_refused>},
    {"graphs_with_empty_nodes_refused", "graphs are claimed, and those with an empty node are refused",
     "graph table: a graph that was never launched leaves nothing behind", with<Flaw::empty_refused>},
    {"graph_arguments_kept", "a kernel's arguments are read at the launch",
     "graph table: a callable's arguments of any size are copied when the graph is made",
     with<Flaw::arguments_not_copied>},
    {"graph_row_missing", "a node's pitched copy lacks the last line",
     "graphs: a pitched copy of two lines on the device leaves what is between alone", with<Flaw::row_missing>},
    {"graph_pitch_ignored", "a node's pitched copy writes its lines one behind the other",
     "graphs: a pitched copy of a gap in the destination on the device leaves what is between alone",
     with<Flaw::pitch_ignored>},
    {"graph_fills_bytes", "a node's fill repeats the lowest byte of the number",
     "graphs: a fill writes 2999 32-bit numbers and nothing around", with<Flaw::fill_by_bytes>},
    {"graph_fill_too_short", "a node's fill takes the number of elements for one of bytes",
     "graphs: a fill writes 501 16-bit numbers and nothing around", with<Flaw::fill_too_short>},
    {"graph_fill_from_even_address", "an even number of narrow elements is filled from the even address before it",
     narrow_bytes, with<Flaw::fill_from_even_address>},
    {"graph_fill_of_pairs", "narrow elements are filled two by two, and an odd one is left out", narrow_pairs,
     with<Flaw::fill_of_pairs>},
    {"graph_fill_to_even_end", "narrow elements are filled two by two, and an odd one takes its neighbour along",
     narrow_pairs, with<Flaw::fill_to_even_end>},
    {"graph_fill_value_unmasked", "a narrow fill takes bits of the number that aren't its",
     "graph table: a fill takes the low bits of the number, and leaves the others alone",
     with<Flaw::fill_value_unmasked>},
    {"graph_grid_flat", "a node's kernel has a grid of one dimension",
     "graphs: a callable runs over its grid, with shared memory", with<Flaw::grid_flat>},
    {"graph_shared_memory_missing", "a node's kernel has no shared memory",
     "graphs: a callable runs over its grid, with shared memory", with<Flaw::no_shared_memory>},

    // -- When nodes run.
    {"graph_dependencies_ignored", "each second node waits for nothing",
     "graphs: a fill waits for the node that it comes after", with<Flaw::dependencies_ignored>},
    {"graph_one_dependency_counts", "a node waits for the first of those that it comes after",
     "graphs: a node waits for each of several that it comes after", with<Flaw::one_dependency_counts>},
    {"graph_calls_once", "a host function is called at the first launch alone", called, with<Flaw::called_once>},
    {"graph_calls_twice", "a host function is called twice at each launch", called, with<Flaw::called_twice>},
    {"graph_calls_on_the_callers_thread", "a host function is called by the thread that launches", called,
     with<Flaw::called_by_the_caller>},
    {"graph_calls_early", "a host function doesn't wait for what it comes after",
     "graphs: a host function waits for the node that it comes after", with<Flaw::called_early>},

    // -- Launches.
    {"graph_ahead_of_the_stream", "a launch doesn't wait for its stream's earlier work", of_earlier_work,
     with<Flaw::ahead_of_the_stream>},
    {"graph_behind_the_stream", "later work doesn't wait for a launch",
     "graphs: later work of the stream waits for its only node", with<Flaw::behind_the_stream>},
    {"graph_branch_left_behind", "later work waits for a graph's first branch alone",
     "graphs: later work of the stream waits for the second of two branches", with<Flaw::branch_left_behind>},
    {"graph_on_the_null_stream", "a launch is on the null stream, whichever was named", of_earlier_work,
     with<Flaw::on_the_null_stream>},
    {"graph_launched_once", "a graph ends with its first launch", captured, with<Flaw::launched_once>},
    {"graph_fifth_launch_lost", "of a graph that is launched again and again each fifth launch does nothing",
     one_by_one, with<Flaw::fifth_launch_lost>},
    {"graph_fifth_launch_twice", "of a graph that is launched again and again each fifth launch runs twice", one_by_one,
     with<Flaw::fifth_launch_twice>},
    {"graph_faults_of_the_first_stream", "all faults of a graph are those of the stream of its first launch",
     "graph table: the status that a kernel returns is reported with the cookie of the launch's stream",
     with<Flaw::faults_of_the_first_stream>},
    {"graph_ahead_of_the_null_stream", "a launch on a blocking stream passes by the null stream's work",
     "graphs: a launch on a blocking stream waits for earlier work of the default stream",
     with<Flaw::ahead_of_the_null_stream>},
    {"graph_of_null_ahead_of_blocking", "a launch on the null stream passes by the blocking streams' work",
     "graphs: a launch on the default stream waits for earlier work of a blocking stream",
     with<Flaw::null_ahead_of_blocking>},
    {"graph_of_null_ahead_of_every_blocking", "the same, where there are several blocking streams",
     "graphs: a launch on the default stream waits for every blocking stream", with<Flaw::null_ahead_of_blocking>},
    {"graph_apart_from_the_null_stream", "the null stream's work passes by a launch on a blocking stream",
     "graph table: work of the default stream waits for an earlier launch on a blocking stream",
     with<Flaw::apart_from_the_null_stream>},
    {"graph_of_null_apart_from_blocking", "a blocking stream's work passes by a launch on the null stream",
     "graph table: work of a blocking stream waits for an earlier launch on the default stream",
     with<Flaw::null_apart_from_blocking>},
    {"graph_branch_apart_from_the_null_stream", "the null stream's work waits for a launch's first branch alone",
     "graphs: work of the default stream waits for an earlier launch on a blocking stream, each branch of it",
     with<Flaw::branch_left_behind>},
    {"graph_of_any_stream_on_the_null_stream", "a launch waits for the null stream, whichever stream was named",
     "graphs: launches on a stream that isn't blocking pass by the default stream's work",
     with<Flaw::on_the_null_stream>},

    // -- Several devices.
    {"graph_peer_copy_ahead", "a node's copy between devices waits for nothing",
     "graphs: copies to another device and back are in their places among the nodes", with<Flaw::peer_copy_ahead>},
    {"graph_peer_copy_ahead_of_the_stream", "the same, where it is the only node",
     "graphs: a launch that copies to another device is in its stream's order", with<Flaw::peer_copy_ahead>},
    {"graph_peer_copy_left_behind", "what comes after a node's copy between devices doesn't wait for it",
     "graphs: copies to another device and back are in their places among the nodes",
     with<Flaw::peer_copy_left_behind>},
    {"graph_wait_for_other_device_ignored", "a node doesn't wait for an event of another device",
     "graphs: a node waits for the most recent record of another device's event",
     with<Flaw::wait_for_other_device_ignored>},
    {"graph_wait_of_creation_for_other_device", "a node waits for the record that it found when it was made",
     "graphs: a node waits for the most recent record of another device's event", with<Flaw::wait_of_creation>},
    {"graph_recorded_first_for_other_device", "what another device waits for is recorded where the graph begins",
     "graphs: another device waits for what a graph records, each time", with<Flaw::recorded_first>},
    {"graph_on_the_first_device", "a graph of any device is launched on the first",
     "graphs: graphs of two devices are each in the order of their own device's streams",
     with<Flaw::on_the_first_device>},

    // -- Updates.
    {"graph_update_ignored", "an update changes nothing",
     "graphs: copies change for later launches and not for earlier ones", with<Flaw::update_ignored>},
    {"graph_update_half", "an update changes the first half of the nodes",
     "graphs: fills change for later launches and not for earlier ones", with<Flaw::update_half>},
    {"graph_update_without_arguments", "an update leaves kernels their arguments",
     "graphs: callables' arguments change for later launches and not for earlier ones",
     with<Flaw::update_without_arguments>},
    {"graph_update_of_earlier_launches", "an update changes launches that are pending",
     "graphs: fills change for later launches and not for earlier ones", with<Flaw::update_of_earlier_launches>},
    {"graph_update_without_peer_copies", "an update leaves copies between devices what they were",
     "graphs: copies between devices change for later launches and not for earlier ones",
     with<Flaw::update_without_peer_copies>},
    {"graph_update_without_records", "an update leaves nodes the events that they record",
     "graphs: later launches record the event of the update, and earlier ones their own",
     with<Flaw::update_without_records>},
    {"graph_update_without_waits", "an update leaves nodes the events that they wait for",
     "graphs: later launches wait for the event of the update, and earlier ones for theirs",
     with<Flaw::update_without_waits>},
    {"graph_failed_update_half", "an update that fails half-way leaves the first nodes changed", failed_kernel,
     with<Flaw::failed_update_half>},
    {"graph_failed_update_whole", "an update that fails is taken all the same", failed_copy,
     with<Flaw::failed_update_whole>},
    {"graph_failed_update_empties", "an update that fails leaves a graph that does nothing", failed_kernel,
     with<Flaw::failed_update_empties>},

    // -- Events.
    {"graph_event_not_recorded", "a node's event isn't recorded", recorded, with<Flaw::not_recorded>},
    {"graph_event_recorded_first", "a node's event is recorded where the graph begins", recorded,
     with<Flaw::recorded_first>},
    {"graph_event_recorded_last", "a node's event is recorded where the graph ends",
     "graphs: an event is recorded at each launch, and in its place", with<Flaw::recorded_last>},
    {"graph_wait_ignored", "a node doesn't wait for its event", waited, with<Flaw::wait_ignored>},
    {"graph_wait_of_creation", "a node waits for the record that the event had when the graph was made", waited,
     with<Flaw::wait_of_creation>},

    // -- The end, and the table.
    {"graphs_leak", "a graph that is destroyed is kept",
     "graph table: graphs that are made, updated, launched and destroyed leave nothing behind",
     with<Flaw::destroyed_leaks>},
    {"graphs_leak_unless_launched", "a graph that was never launched is kept",
     "graph table: a graph that was never launched leaves nothing behind", with<Flaw::unlaunched_leaks>},
    {"graph_updates_leak", "what an update replaces is kept",
     "graph table: graphs that are made, updated, launched and destroyed leave nothing behind",
     with<Flaw::update_leaks>},
    {"graph_entry_missing", "of the entries for graphs one is null", "refused: without graph_launch",
     [](Table& table) {
       add_simple_graphs(table, Flaw::none);
       table.graph_launch = nullptr;
     }},
    {"graphs_without_entries", "graphs are claimed, and there are no entries for them", "refused: lacks the entry",
     [](Table& table) {
       add_simple_graphs(table, Flaw::none);
       table.graph_create = nullptr;
       table.graph_update = nullptr;
       table.graph_launch = nullptr;
       table.graph_destroy = nullptr;
     }},
};

}  // namespace

std::span<const Mutation> graph_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
