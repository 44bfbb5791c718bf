// SPDX-License-Identifier: Apache-2.0
// data_parallel: linear regression by gradient descent, each rank with its part of the samples.
//
//   mpirun -n 4 data_parallel [PLACE]
//
// The gradients of all ranks are added up with all_reduce between two kernels of the same stream; nothing waits on the
// host. Exits with 1 unless all ranks end with the same weights, bit for bit, and these are those that the data was
// made with.
#include <anyplace/anyplace.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "training_kernels.h"

namespace {

using namespace anyplace;

constexpr std::uint32_t features = 16;
constexpr std::uint32_t samples = 512;  ///< of all ranks together
constexpr int steps = 300;

float truth(std::uint32_t feature) { return static_cast<float>(feature % 5) - 2.0f; }

/// Of -1 to 1, the same at every rank.
float noise(std::uint32_t index) {
  std::uint32_t bits = index * 2654435761u + 12345u;
  bits ^= bits >> 15;
  bits *= 2246822519u;
  bits ^= bits >> 13;
  return static_cast<float>(bits & 0xffff) / 32768.0f - 1.0f;
}

struct Data {
  std::vector<float> samples, targets;
};

/// The samples that the rank has: every size-th.
Data part_of(std::uint32_t rank, std::uint32_t size) {
  Data data;
  for (std::uint32_t i = rank; i < samples; i += size) {
    float target = 0;
    for (std::uint32_t feature = 0; feature < features; ++feature) {
      data.samples.push_back(noise(i * features + feature));
      target += data.samples.back() * truth(feature);
    }
    data.targets.push_back(target);
  }
  return data;
}

/// The host's memory stays until the copy is done.
template <class T>
Buffer on_device(const Stream& stream, const std::vector<T>& host) {
  Buffer buffer = Buffer::of<T>(stream, host.size());
  stream.copy(buffer, host);
  return buffer;
}

/// The weights of all ranks, one behind the other.
std::vector<float> train(const Communicator& all, const Stream& stream) {
  const Data data = part_of(static_cast<std::uint32_t>(all.rank()), static_cast<std::uint32_t>(all.size()));
  const Module module(all.device(), training_kernels);
  const KernelView gradient = module.kernel("gradient"), step = module.kernel("step");
  const Buffer inputs = on_device(stream, data.samples), targets = on_device(stream, data.targets);
  const Buffer weights = Buffer::of<float>(stream, features);
  stream.fill(weights.as<float>(), 0.0f);
  const Buffer slope = Buffer::of<float>(stream, features);
  const LaunchConfig shape{{1}, {features}};
  const auto count = static_cast<std::uint32_t>(data.targets.size());
  const float rate = 1.0f / samples;
  for (int i = 0; i < steps; ++i) {
    stream.launch(gradient, shape, inputs, targets, weights, slope, count, features);
    all.all_reduce(stream, slope.as<float>(), slope.as<float>());
    stream.launch(step, shape, weights, slope, rate, features);
  }
  const Buffer gathered = Buffer::of<float>(stream, features * static_cast<std::uint64_t>(all.size()));
  all.all_gather(stream, gathered.as<float>(), weights.as<float>());
  std::vector<float> host(features * static_cast<std::size_t>(all.size()));
  stream.copy(host, gathered);
  stream.synchronize();
  return host;
}

bool is_right(const std::vector<float>& weights, int size) {
  for (int rank = 1; rank < size; ++rank) {
    if (std::memcmp(weights.data(), weights.data() + rank * static_cast<int>(features), features * sizeof(float)) !=
        0) {
      std::fprintf(stderr, "rank %d ends with other weights than rank 0\n", rank);
      return false;
    }
  }
  for (std::uint32_t feature = 0; feature < features; ++feature) {
    if (std::abs(weights[feature] - truth(feature)) < 1e-3f) continue;
    std::fprintf(stderr, "weight %u is %g instead of %g\n", feature, static_cast<double>(weights[feature]),
                 static_cast<double>(truth(feature)));
    return false;
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Device device(count > 1 ? arguments[1] : "auto");
    const Communicator all(device);
    const Stream stream(device);
    const std::vector<float> weights = train(all, stream);
    if (!is_right(weights, all.size())) return 1;
    if (all.rank() == 0) {
      std::uint64_t hash = 14695981039346656037u;
      for (std::uint32_t i = 0; i < features; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &weights[i], sizeof(bits));
        hash = (hash ^ bits) * 1099511628211u;
      }
      std::printf("%d ranks on %s over %s: the same weights everywhere, %016llx\n", all.size(),
                  device.to_string().c_str(), all.engine().c_str(), static_cast<unsigned long long>(hash));
    }
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "data_parallel: %s\n", error.what());
    return 1;
  }
}
