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
    {"graph_beside_the_null_stream", "a launch on a stream that is idle doesn't keep the rule of the null stream",
     "graphs: launches keep the rule of the null stream and blocking streams, both ways",
     with<Flaw::beside_the_null_stream>},
    {"graph_launched_once", "a graph ends with its first launch", captured, with<Flaw::launched_once>},
    {"graph_fifth_launch_lost", "of a graph that is launched again and again each fifth launch does nothing",
     one_by_one, with<Flaw::fifth_launch_lost>},
    {"graph_fifth_launch_twice", "of a graph that is launched again and again each fifth launch runs twice", one_by_one,
     with<Flaw::fifth_launch_twice>},
    {"graph_faults_of_the_first_stream", "all faults of a graph are those of the stream of its first launch",
     "graph table: what a kernel returns is told with the cookie of the launch's stream",
     with<Flaw::faults_of_the_first_stream>},

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
