// SPDX-License-Identifier: Apache-2.0
//
// A formula over numbers, on any device: the formula becomes a kernel while the program runs.
//
//   rtc [--place PLACE] FORMULA [FILE]
//
// FORMULA is CUDA C++ over x, and may use i, the number's place: "x * 2 + sin(x)". FILE has a number in each line;
// without it the numbers are 0 to 9. Prints the results, a line each.
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::vector<double> numbers_of(const std::string& file) {
  std::vector<double> numbers;
  if (file.empty()) {
    for (int i = 0; i < 10; ++i) numbers.push_back(i);
    return numbers;
  }
  std::ifstream lines(file);
  numbers.assign(std::istream_iterator<double>(lines), {});
  return numbers;
}

void run(const std::string& place, const std::string& formula, const std::string& file) {
  const anyplace::Device device(place);
  const std::string source = R"(
extern "C" __global__ void formula(double* numbers, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double x = numbers[i];
  numbers[i] = (
#line 1 "formula"
)" + formula + "\n);\n}\n";
  const anyplace::Module module = anyplace::Module::compile(device, source);

  std::vector<double> numbers = numbers_of(file);
  const anyplace::Stream stream(device);
  const auto count = static_cast<unsigned>(numbers.size());
  if (count == 0) return;
  const anyplace::Buffer buffer = anyplace::Buffer::of<double>(stream, count);
  stream.copy(buffer, numbers);
  constexpr unsigned threads = 256;
  stream.launch(module.kernel("formula"), {(count + threads - 1) / threads, threads}, buffer, count);
  stream.copy(numbers, buffer);
  stream.synchronize();
  for (const double number : numbers) std::printf("%.15g\n", number);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string place = "auto";
  if (words.size() >= 2 && words[0] == "--place") {
    place = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty() || words.size() > 2) {
    std::fprintf(stderr, "usage: rtc [--place PLACE] FORMULA [FILE]\n");
    return 2;
  }
  try {
    run(place, words[0], words.size() == 2 ? words[1] : "");
  } catch (const anyplace::Error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.vendor_text().c_str());
    return 1;
  }
}
