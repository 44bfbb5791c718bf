// SPDX-License-Identifier: Apache-2.0
// The configuration: as a struct, as text, from the environment.
#include "memory/memory_support.h"
#include "support/environment.h"

namespace config_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;

std::string parse_refused(const std::string& text) {
  return refused(ErrorCode::invalid_argument, [&] { static_cast<void>(AllocatorConfig::parse(text)); });
}

}  // namespace

TEST_CASE("An empty configuration is the default one") {
  CHECK(AllocatorConfig::parse("") == AllocatorConfig());
  CHECK(AllocatorConfig::parse(" , ,") == AllocatorConfig());
  const AllocatorConfig config;
  CHECK(config.caching);
  CHECK(config.segments == SegmentKind::automatic);
  CHECK_FALSE(config.max_split_bytes.has_value());
  CHECK_FALSE(config.limit_bytes.has_value());
  CHECK_FALSE(config.pinned_limit_bytes.has_value());
  CHECK(config.bins);
  CHECK(config.cross_stream_reuse);
  CHECK_FALSE(config.history);
}

TEST_CASE("A configuration text sets what it names") {
  const AllocatorConfig config = AllocatorConfig::parse(
      "caching:false,segments:classic,max_split_size_mb:64,limit_mb:1000,pinned_limit_mb:0,bins:false,"
      "cross_stream_reuse:false,history:true");
  CHECK_FALSE(config.caching);
  CHECK(config.segments == SegmentKind::classic);
  CHECK(config.max_split_bytes == 64 * mib);
  CHECK(config.limit_bytes == 1000 * mib);
  CHECK(config.pinned_limit_bytes == 0u);
  CHECK_FALSE(config.bins);
  CHECK_FALSE(config.cross_stream_reuse);
  CHECK(config.history);
  CHECK(AllocatorConfig::parse("segments:virtual").segments == SegmentKind::virtual_memory);
  CHECK(AllocatorConfig::parse("segments:automatic").segments == SegmentKind::automatic);
}

TEST_CASE("A configuration text leaves the rest of its base alone") {
  AllocatorConfig base;
  base.caching = false;
  base.limit_bytes = 5 * mib;
  base.history = true;
  const AllocatorConfig config = AllocatorConfig::parse("history:false,limit_mb:6", base);
  CHECK_FALSE(config.caching);
  CHECK(config.limit_bytes == 6 * mib);
  CHECK_FALSE(config.history);
}

TEST_CASE("Spaces, a comma at the end and empty entries of a configuration are let pass") {
  const AllocatorConfig config = AllocatorConfig::parse("  bins : false ,\tlimit_mb:\n7 ,, history:true,");
  CHECK_FALSE(config.bins);
  CHECK(config.limit_bytes == 7 * mib);
  CHECK(config.history);
}

TEST_CASE("An unknown key of a configuration is an error that lists the known ones") {
  for (const char* const text : {"cashing:true", "Caching:true", "caching", ":true", "a,b", "bins:true,limit:3"}) {
    INFO(text);
    const std::string message = parse_refused(text);
    for (const char* const key : {"caching", "segments", "max_split_size_mb", "limit_mb", "pinned_limit_mb", "bins",
                                  "cross_stream_reuse", "history"}) {
      CHECK_THAT(message, Catch::Contains(key));
    }
  }
  CHECK_THAT(parse_refused("cashing:true"), Catch::Contains("\"cashing\" is no known key"));
  CHECK_THAT(parse_refused("caching"), Catch::Contains("caching has no value"));
}

TEST_CASE("A value of a configuration that isn't one is an error that says which would be") {
  for (const char* const text : {"caching:", "caching:1", "caching:True", "caching:yes", "caching:true:true"}) {
    INFO(text);
    CHECK_THAT(parse_refused(text), Catch::Contains("caching can't be") && Catch::Contains("true or false"));
  }
  CHECK_THAT(parse_refused("segments:vmm"), Catch::Contains("automatic, virtual or classic"));
  for (const char* const text :
       {"limit_mb:", "limit_mb:-1", "limit_mb:+1", "limit_mb:1.5", "limit_mb:1 2", "limit_mb:1k", "limit_mb:0x10",
        "limit_mb:17592186044416", "limit_mb:18446744073709551616"}) {
    INFO(text);
    CHECK_THAT(parse_refused(text), Catch::Contains("limit_mb can't be") && Catch::Contains("whole number of MiB"));
  }
  CHECK(AllocatorConfig::parse("limit_mb:17592186044415").limit_bytes == UINT64_MAX / mib * mib);
  CHECK_THAT(parse_refused("max_split_size_mb:0"), Catch::Contains("from 1"));
}

TEST_CASE("A key that a configuration has twice is an error") {
  CHECK_THAT(parse_refused("bins:true,caching:true,bins:true"), Catch::Contains("bins is there twice"));
}

TEST_CASE("What a configuration is as text can be read again") {
  AllocatorConfig config;
  CHECK(AllocatorConfig::parse(config.to_string()) == config);
  CHECK(config.to_string() == "caching:true,segments:automatic,bins:true,cross_stream_reuse:true,history:false");
  config = AllocatorConfig::parse("caching:false,segments:virtual,limit_mb:3,max_split_size_mb:20,pinned_limit_mb:9");
  CHECK(AllocatorConfig::parse(config.to_string()) == config);
  config.limit_bytes = 3 * mib + 1;  // rounded up, never to nothing
  CHECK(AllocatorConfig::parse(config.to_string()).limit_bytes == 4 * mib);
  config.limit_bytes = UINT64_MAX / mib * mib;
  CHECK(AllocatorConfig::parse(config.to_string()) == config);
}

TEST_CASE("ANYPLACE_ALLOCATOR holds for every device until one is configured") {
  test::set_env("ANYPLACE_ALLOCATOR", "limit_mb:77,bins:false");
  test::set_env("ANYPLACE_CPU_SIM_DEVICES", "2");
  const Device first("cpu_sim:0");
  const Device second("cpu_sim:1");
  CHECK(allocator_config(first).limit_bytes == 77 * mib);
  CHECK_FALSE(allocator_config(second).bins);
  AllocatorConfig own = allocator_config(first);
  own.history = true;
  configure_allocator(first, own);
  CHECK(allocator_config(first) == own);
  CHECK_FALSE(allocator_config(second).history);
}

TEST_CASE("A bad ANYPLACE_ALLOCATOR is told, with its name, by what needs it") {
  test::set_env("ANYPLACE_ALLOCATOR", "caching:maybe");
  const Device device("cpu_sim:0");
  const Stream stream(device);
  for (int i = 0; i < 2; ++i) {
    const Error error = error_of([&] { const Buffer buffer(stream, 100); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.place() == "cpu_sim:0");
    CHECK_THAT(error.text(), Catch::StartsWith("ANYPLACE_ALLOCATOR: caching can't be \"maybe\""));
  }
  refused(ErrorCode::invalid_argument, [&] { const HostBuffer buffer(device, 100); });
  refused(ErrorCode::invalid_argument, [&] { static_cast<void>(allocator_config(device)); });
  // What an application says itself takes its place.
  configure_allocator(device, AllocatorConfig());
  CHECK_NOTHROW(Buffer(stream, 100));
}

TEST_CASE("The configuration of an allocator in use is fixed") {
  const Device device("cpu_sim:0");
  AllocatorConfig config;
  config.history = true;
  configure_allocator(device, config);
  config.history = false;
  configure_allocator(device, config);
  { const Buffer buffer(Stream(device), 100); }
  config.bins = false;
  refused(ErrorCode::not_permitted, [&] { configure_allocator(device, config); });
  CHECK(allocator_config(device).bins);
}

TEST_CASE("With caching off each Buffer is an allocation of the device's own") {
  test::set_env("ANYPLACE_ALLOCATOR", "caching:false");
  const Device device("sim_plain:0");
  Controls& controls = controls_of(device);
  const Stream stream(device);
  for (int i = 1; i <= 3; ++i) {
    { const Buffer buffer(stream, 4096); }
    CHECK(controls.allocations == static_cast<std::uint64_t>(i));
  }
}

}  // namespace config_test
