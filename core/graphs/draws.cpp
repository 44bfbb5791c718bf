// SPDX-License-Identifier: Apache-2.0
#include "graphs/draws.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/drawing.h"
#include "random/device_kernels.h"

namespace anyplace::detail {

namespace {

/// A copy of a launch with two arguments of its own: the address of seed and offset, and the launch's place behind that
/// offset. The other arguments are those of the launch `of`.
struct DrawingLaunch {
  std::shared_ptr<const anyplace_launch> of;
  anyplace_launch launch;
  std::vector<anyplace_argument> arguments;
  std::uint64_t state;
  std::uint64_t offset;
};

void write_numbers(StreamState& stream, anyplace_address to, GeneratorState::Numbers numbers, const char* operation) {
  const KernelView kernel = random_kernel(*stream.device, "set_state", operation);
  const std::array<anyplace_argument, 3> arguments{{
      {ANYPLACE_ARGUMENT_ADDRESS, sizeof(to), &to},
      {ANYPLACE_ARGUMENT_VALUE, sizeof(numbers.seed), &numbers.seed},
      {ANYPLACE_ARGUMENT_VALUE, sizeof(numbers.offset), &numbers.offset},
  }};
  anyplace_launch launch{};
  launch.struct_size = sizeof(launch);
  for (int i = 0; i < 3; ++i) launch.grid[i] = launch.block[i] = 1;
  launch.argument_count = static_cast<std::uint32_t>(arguments.size());
  launch.argument_stride = sizeof(anyplace_argument);
  launch.arguments = arguments.data();
  launch_drawing(stream.id, kernel.id(), launch, nullptr, operation);
}

}  // namespace

GraphDraws::Source& GraphDraws::source_of(const RandomDraw& draw, DeviceState& on, const char* operation) {
  const auto is_its = [&](const Source& source) { return source.generator == draw.generator; };
  const auto found = std::find_if(sources_.begin(), sources_.end(), is_its);
  if (found != sources_.end()) return *found;
  Source source;
  source.generator = draw.generator;
  source.device = &on;
  HelperStream helper = take_helper_stream(on, operation);
  auto memory = std::make_unique<BufferState>();
  memory->device = &on;
  memory->bytes = device_state_bytes;
  allocate_for(*memory, *helper, {}, operation);
  memory->home = streams().pin_again(helper->id, operation);
  source.memory.reset(memory.release());
  if (&on == &device_) {
    // The memory is there in the order of that stream, and launches come on others, which don't wait for it.
    static_cast<void>(synchronize(*helper, ANYPLACE_FOREVER, operation));
  } else {
    source.helper = std::move(helper);
    source.before = make_event(device_, 0, operation);
    source.behind = make_event(on, 0, operation);
  }
  sources_.push_back(std::move(source));
  return sources_.back();
}

LaunchWork GraphDraws::add(const LaunchWork& work, DeviceState& on, const char* operation) {
  Source& source = source_of(*work.draw, on, operation);
  auto made = std::make_shared<DrawingLaunch>();
  made->of = work.launch;
  made->launch = *work.launch;
  made->arguments.assign(work.launch->arguments, work.launch->arguments + work.launch->argument_count);
  made->state = source.memory->address;
  made->offset = source.words;
  made->arguments[state_argument].value = &made->state;
  made->arguments[offset_argument].value = &made->offset;
  made->launch.arguments = made->arguments.data();
  source.words += work.draw->words;
  LaunchWork drawing = work;
  drawing.launch = std::shared_ptr<const anyplace_launch>(made, &made->launch);
  return drawing;
}

void GraphDraws::submit(StreamState& stream, const char* operation) {
  for (Source& source : sources_) {
    const GeneratorState::Numbers numbers = source.generator->take(source.words);
    if (source.helper) {
      submit_elsewhere(source, numbers, stream, operation);
    } else {
      write_numbers(stream, source.memory->address, numbers, operation);
    }
  }
}

void GraphDraws::submit_elsewhere(Source& source, GeneratorState::Numbers numbers, StreamState& stream,
                                  const char* operation) {
  record_behind_work(*source.before, stream, operation);
  wait(*source.helper, *source.before, operation);
  write_numbers(*source.helper, source.memory->address, numbers, operation);
  record_behind_work(*source.behind, *source.helper, operation);
  wait(stream, *source.behind, operation);
}

std::shared_ptr<const GraphContent> flatten_for_launch(const GraphContent& content, const char* operation) {
  const std::shared_ptr<GraphContent> flat = flatten(content);
  std::shared_ptr<GraphDraws> draws;
  for (Node& node : flat->list.nodes) {
    auto* const launch = std::get_if<LaunchWork>(&node.work);
    if (launch == nullptr || launch->draw == nullptr) continue;
    if (draws == nullptr) draws = std::make_shared<GraphDraws>(*flat->device);
    *launch = draws->add(*launch, *node.device, operation);
  }
  flat->draws = std::move(draws);
  return flat;
}

}  // namespace anyplace::detail
