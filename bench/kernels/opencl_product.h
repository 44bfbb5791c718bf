// SPDX-License-Identifier: Apache-2.0
//
// The tiled product of speed/kernels/speed.cu in OpenCL C, on the first OpenCL platform that there is: PoCL, where
// loops_cost is run with its ICD alone. Without OpenCL's headers there is none.
#pragma once

#include <string>
#include <vector>

#if defined(LOOPS_HAVE_OPENCL)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

namespace bench {

class OpenClProduct {
 public:
#if defined(LOOPS_HAVE_OPENCL)
  /// Null if there is none, with the reason.
  static OpenClProduct* make(const float* numbers, int size, std::string& reason) {
    auto* const made = new OpenClProduct(size);  // for as long as the program runs
    reason = made->prepare(numbers);
    return reason.empty() ? made : nullptr;
  }
  std::string name() const { return name_; }
  void run() {
    const std::size_t global[] = {static_cast<std::size_t>(size_), static_cast<std::size_t>(size_)}, local[] = {16, 16};
    clEnqueueNDRangeKernel(queue_, kernel_, 2, nullptr, global, local, 0, nullptr, nullptr);
    clFinish(queue_);
  }
  std::vector<float> result() {
    std::vector<float> back(static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_));
    clEnqueueReadBuffer(queue_, made_, CL_TRUE, 0, back.size() * sizeof(float), back.data(), 0, nullptr, nullptr);
    return back;
  }

 private:
  static constexpr const char* source = R"(
kernel void multiply(global const float* a, global const float* b, global float* c, int size) {
  local float of_a[16][16], of_b[16][16];
  const int x = get_local_id(0), y = get_local_id(1);
  const int row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
  float sum = 0;
  for (int step = 0; step < size; step += 16) {
    of_a[y][x] = a[row * size + step + x];
    of_b[y][x] = b[(step + y) * size + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) sum += of_a[y][k] * of_b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * size + column] = sum;
})";
  explicit OpenClProduct(int size) : size_(size) {}
  std::string prepare(const float* numbers) {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS)
      return "there is no OpenCL platform (Debian: apt-get install pocl-opencl-icd)";
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) return "it has no device";
    char version[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version) - 1, version, nullptr);
    name_ = version;
    cl_int status = CL_SUCCESS;
    const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    queue_ = clCreateCommandQueue(context, device, 0, &status);
    const char* text = source;
    const cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &status);
    if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS)
      return "it doesn't compile the product";
    kernel_ = clCreateKernel(program, "multiply", &status);
    const std::size_t bytes = static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_) * sizeof(float);
    const cl_mem there =
        clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, const_cast<float*>(numbers), &status);
    made_ = clCreateBuffer(context, CL_MEM_WRITE_ONLY, bytes, nullptr, &status);
    for (cl_uint i = 0; i < 2; ++i) clSetKernelArg(kernel_, i, sizeof(there), &there);
    clSetKernelArg(kernel_, 2, sizeof(made_), &made_);
    clSetKernelArg(kernel_, 3, sizeof(size_), &size_);
    return status == CL_SUCCESS ? "" : "it has no memory";
  }

  int size_;
  std::string name_;
  cl_command_queue queue_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem made_ = nullptr;
#else
  static OpenClProduct* make(const float*, int, std::string& reason) {
    reason = "this was built without OpenCL's headers (Debian: apt-get install opencl-headers ocl-icd-opencl-dev)";
    return nullptr;
  }
  std::string name() const { return ""; }
  void run() {}
  std::vector<float> result() { return {}; }
#endif
};

}  // namespace bench
