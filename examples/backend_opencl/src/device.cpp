// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <utility>

#include "watcher.h"

namespace opencl_backend {

namespace {

template <class T>
T value_of(cl_device_id id, cl_device_info what) {
  T value{};
  check(api().GetDeviceInfo(id, what, sizeof(value), &value, nullptr), "clGetDeviceInfo");
  return value;
}

}  // namespace

Device::Device(anyplace::backend::Host host, cl_device_id id)
    : host_(host),
      id_(id),
      memory_(value_of<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE), value_of<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE)) {
}

void Device::lose(cl_int code) noexcept {
  cl_int before = CL_SUCCESS;
  if (lost_code_.compare_exchange_strong(before, code)) Watcher::instance().give_up(*this);
}

void Device::refuse_lost() const {
  refuse(ANYPLACE_STATUS_DEVICE_LOST,
         "a command failed while it ran, after which OpenCL promises nothing of the context it ran in", lost_code_);
}

const Context& Device::context() {
  if (lost()) refuse_lost();
  context_once_.run([this] {
    cl_int code = CL_SUCCESS;
    context_ = Context(api().CreateContext(nullptr, 1, &id_, nullptr, nullptr, &code));
    check(code, "clCreateContext");
  });
  return context_;
}

// ---- Streams

Queue Device::make_queue(std::int32_t priority) {
  // Lower numbers run first here; OpenCL has three words for it.
  const cl_queue_properties word = priority < 0   ? CL_QUEUE_PRIORITY_HIGH_KHR
                                   : priority > 0 ? CL_QUEUE_PRIORITY_LOW_KHR
                                                  : CL_QUEUE_PRIORITY_MED_KHR;
  const cl_queue_properties plain[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const cl_queue_properties ranked[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_PRIORITY_KHR, word, 0};
  cl_int code = CL_SUCCESS;
  Queue queue(api().CreateCommandQueueWithProperties(context().get(), id_, priority == 0 ? plain : ranked, &code));
  check(code, "clCreateCommandQueueWithProperties");
  return queue;
}

Stream& Device::make_stream(const anyplace_stream_desc& desc, StreamKind kind) {
  return own(std::make_shared<Stream>(*this, make_queue(desc.priority), kind, false));
}

Stream& Device::adopt_stream(cl_command_queue native, const anyplace_stream_desc& desc) {
  cl_device_id device = nullptr;
  cl_context of = nullptr;
  cl_command_queue_properties properties = 0;
  check(api().GetCommandQueueInfo(native, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr), "clGetCommandQueueInfo");
  check(api().GetCommandQueueInfo(native, CL_QUEUE_CONTEXT, sizeof(of), &of, nullptr), "clGetCommandQueueInfo");
  check(api().GetCommandQueueInfo(native, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, nullptr),
        "clGetCommandQueueInfo");
  if (device != id_ || of != context().get()) {
    refuse(
        ANYPLACE_STATUS_INVALID_ARGUMENT,
        "the command queue is of another device or context; make it in the context that Device::native_context gives");
  }
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the command queue is out of order, and a stream is in order");
  }
  if ((properties & CL_QUEUE_PROFILING_ENABLE) == 0) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "the command queue has no CL_QUEUE_PROFILING_ENABLE, which timed events need");
  }
  retain(native);
  const StreamKind kind = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0 ? StreamKind::blocking : StreamKind::independent;
  return own(std::make_shared<Stream>(*this, Queue(native), kind, true));
}

Stream& Device::own(std::shared_ptr<Stream> stream) {
  sweep();
  const std::lock_guard lock(streams_mutex_);
  streams_.push_back({std::move(stream)});
  Stream& owned = *streams_.back().stream;
  try {
    null_rule_.add(owned);
  } catch (...) {
    streams_.pop_back();
    throw;
  }
  return owned;
}

void Device::retire(Stream& stream) {
  {
    const std::lock_guard lock(streams_mutex_);
    for (Owned& owned : streams_) owned.retired = owned.retired || owned.stream.get() == &stream;
  }
  sweep();
}

void Device::sweep() {
  if (lost()) return;
  std::vector<Owned> over;  // destroyed after the lock: the driver's releases are none of its business
  const std::lock_guard lock(streams_mutex_);
  const auto is_over = [](const Owned& owned) { return owned.retired && owned.stream->is_idle(); };
  const auto first = std::partition(streams_.begin(), streams_.end(), [&](const Owned& o) { return !is_over(o); });
  std::for_each(first, streams_.end(), [this](const Owned& o) { null_rule_.remove(*o.stream); });
  std::move(first, streams_.end(), std::back_inserter(over));
  streams_.erase(first, streams_.end());
}

std::vector<std::shared_ptr<Stream>> Device::streams() {
  const std::lock_guard lock(streams_mutex_);
  std::vector<std::shared_ptr<Stream>> streams;
  for (const Owned& owned : streams_) streams.push_back(owned.stream);
  return streams;
}

bool Device::synchronize(const Deadline& deadline) {
  // First all ends, then the waits: what is submitted meanwhile may depend on our return.
  std::vector<Record> ends;
  for (const std::shared_ptr<Stream>& stream : streams()) ends.push_back(stream->last());
  for (const Record& end : ends) {
    if (!end.stream->wait_until_over(end, deadline)) return false;
  }
  sweep();
  return true;
}

Device::ClockReading Device::read_clock() {
  const auto ticks = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const Queue queue = make_queue(0);
  EventRef marker;
  ClockReading reading;
  const std::int64_t before = ticks();
  check(api().EnqueueMarkerWithWaitList(queue.get(), 0, nullptr, marker.out()), "clEnqueueMarkerWithWaitList");
  wait_for_event(marker, Deadline(ANYPLACE_FOREVER));
  reading.took = ticks() - before;
  reading.host = before + reading.took / 2;
  reading.device = end_of(marker);
  return reading;
}

/// Measured anew each time: the driver's clock need not be one that is kept in step with the host's. Of a few readings
/// the quickest counts, since a thread may be stopped in the middle of one.
std::int64_t Device::clock_offset() {
  ClockReading best = read_clock();
  for (int i = 0; i < 3; ++i) {
    const ClockReading reading = read_clock();
    if (reading.took < best.took) best = reading;
  }
  return best.host - best.device;
}

void Device::close() {
  host_thread_.stop();
  if (lost()) return;
  const std::lock_guard lock(streams_mutex_);
  streams_.clear();
  // Managed memory that nobody freed can still be read, and goes with its context.
  if (memory_.is_empty()) context_ = Context();
}

// ---- Properties

std::string Device::text(cl_device_info what) const {
  std::size_t bytes = 0;
  if (api().GetDeviceInfo(id_, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  check(api().GetDeviceInfo(id_, what, bytes, text.data(), nullptr), "clGetDeviceInfo");
  text.resize(text.find('\0') == std::string::npos ? bytes : text.find('\0'));
  return text;
}

template <class T>
T Device::value(cl_device_info what) const {
  return value_of<T>(id_, what);
}

bool Device::has_extension(const std::string& name) const {
  std::istringstream extensions(text(CL_DEVICE_EXTENSIONS));
  using Word = std::istream_iterator<std::string>;
  return std::find(Word(extensions), Word(), name) != Word();
}

bool Device::has_managed_memory() const {
  return (value<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES) & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
}

std::string Device::spirv_versions() const {
  // A driver older than OpenCL 2.1 has the query, under the same number, with cl_khr_il_program.
  const std::string versions = text(CL_DEVICE_IL_VERSION);
  return versions.find("SPIR-V_") == std::string::npos ? std::string() : versions;
}

/// A driver before OpenCL 3.0 doesn't know the query. Those that take SPIR-V have such pointers.
bool Device::has_generic_pointers() const {
  cl_bool has = CL_TRUE;
  const cl_int code = api().GetDeviceInfo(id_, CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, sizeof(has), &has, nullptr);
  return code != CL_SUCCESS || has == CL_TRUE;
}

decltype(Api::CreateProgramWithIL) Device::program_with_il() const {
  if (spirv_versions().empty() || !has_generic_pointers()) return nullptr;
  if (has_extension("cl_khr_il_program")) {
    void* const function = api().GetExtensionFunctionAddressForPlatform(value<cl_platform_id>(CL_DEVICE_PLATFORM),
                                                                        "clCreateProgramWithILKHR");
    if (function != nullptr) return reinterpret_cast<decltype(Api::CreateProgramWithIL)>(function);
  }
  return api().CreateProgramWithIL;
}

std::string Device::uuid() const {
  if (!has_extension("cl_khr_device_uuid")) return {};
  struct Bytes {
    unsigned char at[CL_UUID_SIZE_KHR];
  };
  const Bytes bytes = value<Bytes>(CL_DEVICE_UUID_KHR);
  std::string text;
  for (int i = 0; i < CL_UUID_SIZE_KHR; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", unsigned{bytes.at[i]});
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

std::string Device::pci() const {
  if (!has_extension("cl_khr_pci_bus_info")) return {};
  const auto at = value<cl_device_pci_bus_info_khr>(CL_DEVICE_PCI_BUS_INFO_KHR);
  char text[64];
  std::snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", at.pci_domain, at.pci_bus, at.pci_device, at.pci_function);
  return text;
}

void Device::add_facts(anyplace_device_properties& out) const {
  constexpr std::uint64_t mega = 1'000'000;
  out.clock_hz = value<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY) * mega;
  out.l2_cache_bytes = value<cl_ulong>(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  // An allocation has room to be aligned in: memory.cpp.
  const auto largest = value<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  out.max_allocation = largest > address_alignment ? largest - address_alignment : 0;
  out.multiprocessors = value<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);
  const auto feature = [&out](std::uint32_t which, bool there) {
    out.features_known |= which;
    if (there) out.features |= which;
  };
  feature(ANYPLACE_FEATURE_FLOAT16, has_extension("cl_khr_fp16"));
  feature(ANYPLACE_FEATURE_FLOAT64, value<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG) != 0);
  feature(ANYPLACE_FEATURE_INT64_ATOMICS, has_extension("cl_khr_int64_base_atomics"));
  feature(ANYPLACE_FEATURE_UNIFIED_ADDRESSING, true);  // which shared virtual memory is
}

void Device::properties(anyplace_device_properties& out) const {
  using anyplace::backend::set_text;
  const auto capability = [&out](int bit) { out.capabilities |= std::uint64_t{1} << bit; };
  capability(ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS);
  capability(ANYPLACE_CAPABILITY_BIT_BLOCKING_STREAMS);
  capability(ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS);
  capability(ANYPLACE_CAPABILITY_BIT_GATES);
  capability(ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY);
  capability(ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES);
  capability(ANYPLACE_CAPABILITY_BIT_STREAM_FROM_NATIVE);
  if (has_managed_memory()) capability(ANYPLACE_CAPABILITY_BIT_MANAGED_MEMORY);
  if (value<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE) == CL_TRUE) {
    capability(ANYPLACE_CAPABILITY_BIT_MODULES);
    out.image_formats = std::uint64_t{1} << ANYPLACE_IMAGE_OPENCL_C;
    if (program_with_il() != nullptr) out.image_formats |= std::uint64_t{1} << ANYPLACE_IMAGE_SPIRV;
  }
  if (has_priorities()) {
    capability(ANYPLACE_CAPABILITY_BIT_PRIORITIES);
    out.least_priority = 1;
    out.greatest_priority = -1;
  }
  out.compute_units = value<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);
  out.total_memory = memory_.total();
  out.address_alignment = address_alignment;
  out.max_shared_bytes = value<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE);
  std::vector<std::size_t> sizes(value<cl_uint>(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS));
  check(api().GetDeviceInfo(id_, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizes.size() * sizeof(sizes[0]), sizes.data(), nullptr),
        "clGetDeviceInfo");
  const std::size_t threads = value<std::size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE);
  out.max_threads_per_block = static_cast<std::uint32_t>(std::min<std::size_t>(threads, UINT32_MAX));
  for (std::size_t i = 0; i < 3; ++i) {
    // A number of work items is a size_t of the device's.
    out.max_block[i] = static_cast<std::uint32_t>(std::min<std::size_t>(sizes[i], UINT32_MAX));
    out.max_grid[i] = value<cl_uint>(CL_DEVICE_ADDRESS_BITS) == 64 ? INT32_MAX : UINT32_MAX / out.max_block[i];
  }
  set_text(out.name, text(CL_DEVICE_NAME));
  set_text(out.vendor, text(CL_DEVICE_VENDOR));
  set_text(out.architecture, text(CL_DEVICE_OPENCL_C_VERSION));
  set_text(out.driver_version, text(CL_DRIVER_VERSION));
  set_text(out.uuid, uuid());
  set_text(out.pci, pci());
  add_facts(out);
}

}  // namespace opencl_backend
