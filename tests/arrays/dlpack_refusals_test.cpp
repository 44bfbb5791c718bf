// SPDX-License-Identifier: Apache-2.0
// Tensors that can't be taken: what is said, and that their deleter is called once.
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "anyplace/dlpack.h"
#include "support/errors.h"

namespace dlpack_refusals_test {

using namespace anyplace;

/// A tensor that is fine until a case changes it.
struct Tensor {
  std::vector<std::int32_t> memory = std::vector<std::int32_t>(16);
  std::int64_t shape[2] = {4, 4};
  std::int64_t strides[2] = {4, 1};
  int deleted = 0;
  DLManagedTensorVersioned tensor{};

  Tensor() {
    tensor.version = {DLPACK_MAJOR_VERSION, 0};
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Tensor*>(self->manager_ctx)->deleted; };
    tensor.dl_tensor = {memory.data(), {kDLCPU, 0}, 2, {kDLInt, 32, 1}, shape, strides, 0};
  }
};

/// The error of taking a tensor that `change` made bad.
template <class Change>
std::string refusal(const Change& change, const dlpack::ImportOptions& options = {}) {
  Tensor made;
  change(made);
  const Error error =
      test::required_error(ErrorCode::invalid_argument, [&] { dlpack::from_dlpack(&made.tensor, options); });
  CHECK(made.deleted == 1);
  return error.what();
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("a good tensor is taken, and deleted when its array goes") {
  Tensor made;
  {
    const Array array = dlpack::from_dlpack(&made.tensor);
    CHECK(made.deleted == 0);
  }
  CHECK(made.deleted == 1);
}

TEST_CASE("null is refused") {
  CHECK(test::code_of([] { dlpack::from_dlpack(nullptr); }) == ErrorCode::invalid_argument);
}

TEST_CASE("another major version is refused, and nothing else of it is read") {
  const std::string text = refusal([](Tensor& made) {
    made.tensor.version = {DLPACK_MAJOR_VERSION + 1, 0};
    made.tensor.dl_tensor.shape = reinterpret_cast<std::int64_t*>(8);
  });
  CHECK(has(text, "DLPack 2.0"));
  CHECK(has(text, "max_version"));
}

TEST_CASE("lanes and types that have no DType are refused by name") {
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.dtype.lanes = 4; }), "4 lanes"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.dtype = {17, 4, 1}; }), "float4_e2m1fn"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.dtype = {8, 8, 1}; }), "float8_e4m3"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.dtype = {kDLInt, 4, 1}; }), "int with 4 bits"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.dtype = {kDLOpaqueHandle, 64, 1}; }), "opaque handle"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.dtype = {99, 8, 1}; }), "type code 99"));
}

TEST_CASE("device types that no backend has, or that aren't the device asked for, are refused") {
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.device.device_type = kDLMetal; }), "device type 8"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.device.device_type = kDLExtDev; }), "kDLExtDev"));
  CHECK(has(refusal([](Tensor&) {}, {.device = Device("cpu_sim:0")}), "memory of the host"));
  const Stream stream(Device("cpu_sim:0"));
  const Array array(stream, DType::u8, {4});
  CHECK(test::code_of([&] { dlpack::from_dlpack(dlpack::to_dlpack(array), {.device = Device("cpu_sim:1")}); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("misaligned, null and shapeless memory is refused") {
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.byte_offset = 2; }), "multiple of 4"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.data = nullptr; }), "null"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.shape = nullptr; }), "no shape"));
  CHECK(has(refusal([](Tensor& made) { made.tensor.dl_tensor.ndim = -1; }), "-1 dimensions"));
  CHECK(has(refusal([](Tensor& made) {
              made.tensor.dl_tensor.ndim = 0;
              made.tensor.dl_tensor.byte_offset = UINT64_MAX;
            }),
            "address space"));
  CHECK(has(refusal([](Tensor& made) { made.shape[0] = -4; }), "negative extent"));
  CHECK(has(refusal([](Tensor& made) { made.strides[0] = INT64_MAX; }), "2^63"));
}

TEST_CASE("a null array, and a stream for a consumer on the host, aren't exported") {
  CHECK(test::code_of([] { dlpack::to_dlpack(Array()); }) == ErrorCode::invalid_argument);
  const Stream stream(Device("cpu_sim:0"));
  const Array array(stream, DType::u8, {4});
  const Error error =
      test::required_error(ErrorCode::invalid_argument, [&] { dlpack::to_dlpack(array, {.stream = 5}); });
  CHECK(has(error.what(), "no stream 5"));
}

TEST_CASE("without a version null is refused, what is read-only isn't exported, and what isn't taken is deleted") {
  CHECK(test::code_of([] { dlpack::from_dlpack_unversioned(nullptr); }) == ErrorCode::invalid_argument);
  const Stream stream(Device("cpu_sim:0"));
  const Array array = Array(stream, DType::u8, {4}).as_read_only();
  const Error error = test::required_error(ErrorCode::invalid_argument, [&] { dlpack::to_dlpack_unversioned(array); });
  CHECK(has(error.what(), "read-only"));
  CHECK(has(error.what(), "max_version"));
  CHECK(test::code_of([] { dlpack::to_dlpack_unversioned(Array()); }) == ErrorCode::invalid_argument);

  int deleted = 0;
  DLManagedTensor bad{};
  bad.manager_ctx = &deleted;
  bad.deleter = [](DLManagedTensor* self) { ++*static_cast<int*>(self->manager_ctx); };
  bad.dl_tensor.dtype = {kDLInt, 4, 1};
  CHECK(test::code_of([&] { dlpack::from_dlpack_unversioned(&bad); }) == ErrorCode::invalid_argument);
  CHECK(deleted == 1);
}

}  // namespace dlpack_refusals_test
