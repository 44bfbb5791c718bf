// SPDX-License-Identifier: Apache-2.0
// What a program's own listener hears.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "anyplace/anyplace.h"
#include "heard.h"
#include "support/errors.h"

namespace listener_test {

using namespace annotate_test;
using anyplace::ErrorCode;

TEST_CASE("Nested ranges are heard with their depths, from 0") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  CHECK(annotate::range_push("frame") == 0);
  CHECK(annotate::range_push(std::string("tile")) == 1);
  CHECK(annotate::range_push(std::string_view("stages").substr(0, 5)) == 2);
  CHECK(annotate::range_pop() == 2);
  CHECK(annotate::range_pop() == 1);
  CHECK(annotate::range_pop() == 0);
  CHECK(heard.lines() == Lines{"push 0 frame", "push 1 tile", "push 2 stage", "pop 2", "pop 1", "pop 0"});
}

TEST_CASE("A range without a push to end is no_range, and nobody hears of it") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  CHECK(annotate::range_pop() == annotate::no_range);
  CHECK(annotate::range_push("one") == 0);
  CHECK(annotate::range_pop() == 0);
  CHECK(annotate::range_pop() == annotate::no_range);
  CHECK(heard.lines() == Lines{"push 0 one", "pop 0"});
}

TEST_CASE("Without a listener nothing is counted") {
  CHECK(annotate::listening());  // nobody has looked yet
  CHECK(annotate::range_push("unheard") == annotate::nobody_listens);
  CHECK_FALSE(annotate::listening());
  CHECK(annotate::range_pop() == annotate::nobody_listens);
  CHECK(annotate::range_start("unheard") == 0);
  CHECK(annotate::range_end(0));
  annotate::mark("unheard");
  annotate::name_thread("unheard");
  const annotate::Range range("unheard");
}

TEST_CASE("Without a listener the text isn't looked at") {
  annotate::mark("this one looks for tools");
  // Not mapped: reading any of it would end the process.
  const char* const nowhere = reinterpret_cast<const char*>(std::uintptr_t{64});
  annotate::mark(nowhere);
  annotate::mark(std::string_view(nowhere, 100));
  CHECK(annotate::range_push(nowhere) == annotate::nobody_listens);
  CHECK(annotate::range_start(nowhere) == 0);
  const annotate::Range range(nowhere);
}

TEST_CASE("A scope's range ends with it, and with it those that were begun in it") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  {
    const annotate::Range frame("frame");
    annotate::range_push("left open");
    annotate::range_push("this one too");
  }
  CHECK(heard.lines() == Lines{"push 0 frame", "push 1 left open", "push 2 this one too", "pop 2", "pop 1", "pop 0"});
  STATIC_REQUIRE_FALSE(std::is_move_constructible_v<annotate::Range>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<annotate::Range>);
}

TEST_CASE("A scope's range ends when an exception leaves the scope") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  try {
    const annotate::Range frame("frame");
    throw std::runtime_error("on the way");
  } catch (const std::runtime_error&) {
  }
  CHECK(heard.lines() == Lines{"push 0 frame", "pop 0"});
}

TEST_CASE("Ranges that end in another order than they began end once each") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  std::optional<annotate::Range> first("first"), second("second");
  first.reset();
  second.reset();
  CHECK(heard.lines() == Lines{"push 0 first", "push 1 second", "pop 1", "pop 0"});
}

TEST_CASE("A scope's range that ends on another thread is told, and ends with the one around it") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const test::Reports reports;
  {
    const annotate::Range frame("frame");
    auto elsewhere = std::make_unique<annotate::Range>("elsewhere");
    std::thread([&] { elsewhere.reset(); }).join();
    CHECK(heard.lines() == Lines{"push 0 frame", "push 1 elsewhere"});
  }
  CHECK(heard.lines().size() == 4);
  REQUIRE(reports.all().size() == 1);
  const anyplace::Error error = reports.all().front();
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK(std::string(error.what()).find("another thread") != std::string::npos);
  CHECK(error.remedy().find("range_start") != std::string::npos);
}

TEST_CASE("A started range may end on another thread, once") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const annotate::RangeId id = annotate::range_start("load");
  const annotate::RangeId other = annotate::range_start("load");
  CHECK(id != 0);
  CHECK(other != id);
  std::thread([&] { CHECK(annotate::range_end(id)); }).join();
  CHECK_FALSE(annotate::range_end(id));
  CHECK_FALSE(annotate::range_end(other + 1000));
  CHECK(annotate::range_end(other));
  const std::vector<annotate::Event> events = heard.events();
  REQUIRE(events.size() == 4);
  CHECK(events[0].range == id);
  CHECK(events[2].range == id);
  CHECK(events[0].thread == static_cast<std::uint64_t>(::syscall(SYS_gettid)));
  CHECK(events[2].thread != events[0].thread);
  CHECK(heard.lines() == Lines{"start 0 load", "start 0 load", "end 0", "end 0"});
}

TEST_CASE("Colours, payloads, categories and domains are heard") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const annotate::Domain loader("loader");
  const annotate::Category copies("copies");
  CHECK(annotate::Domain("loader") == loader);
  CHECK(annotate::Category("copies") == copies);
  annotate::mark("all", {.domain = loader, .category = copies, .color = 0xff76b900, .payload = -5});
  annotate::mark("unsigned", {.payload = 5u});
  annotate::mark("floating", {.payload = 0.5f});
  annotate::mark("none");
  const std::vector<annotate::Event> events = heard.events();
  REQUIRE(events.size() == 4);
  CHECK(events[0].domain == "loader");
  CHECK(events[0].category == "copies");
  CHECK(events[0].color == 0xff76b900u);
  CHECK(text_of(events[0].payload) == "i64:-5");
  CHECK(text_of(events[1].payload) == "u64:5");
  CHECK(text_of(events[2].payload) == "f64:0.5");
  CHECK(events[3].domain.empty());
  CHECK(events[3].category.empty());
  CHECK_FALSE(events[3].color);
  CHECK(text_of(events[3].payload) == "-");
}

TEST_CASE("Each domain and each thread has depths of its own") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const annotate::Domain other("other");
  CHECK(annotate::range_push("a") == 0);
  CHECK(annotate::range_push("b", {.domain = other}) == 0);
  CHECK(annotate::range_push("c") == 1);
  std::thread([&] {
    CHECK(annotate::range_pop() == annotate::no_range);
    CHECK(annotate::range_push("left open at the thread's end") == 0);
  }).join();
  std::thread([&] { CHECK(annotate::range_push("of a new thread") == 0); }).join();
  CHECK(annotate::range_pop(other) == 0);
  CHECK(annotate::range_pop(other) == annotate::no_range);
  CHECK(annotate::range_pop() == 1);
  CHECK(annotate::range_pop() == 0);
}

TEST_CASE("Ten thousand ranges nest") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  for (int depth = 0; depth < 10000; ++depth) REQUIRE(annotate::range_push("deeper") == depth);
  for (int depth = 9999; depth >= 0; --depth) REQUIRE(annotate::range_pop() == depth);
  CHECK(annotate::range_pop() == annotate::no_range);
  CHECK(heard.lines().size() == 20000);
}

TEST_CASE("Listeners hear every text as it is") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  const std::string with_nul("a\0b", 3), large(10 << 20, 'x');
  annotate::mark("");
  annotate::mark(std::string_view());
  annotate::mark(static_cast<const char*>(nullptr));
  annotate::mark(with_nul);
  annotate::mark(large);
  annotate::mark(large.c_str());
  CHECK(heard.names() == Lines{"", "", "", with_nul, large, large});
}

TEST_CASE("Names of threads are heard") {
  Heard heard;
  const annotate::ListenerGuard guard(heard);
  annotate::name_thread("loader");
  CHECK(heard.lines() == Lines{"thread 0 loader"});
}

TEST_CASE("Several listeners hear the same, each as long as it listens") {
  Heard first, second;
  const annotate::ListenerGuard guard(first);
  annotate::mark("one");
  {
    const annotate::ListenerGuard another(second);
    annotate::mark("two");
  }
  annotate::mark("three");
  CHECK(first.lines() == Lines{"mark 0 one", "mark 0 two", "mark 0 three"});
  CHECK(second.lines() == Lines{"mark 0 two"});
}

TEST_CASE("Depths begin anew when somebody begins to listen again") {
  Heard heard;
  std::optional<annotate::ListenerGuard> guard(heard);
  CHECK(annotate::range_push("forgotten") == 0);
  std::optional<annotate::Range> scope("forgotten too");
  guard.reset();
  CHECK(annotate::range_push("unheard") == annotate::nobody_listens);
  guard.emplace(heard);
  CHECK(annotate::range_pop() == annotate::no_range);
  CHECK(annotate::range_push("new") == 0);
  scope.reset();
  CHECK(annotate::range_pop() == 0);
  CHECK(heard.lines() == Lines{"push 0 forgotten", "push 1 forgotten too", "push 0 new", "pop 0"});
}

namespace {

struct Throwing : annotate::Listener {
  void marked(const annotate::Event& /*event*/) override { throw std::runtime_error("no ears"); }
};

struct Calling : annotate::Listener {
  void marked(const annotate::Event& /*event*/) override {
    ++calls;
    annotate::mark("heard by nobody");
    pushed = annotate::range_push("nor is this");
    refused = test::code_of([] { anyplace::Device("cpu_sim:0"); });
    guard_refused = test::code_of([this] { const annotate::ListenerGuard guard(*this); });
  }
  int calls = 0;
  int pushed = 0;
  ErrorCode refused = ErrorCode::ok;
  ErrorCode guard_refused = ErrorCode::ok;
};

}  // namespace

TEST_CASE("What a listener throws is told, and the others hear") {
  Throwing throwing;
  Heard heard;
  const annotate::ListenerGuard first(throwing), second(heard);
  const test::Reports reports;
  annotate::mark("here");
  CHECK(heard.lines() == Lines{"mark 0 here"});
  REQUIRE(reports.all().size() == 1);
  CHECK(std::string(reports.all().front().what()).find("no ears") != std::string::npos);
}

TEST_CASE("In a listener's function annotations are silent and calls are refused") {
  Calling calling;
  const annotate::ListenerGuard guard(calling);
  annotate::mark("here");
  CHECK(calling.calls == 1);
  CHECK(calling.pushed == annotate::nobody_listens);
  CHECK(calling.refused == ErrorCode::not_permitted);
  CHECK(calling.guard_refused == ErrorCode::not_permitted);
}

TEST_CASE("A listener may go while others annotate") {
  struct Counting : annotate::Listener {
    void marked(const annotate::Event& /*event*/) override {
      if (gone.load()) called_late = true;
      ++calls;
    }
    std::atomic<bool> gone{false}, called_late{false};
    std::atomic<int> calls{0};
  };
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop.load()) annotate::mark("busy");
    });
  }
  for (int round = 0; round < 50; ++round) {
    Counting counting;
    {
      const annotate::ListenerGuard guard(counting);
      annotate::mark("here");
    }
    counting.gone = true;
    CHECK(counting.calls.load() >= 1);
    CHECK_FALSE(counting.called_late.load());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("Names of domains and categories that can't be are refused") {
  const auto says = [](const anyplace::Error& error, const char* text) {
    INFO(error.what());
    return std::string(error.what()).find(text) != std::string::npos;
  };
  using test::required_error;
  CHECK(says(required_error(ErrorCode::invalid_argument, [] { annotate::Domain(""); }), "empty"));
  CHECK(says(required_error(ErrorCode::invalid_argument, [] { annotate::Category(""); }), "empty"));
  CHECK(says(required_error(ErrorCode::invalid_argument, [] { annotate::Domain(std::string("a\0b", 3)); }), "\\x00"));
  CHECK(says(required_error(ErrorCode::invalid_argument, [] { annotate::Domain(std::string(1025, 'd')); }), "1024"));
  CHECK_NOTHROW(annotate::Domain(std::string(1024, 'd')));
}

TEST_CASE("More domains or categories than there may be are refused, and the known ones stay") {
  const annotate::Domain first("domain 1");
  for (int i = 2; i <= 63; ++i) annotate::Domain("domain " + std::to_string(i));
  const anyplace::Error error = test::required_error(ErrorCode::invalid_argument, [] { annotate::Domain("one more"); });
  CHECK(error.text().find("63 domains") != std::string::npos);
  CHECK(annotate::Domain("domain 1") == first);
  for (int i = 1; i <= 1023; ++i) annotate::Category("category " + std::to_string(i));
  CHECK(test::code_of([] { annotate::Category("one more"); }) == ErrorCode::invalid_argument);
}

TEST_CASE("More listeners than there may be are refused") {
  std::vector<std::unique_ptr<Heard>> listeners;
  std::vector<std::unique_ptr<annotate::ListenerGuard>> guards;
  for (int i = 0; i < 16; ++i) {
    listeners.push_back(std::make_unique<Heard>());
    guards.push_back(std::make_unique<annotate::ListenerGuard>(*listeners.back()));
  }
  Heard heard;
  CHECK(test::code_of([&] { const annotate::ListenerGuard guard(heard); }) == ErrorCode::invalid_argument);
  guards.pop_back();
  const annotate::ListenerGuard guard(heard);
  annotate::mark("here");
  CHECK(heard.lines().size() == 1);
}

}  // namespace listener_test
