// SPDX-License-Identifier: Apache-2.0
//
// A SYCL program, which a plain C++ compiler builds, whose kernels are compiled when it runs: by the compiler in SYCL's
// runtime (the extension sycl_ext_oneapi_kernel_compiler), from SYCL source to SPIR-V, for a device that takes that.
// It runs on the default device and says "ok" if all sums are right.
#include <sycl/sycl.hpp>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace experimental = sycl::ext::oneapi::experimental;
using Bundle = sycl::kernel_bundle<sycl::bundle_state::executable>;

constexpr std::size_t count = 1 << 16;
constexpr std::size_t group = 64;

const char* const source = R"(
#include <sycl/sycl.hpp>
namespace experimental = sycl::ext::oneapi::experimental;
namespace work_item = sycl::ext::oneapi::this_work_item;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((experimental::nd_range_kernel<1>))
void add(const int* first, const int* second, int* sum, int more) {
  const std::size_t i = work_item::get_nd_item<1>().get_global_id(0);
  sum[i] = first[i] + second[i] + more;
}

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((experimental::nd_range_kernel<1>))
void add_to(sycl::accessor<int, 1> values, sycl::accessor<int, 1> more) {
  const std::size_t i = work_item::get_nd_item<1>().get_global_id(0);
  values[i] += more[i];
}

struct Part {
  const int* values;
  int more;
};

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((experimental::nd_range_kernel<1>))
void sum_groups(Part part, int* sums, sycl::local_accessor<int, 1> tile) {
  const auto item = work_item::get_nd_item<1>();
  tile[item.get_local_id(0)] = part.values[item.get_global_id(0)];
  sycl::group_barrier(item.get_group());
  if (item.get_local_id(0) != 0) return;
  int sum = part.more;
  for (std::size_t i = 0; i < item.get_local_range(0); ++i) sum += tile[i];
  sums[item.get_group(0)] = sum;
}
)";

struct Part {
  const int* values;
  int more;
};

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("wrong: " + what);
}

std::vector<int> numbers(int first) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

Bundle compile(sycl::queue& queue) {
  auto text =
      experimental::create_kernel_bundle_from_source(queue.get_context(), experimental::source_language::sycl, source);
  return experimental::build(text);
}

void add_in_usm(sycl::queue& queue, Bundle& bundle) {
  const std::vector<int> first = numbers(1);
  const std::vector<int> second = numbers(1000);
  std::vector<int> sums(count, 0);
  int* const a = sycl::malloc_device<int>(count, queue);
  int* const b = sycl::malloc_device<int>(count, queue);
  int* const c = sycl::malloc_device<int>(count, queue);
  const sycl::kernel add = bundle.ext_oneapi_get_kernel("add");
  const sycl::event copied[] = {queue.memcpy(a, first.data(), count * sizeof(int)),
                                queue.memcpy(b, second.data(), count * sizeof(int))};
  const sycl::event done = queue.submit([&](sycl::handler& handler) {
    handler.depends_on({copied[0], copied[1]});
    handler.set_args(a, b, c, 7);
    handler.parallel_for(sycl::nd_range<1>(count, group), add);
  });
  queue.memcpy(sums.data(), c, count * sizeof(int), done).wait();
  for (std::size_t i = 0; i < count; ++i) require(sums[i] == first[i] + second[i] + 7, "a sum in USM");
  for (int* const memory : {a, b, c}) sycl::free(memory, queue);
}

void add_in_buffers(sycl::queue& queue, Bundle& bundle) {
  std::vector<int> values = numbers(1);
  const std::vector<int> more = numbers(1000);
  {
    sycl::buffer<int> to(values.data(), sycl::range<1>(count));
    sycl::buffer<int> from(more.data(), sycl::range<1>(count));
    for (int round = 0; round < 2; ++round) {
      queue.submit([&](sycl::handler& handler) {
        sycl::accessor<int, 1> sums(to, handler);
        sycl::accessor<int, 1> added(from, handler);
        handler.set_args(sums, added);
        handler.parallel_for(sycl::nd_range<1>(count, group), bundle.ext_oneapi_get_kernel("add_to"));
      });
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    require(values[i] == static_cast<int>(i) + 1 + 2 * more[i], "a sum in buffers");
  }
}

/// The address is in a structure, the group's memory is local, and the sums are written to the host's memory.
void sum_of_groups(sycl::queue& queue, Bundle& bundle) {
  const std::vector<int> in = numbers(1);
  int* const values = sycl::malloc_device<int>(count, queue);
  int* const sums = sycl::malloc_host<int>(count / group, queue);
  const sycl::event copied = queue.memcpy(values, in.data(), count * sizeof(int));
  queue
      .submit([&](sycl::handler& handler) {
        handler.depends_on(copied);
        sycl::local_accessor<int, 1> tile(group, handler);
        handler.set_args(Part{values, 5}, sums, tile);
        handler.parallel_for(sycl::nd_range<1>(count, group), bundle.ext_oneapi_get_kernel("sum_groups"));
      })
      .wait();
  for (std::size_t g = 0; g < count / group; ++g) {
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(g * group);
    require(sums[g] == std::accumulate(begin, begin + group, 5), "a group's sum");
  }
  sycl::free(values, queue);
  sycl::free(sums, queue);
}

}  // namespace

int main() {
  try {
    sycl::queue queue{sycl::default_selector_v};
    const sycl::device device = queue.get_device();
    std::printf("%s, %s\n", device.get_info<sycl::info::device::name>().c_str(),
                device.get_platform().get_info<sycl::info::platform::name>().c_str());
    Bundle bundle = compile(queue);
    add_in_usm(queue, bundle);
    add_in_buffers(queue, bundle);
    sum_of_groups(queue, bundle);
    std::printf("ok\n");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
