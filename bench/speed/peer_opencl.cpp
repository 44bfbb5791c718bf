// SPDX-License-Identifier: Apache-2.0
//
// OpenCL on the CPU, with PoCL: a stream is an in-order queue, an event of another's is in the wait list of what has to
// wait. Each stream's kernels count what they run in a buffer of the stream's own.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstring>
#include <stdexcept>

#include "peer.h"

namespace bench {
namespace {

constexpr const char* source = R"(
kernel void empty(global ulong* count) { count[0] += 1; }
kernel void three(global ulong* count, float factor, int index) {
  ((global float*)(count + 2))[index & 3] = factor;
  count[0] += 1;
}
kernel void eight(global ulong* count, global const float* a, global const float* b, global float* c, float alpha,
                  float beta, int rows, int columns) {
  if (columns < rows) c[4 + (columns & 3)] = alpha * a[4] + beta * b[4];
  count[0] += 1;
}
kernel void part(global ulong* count, uint turns) {
  uint value = (uint)get_global_id(0);
  for (uint i = 0; i < turns; ++i) value = value * 1664525u + 1013904223u;
  count[1] = value;
  atomic_inc((global uint*)count);
}
kernel void longer(global ulong* count, uint turns) {
  uint value = (uint)count[0];
  for (uint i = 0; i < turns; ++i) value = value * 1664525u + 1013904223u;
  count[1] = value;
  count[0] += 1;
})";

void check(cl_int status, const char* call) {
  if (status != CL_SUCCESS) throw std::runtime_error(std::string(call) + " fails with " + std::to_string(status));
}

struct OpenCl {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;
  cl_uint turns = 0;  // of `longer` that take a microsecond

  cl_kernel kernel(const char* name) const {
    cl_int status = CL_SUCCESS;
    const cl_kernel made = clCreateKernel(program, name, &status);
    check(status, "clCreateKernel");
    return made;
  }
  cl_command_queue queue() const {
    cl_int status = CL_SUCCESS;
    const cl_command_queue made = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    return made;
  }
  cl_mem buffer(std::size_t bytes) const {
    cl_int status = CL_SUCCESS;
    const cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
    check(status, "clCreateBuffer");
    return made;
  }
};

/// One stream: a queue, and its own kernels.
class Queue {
 public:
  explicit Queue(const OpenCl& cl) : queue_(cl.queue()), counts_(cl.buffer(sizeof(cl_ulong) * 8)) {
    const cl_ulong none[8] = {};
    check(clEnqueueWriteBuffer(queue_, counts_, CL_TRUE, 0, sizeof(none), none, 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
    empty_ = cl.kernel("empty");
    longer_ = cl.kernel("longer");
    three_ = cl.kernel("three");
    eight_ = cl.kernel("eight");
    part_ = cl.kernel("part");
    check(clSetKernelArg(empty_, 0, sizeof(counts_), &counts_), "clSetKernelArg");
    check(clSetKernelArg(longer_, 0, sizeof(counts_), &counts_), "clSetKernelArg");
    set_turns(cl.turns);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    clFinish(queue_);
    clReleaseKernel(empty_);
    clReleaseKernel(longer_);
    clReleaseKernel(three_);
    clReleaseKernel(eight_);
    clReleaseKernel(part_);
    clReleaseMemObject(counts_);
    clReleaseCommandQueue(queue_);
  }

  void set_turns(cl_uint turns) { check(clSetKernelArg(longer_, 1, sizeof(turns), &turns), "clSetKernelArg"); }
  void submit(bool longer = false, const cl_event* after = nullptr) { enqueue(longer ? longer_ : empty_, 1, after); }
  void submit_three(cl_int index, const cl_event* after = nullptr) {
    const cl_float factor = 1.5F;
    set(three_, counts_, factor, index);
    enqueue(three_, 1, after);
  }
  void submit_eight(cl_int columns) {
    const cl_float alpha = 1.5F, beta = 0.5F;
    const cl_int rows = 16;
    set(eight_, counts_, counts_, counts_, counts_, alpha, beta, rows, columns);
    enqueue(eight_, 1);
  }
  void submit_grid(std::size_t parts, cl_uint turns) {
    set(part_, counts_, turns);
    enqueue(part_, parts);
  }
  void wait(cl_event event) { check(clEnqueueBarrierWithWaitList(queue_, 1, &event, nullptr), "clEnqueueBarrier"); }
  /// The caller's to release.
  cl_event record() {
    cl_event event = nullptr;
    check(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &event), "clEnqueueMarker");
    return event;
  }
  cl_command_queue handle() const { return queue_; }
  void flush() { check(clFlush(queue_), "clFlush"); }
  void finish() { check(clFinish(queue_), "clFinish"); }
  std::uint64_t ran() {
    cl_ulong count = 0;
    check(clEnqueueReadBuffer(queue_, counts_, CL_TRUE, 0, sizeof(count), &count, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    return count;
  }

 private:
  template <class... Values>
  static void set(cl_kernel kernel, const Values&... values) {
    cl_uint i = 0;
    (check(clSetKernelArg(kernel, i++, sizeof(values), &values), "clSetKernelArg"), ...);
  }
  void enqueue(cl_kernel kernel, std::size_t parts, const cl_event* after = nullptr) {
    const std::size_t one = 1;
    check(clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &parts, &one, after != nullptr ? 1 : 0, after, nullptr),
          "clEnqueueNDRangeKernel");
  }

  cl_command_queue queue_;
  cl_mem counts_;
  cl_kernel three_ = nullptr;
  cl_kernel eight_ = nullptr;
  cl_kernel part_ = nullptr;
  cl_kernel empty_ = nullptr;
  cl_kernel longer_ = nullptr;
};

class OpenClStreams final : public Streams {
 public:
  OpenClStreams(const OpenCl& cl, std::size_t count) : cl_(cl) {
    for (std::size_t i = 0; i < count; ++i) queues_.push_back(std::make_unique<Queue>(cl));
  }
  ~OpenClStreams() override {
    keep(nullptr);
    if (memory_ == nullptr) return;
    OpenClStreams::synchronize_all();
    clReleaseMemObject(memory_);
  }

  void submit(std::size_t stream, std::size_t operations) override {
    for (std::size_t i = 0; i < operations; ++i) queues_[stream]->submit();
  }
  void submit_in_turn(std::size_t operations) override {
    auto to = queues_.begin();
    for (std::size_t i = 0; i < operations; ++i) {
      (*to)->submit();
      if (++to == queues_.end()) to = queues_.begin();
    }
  }
  void submit_with(std::size_t stream, std::size_t operations, Arguments arguments) override {
    for (std::size_t i = 0; i < operations; ++i) {
      if (arguments == Arguments::three) {
        queues_[stream]->submit_three(static_cast<cl_int>(i));
      } else {
        queues_[stream]->submit_eight(static_cast<cl_int>(i));
      }
    }
  }
  void submit_one_with_and_synchronize(std::size_t stream) override {
    queues_[stream]->submit_three(1);
    queues_[stream]->finish();
  }
  void run_grid(std::uint32_t blocks, Body body) override {
    queues_[0]->submit_grid(blocks, body == Body::empty ? 0 : cl_.turns);
    queues_[0]->finish();
  }
  void submit_fills(std::size_t fills) override {
    make_memory();
    const cl_uchar value = 1;
    for (std::size_t i = 0; i < fills; ++i) {
      check(clEnqueueFillBuffer(queues_[0]->handle(), memory_, &value, sizeof(value), 0, 64, 0, nullptr, nullptr),
            "clEnqueueFillBuffer");
    }
  }
  void submit_copies(std::size_t copies) override {
    make_memory();
    for (std::size_t i = 0; i < copies; ++i) write_to(memory_);
  }
  void use_buffers(std::size_t count) override {
    std::vector<cl_mem> buffers(count);
    for (cl_mem& buffer : buffers) {
      buffer = cl_.buffer(4096);
      write_to(buffer);
    }
    for (const cl_mem buffer : buffers) clReleaseMemObject(buffer);
  }
  void use_events(std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) {
      const cl_event event = queues_[0]->record();
      queues_[1]->wait(event);
      clReleaseEvent(event);
    }
  }
  void synchronize_all() override {
    for (const auto& queue : queues_) queue->flush();
    for (const auto& queue : queues_) queue->finish();
  }
  void submit_one_and_synchronize(std::size_t stream) override {
    queues_[stream]->submit();
    queues_[stream]->finish();
  }
  void block(std::size_t stream) override {
    cl_int status = CL_SUCCESS;
    blocker_ = clCreateUserEvent(cl_.context, &status);
    check(status, "clCreateUserEvent");
    queues_[stream]->wait(blocker_);
  }
  void unblock(std::size_t) override {
    check(clSetUserEventStatus(blocker_, CL_COMPLETE), "clSetUserEventStatus");
    clReleaseEvent(blocker_);
  }

  void record(std::size_t stream, std::size_t records) override {
    for (std::size_t i = 0; i < records; ++i) keep(queues_[stream]->record());
  }
  std::size_t query(std::size_t questions) override {
    std::size_t complete = 0;
    for (std::size_t i = 0; i < questions; ++i) {
      cl_int status = CL_QUEUED;
      clGetEventInfo(recorded_, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
      complete += status == CL_COMPLETE;
    }
    return complete;
  }
  void submit_hops(std::size_t hops) override {
    for (std::size_t i = 0; i < hops; ++i) {
      const std::size_t from = i % 2;
      queues_[from]->submit();
      const cl_event event = queues_[from]->record();
      queues_[1 - from]->wait(event);
      clReleaseEvent(event);
    }
  }
  void submit_plan(const std::vector<Step>& plan, Body body, OrderCheck*) override {
    for (const Step& step : plan) {
      const cl_event event = step.after == Step::nothing ? nullptr : queues_[step.other]->record();
      if (body == Body::three_arguments) {
        queues_[step.stream]->submit_three(1, event != nullptr ? &event : nullptr);
      } else {
        queues_[step.stream]->submit(body == Body::microsecond, event != nullptr ? &event : nullptr);
      }
      if (event != nullptr) clReleaseEvent(event);
    }
  }

  std::uint64_t ran() override {
    std::uint64_t sum = 0;
    for (const auto& queue : queues_) sum += queue->ran();
    return sum;
  }

 private:
  void make_memory() {
    if (memory_ == nullptr) memory_ = cl_.buffer(64);
  }
  void write_to(cl_mem memory) {
    check(clEnqueueWriteBuffer(queues_[0]->handle(), memory, CL_FALSE, 0, sizeof(host_), host_, 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }
  /// The event that was recorded last, and no other.
  void keep(cl_event event) {
    if (recorded_ != nullptr) clReleaseEvent(recorded_);
    recorded_ = event;
  }

  const OpenCl& cl_;
  std::vector<std::unique_ptr<Queue>> queues_;
  cl_event blocker_ = nullptr;
  cl_event recorded_ = nullptr;
  cl_mem memory_ = nullptr;
  unsigned char host_[64] = {};
};

class OpenClCopy final : public Peer::Copy {
 public:
  OpenClCopy(const OpenCl& cl, std::size_t bytes) : queue_(cl.queue()), there_(cl.buffer(bytes)), host_(bytes, 1) {
    OpenClCopy::run();
  }
  ~OpenClCopy() override {
    clReleaseMemObject(there_);
    clReleaseCommandQueue(queue_);
  }
  void run() override {
    check(clEnqueueWriteBuffer(queue_, there_, CL_FALSE, 0, host_.size(), host_.data(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
    check(clFinish(queue_), "clFinish");
  }
  bool arrived() override {
    std::vector<unsigned char> back(host_.size());
    check(clEnqueueReadBuffer(queue_, there_, CL_TRUE, 0, back.size(), back.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    return back == host_;
  }

 private:
  cl_command_queue queue_;
  cl_mem there_;
  std::vector<unsigned char> host_;
};

class OpenClPeer final : public Peer {
 public:
  OpenClPeer() {
    find_device();
    cl_int status = CL_SUCCESS;
    cl_.context = clCreateContext(nullptr, 1, &cl_.device, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    const char* text = source;
    cl_.program = clCreateProgramWithSource(cl_.context, 1, &text, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    check(clBuildProgram(cl_.program, 1, &cl_.device, "", nullptr, nullptr), "clBuildProgram");
    calibrate();
  }
  ~OpenClPeer() override {
    clReleaseProgram(cl_.program);
    clReleaseContext(cl_.context);
  }

  std::string name() const override { return "pocl"; }
  std::string lacks(Feature feature) const override {
    if (feature == Feature::host_functions) return "has no functions of the host in a queue's order";
    if (feature == Feature::launches) return "has no command buffers";
    return {};
  }
  // Its kernels are compiled by OpenCL, and know nothing of OrderCheck.
  bool checks_order() const override { return false; }
  std::size_t slowness() const override { return 16; }
  std::unique_ptr<Streams> make_streams(std::size_t count) override {
    return std::make_unique<OpenClStreams>(cl_, count);
  }
  std::unique_ptr<Copy> make_copy(std::size_t bytes) override { return std::make_unique<OpenClCopy>(cl_, bytes); }

 private:
  void find_device() {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) count = 0;
    for (cl_uint i = 0; i < count && i < 16; ++i) {
      char name[256] = {};
      clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name) - 1, name, nullptr);
      if (std::strstr(name, "Portable Computing Language") == nullptr) continue;
      if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &cl_.device, nullptr) == CL_SUCCESS) return;
    }
    throw std::runtime_error("no platform of OpenCL is PoCL (Debian: apt-get install pocl-opencl-icd)");
  }

  /// How many turns make a microsecond.
  void calibrate() {
    constexpr cl_uint turns = 20'000'000;
    Queue queue(cl_);
    queue.set_turns(turns);
    queue.submit(true);
    queue.finish();
    const std::uint64_t start = ticks();
    queue.submit(true);
    queue.finish();
    cl_.turns = static_cast<cl_uint>(turns / (static_cast<double>(ticks() - start) * nanoseconds_per_tick() / 1000));
  }

  OpenCl cl_;
};

}  // namespace

std::unique_ptr<Peer> make_opencl() { return std::make_unique<OpenClPeer>(); }

}  // namespace bench
