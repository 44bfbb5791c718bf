// SPDX-License-Identifier: Apache-2.0
#include "table_module.h"

#include <fstream>
#include <iterator>

namespace anyplace::conformance {
namespace {

constexpr std::uint32_t threads_per_block = 32;

std::uint32_t format_of(const std::string& file) {
  if (file.ends_with(".so")) return ANYPLACE_IMAGE_SHARED_OBJECT;
  if (file.ends_with(".ptx")) return ANYPLACE_IMAGE_PTX;
  if (file.ends_with(".hsaco")) return ANYPLACE_IMAGE_HSACO;
  if (file.ends_with(".spv")) return ANYPLACE_IMAGE_SPIRV;
  if (file.ends_with(".cl")) return ANYPLACE_IMAGE_OPENCL_C;
  skip("an image of the test kernels whose name says what it is: .so, .ptx, .hsaco, .spv or .cl");
}

}  // namespace

TableImage::TableImage(const Run& run) : format_(format_of(run.module_file())) {
  std::ifstream in(run.module_file(), std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  metadata_.struct_size = sizeof(metadata_);
  metadata_.name = "block_sum";
  metadata_.shared_argument = 2;
}

void TableImage::need_no_compiler() const {
  const bool compiled =
      format_ == ANYPLACE_IMAGE_PTX || format_ == ANYPLACE_IMAGE_SPIRV || format_ == ANYPLACE_IMAGE_OPENCL_C;
  if (compiled) skip("an image of the test kernels that no compiler is needed for");
}

void TableImage::make_other() {
  const std::string body = "data[i] = value;";
  // kernels.c exports this for its kernel: three parameters, of 8, 4 and 4 bytes.
  const std::uint32_t parameters[] = {3, 8, 4, 4};
  const bool is_text = format_ == ANYPLACE_IMAGE_OPENCL_C;
  const std::string was = is_text ? body : std::string(reinterpret_cast<const char*>(parameters), sizeof(parameters));
  const std::size_t at = bytes_.find(was);
  const bool is_once = at != std::string::npos && bytes_.find(was, at + 1) == std::string::npos;
  if (!is_once || (!is_text && format_ != ANYPLACE_IMAGE_SHARED_OBJECT)) {
    skip("an image of the test kernels that the case can change: OpenCL C, a shared object");
  }
  if (is_text) bytes_.replace(at, body.size(), "data[i] = ~value;");
  if (!is_text) bytes_[at + 12] = 8;
}

anyplace_module_desc TableImage::desc() const noexcept {
  anyplace_module_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.format = format_;
  desc.image = bytes_.data();
  desc.image_bytes = bytes_.size();
  // block_sum's shared memory is an argument if the image is OpenCL's.
  const bool argument = format_ == ANYPLACE_IMAGE_SPIRV || format_ == ANYPLACE_IMAGE_OPENCL_C;
  desc.metadata = argument ? &metadata_ : nullptr;
  desc.metadata_count = argument ? 1 : 0;
  desc.metadata_stride = sizeof(metadata_);
  return desc;
}

FillLaunch::FillLaunch(anyplace_address data, std::uint32_t count, std::uint32_t value, std::uint32_t stride)
    : data_(data), count_(count), value_(value), arguments_(std::size_t{stride} * 3, 0xee) {
  launch_.struct_size = sizeof(launch_);
  launch_.grid[0] = (count + threads_per_block - 1) / threads_per_block;
  launch_.grid[1] = launch_.grid[2] = 1;
  launch_.block[0] = threads_per_block;
  launch_.block[1] = launch_.block[2] = 1;
  launch_.argument_count = 3;
  launch_.argument_stride = stride;
  launch_.arguments = reinterpret_cast<const anyplace_argument*>(arguments_.data());
  argument(0) = {ANYPLACE_ARGUMENT_ADDRESS, sizeof(data_), &data_};
  argument(1) = {ANYPLACE_ARGUMENT_VALUE, sizeof(count_), &count_};
  argument(2) = {ANYPLACE_ARGUMENT_VALUE, sizeof(value_), &value_};
}

anyplace_argument& FillLaunch::argument(std::size_t index) noexcept {
  return *reinterpret_cast<anyplace_argument*>(arguments_.data() + index * launch_.argument_stride);
}

}  // namespace anyplace::conformance
