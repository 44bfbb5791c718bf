// SPDX-License-Identifier: Apache-2.0
//
// ipc_peer PLACE: the second process of the cases. It reads one command a line from standard input and answers each
// with one line: "ok ...", or "error CODE: TEXT". It ends with its input.
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "ipc/hex.h"
#include "ipc/ping_pong.h"
#include "support/host_gate.h"

namespace {

using anyplace::Buffer;
using anyplace::Event;

class Peer {
 public:
  explicit Peer(const std::string& place) : device_(place), stream_(device_) {}

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    std::string name;
    words >> command >> name;
    if (command == "buffer") {
      std::uint64_t bytes = 0;
      std::string shareable;
      words >> bytes >> shareable;
      buffers_.insert_or_assign(name, Buffer(stream_, bytes, {.shareable = !shareable.empty()}));
      return "";
    }
    if (command == "event") return make_event(name);
    if (command == "export") return test::to_hex(buffers_.at(name).export_handle());
    if (command == "export-event") return test::to_hex(events_.at(name).export_handle());
    if (command == "import" || command == "import-event") return import(command == "import", name, words);
    if (command == "drop") return std::to_string(buffers_.erase(name));
    if (command == "drop-event") return std::to_string(events_.erase(name));
    if (command == "address") return std::to_string(buffers_.at(name).address());
    if (command == "fill" || command == "read") return touch(command == "fill", name, words);
    if (command == "pong") return play(name, words);
    if (command == "collect") return std::to_string(anyplace::ipc_collect(device_));
    return stream_command(command, name);
  }

 private:
  /// From now on the system refuses this thread other processes' descriptors, as Yama or a container does.
  static void forbid_taking() {
    constexpr unsigned pidfd_getfd = 438;
    sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, pidfd_getfd, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ||
        syscall(pidfd_getfd, -1, 0, 0) != -1 || errno != EPERM) {
      throw std::runtime_error("there is no seccomp");
    }
  }
  /// From now on this process has no more rights than a user's: it may not look into one that is undumpable.
  static void drop_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2] = {};
    if (syscall(SYS_capset, &header, none) != 0) throw std::runtime_error("capset failed");
  }
  std::string make_event(const std::string& name) {
    events_.insert_or_assign(name, Event(device_, {.interprocess = true}));
    return "";
  }
  std::string import(bool buffer, const std::string& name, std::istringstream& words) {
    std::string hex;
    words >> hex;
    if (buffer) {
      buffers_.insert_or_assign(name, Buffer::import(stream_, test::from_hex(hex)));
    } else {
      events_.insert_or_assign(name, Event::import(device_, test::from_hex(hex)));
    }
    return "";
  }
  std::string touch(bool fill, const std::string& name, std::istringstream& words) {
    std::uint64_t number = 0;
    words >> number;
    const Buffer& buffer = buffers_.at(name);
    std::uint8_t value = 0;
    if (fill) {
      stream_.fill(buffer.as<std::uint8_t>(), static_cast<std::uint8_t>(number));
    } else {
      stream_.copy(anyplace::HostSpan(&value, 1), buffer.sub(number, 1));
      stream_.synchronize();
    }
    return std::to_string(value);
  }
  std::string play(const std::string& name, std::istringstream& words) {
    std::string ping;
    std::string pong;
    int rounds = 0;
    words >> ping >> pong >> rounds;
    std::cout << "ok\n" << std::flush;
    test::answer_pings(stream_, buffers_.at(name), events_.at(ping), events_.at(pong), rounds,
                       {STDIN_FILENO, STDOUT_FILENO});
    return "played";
  }
  std::string stream_command(const std::string& command, const std::string& name) {
    if (command == "block") {
      gate_ = std::make_unique<test::HostGate>();
      gate_->block(stream_);
    } else if (command == "unblock") {
      gate_->open();
    } else if (command == "sync") {
      stream_.synchronize();
    } else if (command == "record") {
      stream_.record_event(events_.at(name));
    } else if (command == "wait") {
      stream_.wait_event(events_.at(name));
    } else if (command == "sync-event") {
      events_.at(name).synchronize();
    } else if (command == "query-event") {
      return events_.at(name).query() ? "done" : "pending";
    } else if (command == "forbid-taking") {
      forbid_taking();
    } else if (command == "drop-capabilities") {
      drop_capabilities();
    } else if (command == "query") {
      return stream_.query() ? "done" : "pending";
    } else {
      throw std::runtime_error("no such command: " + command);
    }
    return "";
  }

  anyplace::Device device_;
  anyplace::Stream stream_;
  std::map<std::string, Buffer> buffers_;
  std::map<std::string, Event> events_;
  std::unique_ptr<test::HostGate> gate_;
};

/// Without a buffer of its own, because a game reads from the same descriptor.
bool read_line(std::string& line) {
  line.clear();
  for (char letter = 0; read(STDIN_FILENO, &letter, 1) == 1; line += letter) {
    if (letter == '\n') return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) try {
  Peer peer(argc > 1 ? argv[1] : "cpu_sim:0");
  for (std::string line; read_line(line);) {
    try {
      const std::string text = peer.answer(line);
      std::cout << "ok" << (text.empty() ? "" : " ") << text << std::endl;
    } catch (const anyplace::Error& error) {
      std::cout << "error " << anyplace::to_string(error.code()) << ": " << error.text() << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error other: " << error.what() << std::endl;
    }
  }
} catch (const std::exception& error) {
  std::cout << "error start: " << error.what() << std::endl;
  return 1;
}
