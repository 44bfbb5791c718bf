// SPDX-License-Identifier: Apache-2.0
//
// monte_carlo: pi, and the price of a European call option, by random numbers that a device draws.
//
//   monte_carlo [--place cpu_sim:0] [--streams 4] [--capture] [--seed 42]
//
// The digits are the same on every device, with however many streams, and whether the work of a batch is submitted each
// time or captured once and launched: the generator sees to that. Which numbers a batch gets is decided when it is
// submitted, and not when it runs.
// Exit status: 0 the results are there; 1 something failed; 2 wrong options.
#include <anyplace/anyplace.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::int64_t points = 1 << 14;  ///< of a batch, and paths
constexpr int batches = 16;

struct Options {
  std::string place = "auto";
  std::uint64_t seed = 42;
  int streams = 1;
  bool capture = false;
};

struct WrongOption : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Number>
Number number_in(std::string_view option, std::string_view text, Number least, Number most) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    throw WrongOption(std::string(option) + " takes a number from " + std::to_string(least) + " to " +
                      std::to_string(most) + ", and not \"" + std::string(text) + "\"");
  }
  return number;
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--capture") {
      options.capture = true;
      continue;
    }
    if (option != "--place" && option != "--streams" && option != "--seed") {
      throw WrongOption("there is no option " + std::string(option) +
                        "; there are --place P, --streams N, --capture, --seed S");
    }
    if (++i == argc) throw WrongOption(std::string(option) + " needs a value behind it");
    if (option == "--place") options.place = argv[i];
    if (option == "--streams") options.streams = number_in(option, argv[i], 1, batches);
    if (option == "--seed") options.seed = number_in<std::uint64_t>(option, argv[i], 0, UINT64_MAX);
  }
  return options;
}

/// A stream, what its batches are drawn into, and where the host reads them.
struct Lane {
  explicit Lane(const anyplace::Device& device)
      : stream(device),
        square(anyplace::Buffer::of<float>(stream, points * 2)),
        walk(anyplace::Buffer::of<double>(stream, points)),
        host_square(device, points * 2 * sizeof(float)),
        host_walk(device, points * sizeof(double)) {}

  void submit(const anyplace::Generator& random) const {
    random.uniform(stream, square.as<float>());
    random.normal(stream, walk.as<double>());
    stream.copy(anyplace::HostSpan(host_square.data(), host_square.size_bytes()), square);
    stream.copy(anyplace::HostSpan(host_walk.data(), host_walk.size_bytes()), walk);
  }

  anyplace::Stream stream;
  anyplace::Buffer square, walk;
  anyplace::HostBuffer host_square, host_walk;
  anyplace::GraphExec exec;
};

/// What the batches come to, added in their order.
struct Sums {
  std::uint64_t inside = 0;
  double payoff = 0;

  void add(const Lane& lane) {
    const auto square = lane.host_square.as<const float>();
    for (std::int64_t i = 0; i < points; ++i) {
      const float x = square[static_cast<std::size_t>(2 * i)], y = square[static_cast<std::size_t>(2 * i + 1)];
      inside += x * x + y * y < 1.0f ? 1 : 0;
    }
    // Black and Scholes: 100 today, 105 in a year, an interest of 5 % and a volatility of 20 %.
    for (const double step : lane.host_walk.as<const double>()) {
      const double price = 100.0 * std::exp(0.05 - 0.5 * 0.2 * 0.2 + 0.2 * step);
      payoff += price > 105.0 ? price - 105.0 : 0.0;
    }
  }
};

void run(const Options& options) {
  const anyplace::Device device(options.place);
  const anyplace::Generator random(device);
  random.manual_seed(options.seed);

  std::vector<Lane> lanes;
  for (int i = 0; i < options.streams; ++i) lanes.emplace_back(device);
  if (options.capture) {
    for (Lane& lane : lanes) {
      lane.stream.begin_capture();
      lane.submit(random);  // draws nothing yet
      lane.exec = lane.stream.end_capture().instantiate();
    }
  }

  Sums sums;
  for (int first = 0; first < batches; first += options.streams) {
    const int now = std::min(options.streams, batches - first);
    for (int i = 0; i < now; ++i) {
      const Lane& lane = lanes[static_cast<std::size_t>(i)];
      if (options.capture) {
        lane.exec.launch(lane.stream);
      } else {
        lane.submit(random);
      }
    }
    for (int i = 0; i < now; ++i) {
      lanes[static_cast<std::size_t>(i)].stream.synchronize();
      sums.add(lanes[static_cast<std::size_t>(i)]);
    }
  }

  constexpr double all = static_cast<double>(points) * batches;
  std::printf("%s: %d batches, %d streams, %s\n", device.to_string().c_str(), batches, options.streams,
              options.capture ? "captured" : "submitted");
  std::printf("pi      %.17g\n", 4.0 * static_cast<double>(sums.inside) / all);
  std::printf("option  %.17g\n", std::exp(-0.05) * sums.payoff / all);
}

}  // namespace

int main(int argc, char** argv) try {
  run(options_of(argc, argv));
  return 0;
} catch (const WrongOption& error) {
  std::fprintf(stderr, "monte_carlo: %s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "monte_carlo: %s\n", error.what());
  return 1;
}
