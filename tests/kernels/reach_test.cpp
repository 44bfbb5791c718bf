// SPDX-License-Identifier: Apache-2.0
// Which addresses a kernel on cpu_sim may be given: those that it could follow on a device.
#include <span>
#include <string>
#include <vector>

#include "memory/memory_support.h"

namespace reach_test {

using namespace anyplace;
using namespace memory_test;

namespace {

/// Two devices, and the kernel "scale" of a module on the first one.
struct Scene {
  Device here{"cpu_sim:0"}, there{"cpu_sim:1"};
  Stream stream{here}, other_stream{there};
  Module module = Module::from_file(here, KERNEL_TEST_MODULE);
  KernelView scale = module.kernel("scale");

  void launch(const auto& data, std::uint32_t count = 4) const { stream.launch(scale, {1, count}, data, count, 2.0f); }
  std::string refusal(const auto& data) const {
    const std::string text = refused(ErrorCode::invalid_argument, [&] { launch(data); });
    stream.synchronize();  // nothing was submitted
    return text;
  }
};

/// What a kernel is given that gets it by value, as a struct in a buffer would have it.
template <class T>
T* pointer_to(const BufferView& buffer) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(buffer.address()));
}

}  // namespace

TEST_CASE("A kernel isn't given memory of a device that its own has no access to") {
  const Scene scene;
  const Buffer foreign(scene.other_stream, 64);
  const auto refused_as_it_should = [&](const auto& argument) {
    const std::string text = scene.refusal(argument);
    CHECK_THAT(text, Catch::Contains("argument 0") && Catch::Contains("scale"));
    CHECK_THAT(text, Catch::Contains("memory of device 1") && Catch::Contains("enable_peer_access"));
  };
  refused_as_it_should(foreign);
  refused_as_it_should(foreign.sub(16, 16));
  refused_as_it_should(pointer_to<float>(foreign));

  scene.here.enable_peer_access(scene.there);
  scene.launch(foreign);
  scene.stream.synchronize();
  scene.here.disable_peer_access(scene.there);
  refused_as_it_should(foreign);
}

TEST_CASE("A callable isn't given it either") {
  const Scene scene;
  const Buffer foreign(scene.other_stream, 64), own(scene.stream, 64);
  const Kernel kernel(scene.here, [](const Block&, float* data) { *data = 1; });
  const auto launch = [&](const Buffer& data) { scene.stream.launch(kernel, {1, 1}, data); };
  launch(own);
  CHECK_THAT(refused(ErrorCode::invalid_argument, [&] { launch(foreign); }), Catch::Contains("memory of device 1"));
  scene.here.enable_peer_access(scene.there);
  launch(foreign);
  scene.stream.synchronize();
}

TEST_CASE("Access is one-way, and each device's own") {
  const Scene scene;
  scene.there.enable_peer_access(scene.here);  // the other way around
  const Buffer foreign(scene.other_stream, 64);
  CHECK_THAT(scene.refusal(foreign), Catch::Contains("memory of device 1"));
}

TEST_CASE("A module's kernel isn't given a host pointer that a device couldn't follow") {
  const Scene scene;
  std::vector<float> pageable(4, 1.0f);
  float on_the_stack[4] = {};
  for (float* pointer : {pageable.data(), &on_the_stack[0]}) {
    const std::string text = scene.refusal(pointer);
    CHECK_THAT(text, Catch::Contains("argument 0") && Catch::Contains("no memory of a device"));
    CHECK_THAT(text, Catch::Contains("HostBuffer") && Catch::Contains("HostRegistration"));
  }
  CHECK(pageable[0] == 1.0f);
}

TEST_CASE("Pinned, registered and managed memory is reached from every device") {
  const Scene scene;
  const HostBuffer pinned(scene.there, 64);
  const std::span<float> floats = pinned.as<float>();
  floats[3] = 21;
  scene.launch(floats.data());
  scene.stream.synchronize();
  CHECK(floats[3] == 42);

  std::vector<float> pageable(4, 4.0f);
  {
    const HostRegistration registration(scene.here, pageable);
    scene.launch(pageable.data());
    scene.stream.synchronize();
    CHECK(pageable[0] == 8.0f);
  }
  CHECK_THAT(scene.refusal(pageable.data()), Catch::Contains("no memory of a device"));

  const Buffer managed(scene.stream, 64, {MemoryKind::managed});
  static_cast<float*>(managed.host_data())[0] = 3;
  scene.launch(managed);
  scene.stream.synchronize();
  CHECK(static_cast<float*>(managed.host_data())[0] == 6);
}

TEST_CASE("A null pointer and the end of a buffer are arguments like others") {
  const Scene scene;
  const Buffer data(scene.stream, 1 << 20);
  const auto nothing = [&](float* pointer) { scene.stream.launch(scene.scale, {1, 1}, pointer, 0U, 2.0f); };
  nothing(nullptr);
  nothing(pointer_to<float>(data) + (1 << 20) / sizeof(float));
  nothing(pointer_to<float>(data.sub(100)));
  scene.stream.synchronize();
}

TEST_CASE("An address of memory that was freed is nobody's") {
  const Scene scene;
  float* stale = nullptr;
  {
    const Buffer data(scene.stream, 100 << 20);
    stale = pointer_to<float>(data);
    scene.launch(stale);
  }
  scene.stream.synchronize();
  empty_cache(scene.here);
  CHECK_THAT(scene.refusal(stale), Catch::Contains("no memory of a device"));
}

TEST_CASE("Memory that comes where other memory was is its new owner's") {
  const Scene scene;
  for (int i = 0; i < 50; ++i) {
    const bool own = i % 2 == 0;
    const Buffer data(own ? scene.stream : scene.other_stream, 8 << 20);
    if (own) {
      scene.launch(data);
      scene.stream.synchronize();
    } else {
      CHECK_THAT(scene.refusal(data), Catch::Contains("memory of device 1"));
    }
    scene.other_stream.synchronize();
    empty_cache(scene.here);
    empty_cache(scene.there);
  }
}

}  // namespace reach_test
