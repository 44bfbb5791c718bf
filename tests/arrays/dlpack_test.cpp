// SPDX-License-Identifier: Apache-2.0
// Arrays to DLPack and back: what is described, who owns it, and what waits for what.
#include "anyplace/dlpack.h"

#include <dlfcn.h>

#include <memory>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace dlpack_test {

using namespace anyplace;

struct Delete {
  void operator()(DLManagedTensorVersioned* tensor) const { tensor->deleter(tensor); }
};
using Tensor = std::unique_ptr<DLManagedTensorVersioned, Delete>;

Tensor exported(const Array& array, const dlpack::ExportOptions& options = {}) {
  return Tensor(dlpack::to_dlpack(array, options));
}

/// A device over the double of its vendor's library; nothing where that isn't built.
std::optional<Device> device_on(const char* double_file, const char* place) {
  if (*double_file == '\0') return std::nullopt;
  REQUIRE(::dlopen(double_file, RTLD_NOW | RTLD_LOCAL) != nullptr);
  return Device(place);
}
std::optional<Device> cuda_device() { return device_on(ARRAYS_CUDA_DOUBLE, "cuda:0"); }

/// What exporting an array of the device says of each number.
struct Exports {
  Stream producer;
  Array array;

  explicit Exports(const Device& device) : producer(device), array(producer, DType::u8, {16}) {}
  ErrorCode code(std::optional<std::int64_t> number) const {
    return test::code_of([&] { exported(array, {.stream = number}); });
  }
};

TEST_CASE("a tensor describes the array: address, shape, strides, type, device, version") {
  const Stream stream(Device("cpu_sim:1"));
  const Array array = Array(stream, DType::f32, {3, 4}).permute({1, 0}).slice(0, 1, 4);
  const Tensor tensor = exported(array);
  CHECK(tensor->version.major == DLPACK_MAJOR_VERSION);
  CHECK(tensor->version.minor == DLPACK_MINOR_VERSION);
  CHECK(tensor->flags == 0);
  const DLTensor& described = tensor->dl_tensor;
  CHECK(Address(described.data) == array.address());
  CHECK(described.byte_offset == 0);
  REQUIRE(described.ndim == 2);
  CHECK(std::vector<std::int64_t>(described.shape, described.shape + 2) == std::vector<std::int64_t>{3, 3});
  CHECK(std::vector<std::int64_t>(described.strides, described.strides + 2) == std::vector<std::int64_t>{1, 4});
  CHECK(described.dtype.code == kDLFloat);
  CHECK(described.dtype.bits == 32);
  CHECK(described.dtype.lanes == 1);
  CHECK(described.device.device_type == kDLCPU);  // cpu_sim's memory is the process's
  CHECK(described.device.device_id == 0);
}

TEST_CASE("every type goes out and comes back") {
  const Stream stream(Device("cpu_sim:0"));
  for (const DType dtype :
       {DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128, DType::i8, DType::i16, DType::i32,
        DType::i64, DType::u8, DType::u16, DType::u32, DType::u64, DType::boolean}) {
    INFO(to_string(dtype));
    const Array array(stream, dtype, {2, 5});
    const Array back = dlpack::from_dlpack(dlpack::to_dlpack(array));
    CHECK(back.dtype() == dtype);
    CHECK(back.shape() == array.shape());
    CHECK(back.strides() == array.strides());
    CHECK(back.address() == array.address());
    CHECK(back.place() == array.place());  // known by its address
  }
  CHECK(exported(Array(stream, DType::bf16, {1}))->dl_tensor.dtype.code == kDLBfloat);
  CHECK(exported(Array(stream, DType::boolean, {1}))->dl_tensor.dtype.code == kDLBool);
  CHECK(exported(Array(stream, DType::c64, {1}))->dl_tensor.dtype.code == kDLComplex);
  CHECK(exported(Array(stream, DType::c64, {1}))->dl_tensor.dtype.bits == 64);
}

TEST_CASE("flags say read-only and copied, and read-only comes back") {
  const Stream stream(Device("cpu_sim:0"));
  const Array array(stream, DType::u8, {4});
  CHECK(exported(array.as_read_only())->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  CHECK(exported(array, {.copied = true})->flags == DLPACK_FLAG_BITMASK_IS_COPIED);
  CHECK(dlpack::from_dlpack(dlpack::to_dlpack(array.as_read_only())).is_read_only());
  CHECK_FALSE(dlpack::from_dlpack(dlpack::to_dlpack(array)).is_read_only());
}

TEST_CASE("the memory stays until the tensor's deleter is called, and a tensor until the array of it goes") {
  const Stream stream(Device("cpu_sim:0"));
  Array array(stream, DType::u8, {64});
  const ArrayView view = array;
  Tensor tensor = exported(array);
  array = Array();
  CHECK(view.address().value() != 0);
  Array back = dlpack::from_dlpack(tensor.release());
  const Array part = back.slice(0, 1, 2);
  back = Array();
  CHECK(view.address().value() != 0);
  CHECK(part.address().value() == view.address().value() + 1);
}

TEST_CASE("an array of the host, and one of no elements, go out") {
  const Stream stream(Device("cpu_sim:0"));
  const Tensor pinned = exported(Array::on_host(stream, DType::f64, {3}));
  CHECK(pinned->dl_tensor.device.device_type == kDLCPU);
  const Array none = dlpack::from_dlpack(dlpack::to_dlpack(Array(stream, DType::f32, {0, 2})));
  CHECK(none.shape() == Extents{0, 2});
  const Array scalar = dlpack::from_dlpack(dlpack::to_dlpack(Array(stream, DType::f32, {})));
  CHECK(scalar.ndim() == 0);
}

TEST_CASE("what goes out as memory of the host is ready, unless the consumer sees to it") {
  const Stream stream(Device("cpu_sim:0"));
  const Array array(stream, DType::u8, {1 << 20});
  test::HostGate gate;
  gate.block(stream);
  stream.memset8(array.buffer(), 7);
  const Tensor early = exported(array, {.stream = -1});
  CHECK_FALSE(stream.query());
  gate.open();
  const Tensor tensor = exported(array);
  CHECK(static_cast<const std::uint8_t*>(tensor->dl_tensor.data)[(1 << 20) - 1] == 7);
}

TEST_CASE("tensors without strides, and with a byte offset, are read as they should be") {
  std::vector<std::int32_t> memory(10);
  std::int64_t shape[] = {2, 3};
  DLManagedTensorVersioned tensor{};
  tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION + 7};  // minor versions only add
  tensor.dl_tensor = {memory.data(), {kDLCPU, 0}, 2, {kDLInt, 32, 1}, shape, nullptr, 8};
  const Array array = dlpack::from_dlpack(&tensor);
  CHECK(array.is_on_host());
  CHECK(array.strides() == Extents{3, 1});
  CHECK(array.address() == Address(memory.data() + 2));
}

TEST_CASE("a consumer's stream of CUDA waits on the device for the array, and not the host") {
  const std::optional<Device> device = cuda_device();
  if (!device) return;
  const Stream producer(*device), consumer(*device);
  const Array array(producer, DType::u8, {4096});
  test::HostGate gate;
  gate.block(producer);
  producer.memset8(array.buffer(), 5);
  CHECK(dlpack::device_of(array).device_type == kDLCUDA);
  Array back =
      dlpack::from_dlpack(dlpack::to_dlpack(array, {.stream = dlpack::stream_number(consumer)}), {.stream = consumer});
  CHECK(back.stream() == consumer);
  std::vector<std::uint8_t> host(4096);
  const HostBuffer pinned(*device, 4096);
  consumer.copy(pinned.as<std::uint8_t>(), array.buffer());
  CHECK_FALSE(consumer.query());
  gate.open();
  consumer.synchronize();
  CHECK(pinned.as<std::uint8_t>()[4095] == 5);
  const Array of_host = Array::on_host(producer, DType::u8, {4});
  CHECK(dlpack::device_of(of_host).device_type == kDLCUDAHost);
  CHECK(dlpack::stream_number(device->default_stream()) == 1);
}

TEST_CASE("the numbers of CUDA's default streams are taken, those that mean nothing are refused") {
  const std::optional<Device> device = cuda_device();
  if (!device) return;
  const Exports exports(*device);
  for (const std::optional<std::int64_t> number : {std::optional<std::int64_t>(), {1}, {2}, {-1}}) {
    CHECK(exports.code(number) == ErrorCode::ok);
  }
  for (const std::int64_t number : {0, -2}) CHECK(exports.code(number) == ErrorCode::invalid_argument);
}

TEST_CASE("the number of HIP's default stream is taken, those that mean nothing are refused") {
  const std::optional<Device> device = device_on(ARRAYS_HIP_DOUBLE, "hip:0");
  if (!device) return;
  const Exports exports(*device);
  for (const std::optional<std::int64_t> number : {std::optional<std::int64_t>(), {0}, {-1}}) {
    CHECK(exports.code(number) == ErrorCode::ok);
  }
  for (const std::int64_t number : {1, 2, -2}) CHECK(exports.code(number) == ErrorCode::invalid_argument);
  CHECK(exports.code(4711) == ErrorCode::invalid_handle);  // HIP's to know
}

TEST_CASE("no number stands for a default stream of Level Zero, and none reaches its driver") {
  const std::optional<Device> device = device_on(ARRAYS_LEVELZERO_DOUBLE, "levelzero:0");
  if (!device) return;
  const Exports exports(*device);
  const Stream consumer(*device);
  CHECK(exports.code(std::nullopt) == ErrorCode::ok);
  CHECK(exports.code(-1) == ErrorCode::ok);
  CHECK(exports.code(static_cast<std::int64_t>(consumer.native_handle())) == ErrorCode::ok);
  for (const std::int64_t number : {0, 1, 2, -2, 4095}) {
    INFO(number);
    CHECK(exports.code(number) == ErrorCode::invalid_argument);
  }
  const std::string text = test::required_error([&] { exported(exports.array, {.stream = 1}); }).what();
  CHECK(text.find("none for the default stream") != std::string::npos);
}

TEST_CASE("cpu_sim has no stream to the consumer, whatever its number") {
  const Exports exports(Device("cpu_sim:0"));
  for (const std::optional<std::int64_t> number : {std::optional<std::int64_t>(), {-1}}) {
    CHECK(exports.code(number) == ErrorCode::ok);
  }
  for (const std::int64_t number : {0, 1, 2, -2, 4711}) CHECK(exports.code(number) == ErrorCode::invalid_argument);
}

TEST_CASE("an array of cpu_sim without elements comes back as the device's") {
  const Device device("cpu_sim:1");
  const Stream stream(device);
  const Array array(stream, DType::f32, {0, 4});
  CHECK(dlpack::from_dlpack(dlpack::to_dlpack(array)).place() == ArrayPlace(device));
  CHECK(dlpack::from_dlpack_unversioned(dlpack::to_dlpack_unversioned(array)).place() == ArrayPlace(device));
  CHECK(test::code_of([&] { dlpack::from_dlpack(dlpack::to_dlpack(array), {.device = Device("cpu_sim:0")}); }) ==
        ErrorCode::invalid_argument);
  // Another library's, which can't tell: the host's, unless the device is named.
  std::int64_t shape[] = {0};
  DLManagedTensor others{{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 64, 1}, shape, nullptr, 0}, nullptr, nullptr};
  CHECK(dlpack::from_dlpack_unversioned(&others).is_on_host());
  CHECK(dlpack::from_dlpack_unversioned(&others, {.device = device}).place() == ArrayPlace(device));
}

TEST_CASE("stream number 2 of CUDA makes the threads' default streams wait for the array") {
  const std::optional<Device> device = cuda_device();
  if (!device) return;
  const Stream producer(*device);
  const StreamView mine = device->per_thread_stream();  // blocking, as CUDA's own one of this thread is
  const Array array(producer, DType::u8, {4096});
  const HostBuffer pinned(*device, 4096);
  test::HostGate gate;
  gate.block(producer);
  producer.memset8(array.buffer(), 6);
  const Tensor tensor = exported(array, {.stream = 2});
  mine.copy(pinned.as<std::uint8_t>(), array.buffer());
  CHECK_FALSE(mine.query());
  std::thread([&] {  // has a default stream of its own, which waits for nothing
    device->per_thread_stream().synchronize();
    CHECK_FALSE(producer.query());
  })
      .join();
  gate.open();
  mine.synchronize();
  CHECK(pinned.as<std::uint8_t>()[4095] == 6);
}

TEST_CASE("a tensor without a version goes out and comes back, and is deleted once") {
  const Stream stream(Device("cpu_sim:1"));
  const Array array = Array(stream, DType::i16, {3, 4}).permute({1, 0});
  DLManagedTensor* const tensor = dlpack::to_dlpack_unversioned(array);
  CHECK(tensor->dl_tensor.device.device_type == kDLCPU);
  CHECK(tensor->dl_tensor.ndim == 2);
  const Array back = dlpack::from_dlpack_unversioned(tensor);
  CHECK(back.dtype() == array.dtype());
  CHECK(back.shape() == array.shape());
  CHECK(back.strides() == array.strides());
  CHECK(back.address() == array.address());
  CHECK(back.place() == array.place());
  CHECK_FALSE(back.is_read_only());

  std::vector<double> memory(6);
  std::int64_t shape[] = {6};
  int deleted = 0;
  DLManagedTensor others{{memory.data(), {kDLCPU, 0}, 1, {kDLFloat, 64, 1}, shape, nullptr, 0},
                         &deleted,
                         [](DLManagedTensor* self) { ++*static_cast<int*>(self->manager_ctx); }};
  {
    const Array taken = dlpack::from_dlpack_unversioned(&others);
    CHECK(taken.is_on_host());
    CHECK(deleted == 0);
  }
  CHECK(deleted == 1);
}

}  // namespace dlpack_test
