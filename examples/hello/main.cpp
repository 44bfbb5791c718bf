// SPDX-License-Identifier: Apache-2.0
// The README's lines for the application author: what follows is printed there, and a test keeps the two equal.
#include <anyplace/anyplace.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) try {
  const anyplace::Device device(argc > 1 ? argv[1] : "auto");
  const anyplace::Stream writer(device), reader(device);
  const anyplace::Buffer data(writer, 4 << 20);
  const auto numbers = data.as<std::uint32_t>();
  std::vector<std::uint32_t> host(numbers.size());

  writer.fill(numbers, 42u);                 // submitted, not done
  reader.wait_event(writer.record_event());  // holds back `reader`, not this thread
  data.record_stream(reader);                // `reader` uses memory that belongs to `writer`
  reader.copy(host, data);
  reader.synchronize();  // now it is done

  std::printf("%s, %s: %u\n", device.to_string().c_str(), device.properties().name.c_str(), host.back());
  return host.back() == 42 ? 0 : 1;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
