// SPDX-License-Identifier: Apache-2.0
//
// Random numbers on a device: gigabytes a second of large fills, beside cuRAND's Philox on the same stream where the
// device is CUDA's and libcurand is there. Medians of runs in turn, timed by the device's events.
//
//   device_cost [PLACE]
//
// Prints Markdown. Exit status: 0, 1 if something failed, 77 if the device has no random numbers. Constants and
// signatures of cuRAND are those of NVIDIA's cuRAND Library documentation (curandRngType_t, the host API).
#include <anyplace/anyplace.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t count = std::int64_t{1} << 26;

/// cuRAND's host API, opened at run time.
class Curand {
 public:
  explicit Curand(std::uint64_t stream) {
    for (const char* const name : {"libcurand.so.10", "libcurand.so", "/usr/local/cuda/lib64/libcurand.so.10"}) {
      library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library_ != nullptr) break;
    }
    if (library_ == nullptr) return;
    constexpr int philox = 161;  // CURAND_RNG_PSEUDO_PHILOX4_32_10
    const int status = function<int (*)(void**, int)>("curandCreateGenerator")(&generator_, philox);
    if (status != 0) {
      std::fprintf(stderr, "cuRAND: left out, it makes no generator here (%d)\n", status);
      generator_ = nullptr;
      return;
    }
    check(function<int (*)(void*, void*)>("curandSetStream")(generator_, reinterpret_cast<void*>(stream)));
  }
  Curand(const Curand&) = delete;  // destroyed once
  Curand& operator=(const Curand&) = delete;
  ~Curand() {
    if (generator_ != nullptr) function<int (*)(void*)>("curandDestroyGenerator")(generator_);
  }

  explicit operator bool() const { return generator_ != nullptr; }
  template <class T>
  void uniform(const char* name, std::uint64_t to) const {
    check(function<int (*)(void*, T*, std::size_t)>(name)(generator_, reinterpret_cast<T*>(to), count));
  }
  template <class T>
  void normal(const char* name, std::uint64_t to) const {
    check(
        function<int (*)(void*, T*, std::size_t, T, T)>(name)(generator_, reinterpret_cast<T*>(to), count, T(0), T(1)));
  }

 private:
  template <class Function>
  Function function(const char* name) const {
    void* const found = ::dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("libcurand has no ") + name);
    return reinterpret_cast<Function>(found);
  }
  static void check(int status) {
    if (status != 0) throw std::runtime_error("cuRAND failed with " + std::to_string(status));
  }

  void* library_ = nullptr;
  void* generator_ = nullptr;
};

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

void run(const std::string& place) {
  const anyplace::Device device(place);
  const anyplace::Stream stream(device);
  const anyplace::Generator generator(device);
  const anyplace::Buffer buffer(stream, static_cast<std::uint64_t>(count) * sizeof(double));
  const bool is_cuda = device.backend() == "cuda";
  const Curand* const none = nullptr;
  const auto owned = is_cuda ? std::make_unique<Curand>(stream.native_handle()) : nullptr;
  const Curand* const curand = owned != nullptr && *owned ? owned.get() : none;

  using Call = std::function<void()>;
  const auto milliseconds = [&](const Call& call) {
    const anyplace::Event begin = stream.record_event({.timing = true});
    call();
    const anyplace::Event end = stream.record_event({.timing = true});
    stream.synchronize();
    return anyplace::elapsed_time(begin, end);
  };
  std::printf("%s, %s: fills of 2^26 elements, GB/s, medians of 15\n\n", device.to_string().c_str(),
              device.properties().name.c_str());
  std::printf("| fill | anyplace | cuRAND | over cuRAND (target: at least 0.8) |\n|---|---:|---:|---:|\n");
  const auto row = [&](const char* name, anyplace::DType type, const Call& ours, const Call& theirs) {
    std::vector<double> own, other;
    ours();
    if (curand != nullptr) theirs();
    for (int i = 0; i < 15; ++i) {
      own.push_back(milliseconds(ours));
      if (curand != nullptr) other.push_back(milliseconds(theirs));
    }
    const double bytes = static_cast<double>(count) * static_cast<double>(anyplace::size_of(type)) / 1e6;
    const double rate = bytes / median(own);
    if (curand == nullptr) {
      std::printf("| %s | %.1f | - | - |\n", name, rate);
    } else {
      std::printf("| %s | %.1f | %.1f | %.2f |\n", name, rate, bytes / median(other), rate * median(other) / bytes);
    }
  };
  const std::uint64_t to = buffer.address();
  const anyplace::RandomTarget singles(buffer, anyplace::DType::f32, count),
      doubles(buffer, anyplace::DType::f64, count);
  row(
      "uniform f32", anyplace::DType::f32, [&] { generator.uniform(stream, singles); },
      [&] { curand->uniform<float>("curandGenerateUniform", to); });
  row(
      "uniform f64", anyplace::DType::f64, [&] { generator.uniform(stream, doubles); },
      [&] { curand->uniform<double>("curandGenerateUniformDouble", to); });
  row(
      "normal f32", anyplace::DType::f32, [&] { generator.normal(stream, singles); },
      [&] { curand->normal<float>("curandGenerateNormal", to); });
  row(
      "normal f64", anyplace::DType::f64, [&] { generator.normal(stream, doubles); },
      [&] { curand->normal<double>("curandGenerateNormalDouble", to); });
}

}  // namespace

int main(int argc, char** argv) try {
  run(argc > 1 ? argv[1] : "cuda:0");
  return 0;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "device_cost: %s\n", error.what());
  const bool lacks =
      error.code() == anyplace::ErrorCode::invalid_image || error.code() == anyplace::ErrorCode::unsupported;
  return lacks ? 77 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "device_cost: %s\n", error.what());
  return 1;
}
