// SPDX-License-Identifier: Apache-2.0
//
// fetch_descriptors(): fetches into this process the file descriptors that another process's DescriptorServer
// (descriptor_server.h) offers. It is for vendors whose handles for other processes are file descriptors or contain
// one.
//
// There are two ways, tried in this order:
//
//   pidfd_getfd(2)   takes the descriptor out of the other process. The system allows it to whom it allows to attach a
//                    debugger: not where Yama, a container or an old kernel (before 5.6) is against it.
//   a Unix socket    the other process's server sends it (unix(7), SCM_RIGHTS), to processes of the same user. The
//                    socket's name is abstract, so nothing of it is in the file system.
//
// A thread that waits for an answer also watches the other process, so it doesn't wait for one that has ended.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "process_access.h"
#include "process_identity.h"
#include "results.h"
#include "shortage.h"

namespace anyplace::backend {

/// The address of a process's descriptors. It consists of plain bytes, which are sent to other processes.
struct DescriptorOwner {
  std::uint32_t pid = 0;  ///< its number in the PID namespace of those that share
  std::uint32_t reserved = 0;
  std::uint64_t start = 0;  ///< start time, as in ProcessIdentity
  std::uint64_t nonce = 0;  ///< part of its socket's name

  /// The process whose descriptors they are.
  ProcessIdentity process() const noexcept { return {pid, start}; }
  friend bool operator==(const DescriptorOwner&, const DescriptorOwner&) noexcept = default;
};

/// Names a descriptor of another process. The inode detects that the number names another file by now.
struct CarriedDescriptor {
  std::uint32_t number = 0;  ///< the descriptor's number in its process
  std::uint32_t inode = 0;   ///< its low half

  friend bool operator==(const CarriedDescriptor&, const CarriedDescriptor&) noexcept = default;
};

/// The low half of the file's inode number; 0 if fstat fails.
inline std::uint32_t inode_of(int descriptor) noexcept {
  struct stat found {};
  return fstat(descriptor, &found) == 0 ? static_cast<std::uint32_t>(found.st_ino) : 0;
}

/// Throws BACKEND_FAILED if this process can have no further descriptor. Drivers that fail for want of one may report
/// any reason.
inline void require_descriptor(const std::string& what) {
  const int probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int error = errno;
  if (probe >= 0) close(probe);
  if (probe < 0 && is_descriptor_shortage(error))
    refuse(ANYPLACE_STATUS_BACKEND_FAILED, no_descriptor_text(what, error));
}

/// An owned file descriptor, closed when the object is destroyed.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  /// Takes the ownership of that descriptor; -1 for none.
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;  // it is closed once
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  /// The descriptor, which stays this object's; -1 for none.
  int number() const noexcept { return number_; }
  /// Gives the ownership to the caller.
  int release() noexcept { return std::exchange(number_, -1); }
  /// Whether there is a descriptor.
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// How a descriptor is fetched from another process.
enum class DescriptorWay : std::uint8_t {
  any,     ///< by whichever works
  pidfd,   ///< by pidfd_getfd, which needs the right to trace the process
  socket,  ///< by the socket that the process serves
};

namespace detail {

// ---- The protocol over the socket ----------------------------------------------------------------------------------

enum class DescriptorAnswer : std::uint32_t { here, not_offered, other_user };

struct DescriptorRequest {
  static constexpr std::uint32_t right_magic = 0x6470'6661;
  static constexpr std::uint32_t most = 64;  // the system sends 253 at most

  std::uint32_t magic;
  std::uint32_t count;
  std::uint32_t numbers[most];

  std::size_t size() const noexcept { return offsetof(DescriptorRequest, numbers) + count * sizeof(std::uint32_t); }
};

/// A buffer for the descriptors that go with a message.
union DescriptorControl {
  cmsghdr align;
  char bytes[CMSG_SPACE(DescriptorRequest::most * sizeof(int))];
};

/// Writes the name of a process's socket and returns its length. The name is abstract, so its first byte is 0.
inline socklen_t descriptor_socket_name(const DescriptorOwner& owner, sockaddr_un& name) noexcept {
  name = {};
  name.sun_family = AF_UNIX;
  const int length =
      std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "anyplace-descriptors-%u-%llu-%016llx", owner.pid,
                    static_cast<unsigned long long>(owner.start), static_cast<unsigned long long>(owner.nonce));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
}

// ---- Fetching ------------------------------------------------------------------------------------------------------

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

class DescriptorFetch {
 public:
  DescriptorFetch(const DescriptorOwner& owner, std::span<const CarriedDescriptor> wanted)
      : owner_(owner), wanted_(wanted), process_("process " + std::to_string(owner.pid)) {
    process_descriptor_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, owner.pid, 0)));
    // The process is checked after the descriptor was opened: if it still is the one that was named, it was when the
    // descriptor was made.
    if (is_ending(owner.process())) refuse_gone();
    found_.reserve(wanted.size());
  }

  /// Returns false if the system doesn't allow pidfd_getfd or lacks it.
  bool by_pidfd() {
    if (!process_descriptor_) return false;
    for (const CarriedDescriptor& each : wanted_) {
      const auto number = static_cast<int>(syscall(SYS_pidfd_getfd, process_descriptor_.number(), each.number, 0));
      if (number < 0) {
        const int error = errno;
        if (error == ESRCH || is_ending(owner_.process())) refuse_gone();
        if (error == EBADF) refuse_closed(each);
        if (is_shortage(error)) refuse_shortage(error);
        found_.clear();
        return false;
      }
      found_.emplace_back(number);
    }
    return true;
  }

  void by_socket() {
    const Descriptor connection = connect_to_server();
    for (std::size_t done = 0; done < wanted_.size();) {
      const std::size_t count = std::min<std::size_t>(wanted_.size() - done, DescriptorRequest::most);
      ask(connection.number(), wanted_.subspan(done, count));
      hear(connection.number(), wanted_.subspan(done, count));
      done += count;
    }
  }

  std::vector<Descriptor> result() {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (inode_of(found_[i].number()) != wanted_[i].inode) refuse_closed(wanted_[i]);
    }
    return std::move(found_);
  }

 private:
  static constexpr std::chrono::seconds most_wait{10};

  [[noreturn]] void refuse_gone() const {
    refuse(ANYPLACE_STATUS_PEER_GONE, process_ + ", whose memory it is, has ended");
  }
  [[noreturn]] void refuse_closed(const CarriedDescriptor& each) const {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "descriptor " + std::to_string(each.number) + " of " + process_ + " isn't what was shared, or not any more");
  }
  [[noreturn]] static void refuse_shortage(int error) {
    if (!is_descriptor_shortage(error)) {
      throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY, std::strerror(error), error, "pidfd_getfd");
    }
    refuse(ANYPLACE_STATUS_BACKEND_FAILED, no_descriptor_text("another process's memory", error));
  }
  [[noreturn]] void refuse_answer(const std::string& why, int error) const {
    if (is_descriptor_shortage(error)) refuse_shortage(error);
    const anyplace_status status = is_shortage(error) ? ANYPLACE_STATUS_OUT_OF_MEMORY : ANYPLACE_STATUS_BACKEND_FAILED;
    throw Failure(status,
                  process_ + ", whose memory it is, can't be asked for it: " + why +
                      "\nrun both processes as one user, in one PID and network namespace; or allow them to attach to "
                      "each other (ptrace)",
                  error, "socket");
  }

  Descriptor connect_to_server() const {
    Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!connection) refuse_answer(std::strerror(errno), errno);
    const timeval limit{most_wait.count(), 0};
    setsockopt(connection.number(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    sockaddr_un name{};
    const socklen_t length = descriptor_socket_name(owner_, name);
    if (connect(connection.number(), reinterpret_cast<const sockaddr*>(&name), length) != 0) {
      const int error = errno;
      if (is_ending(owner_.process())) refuse_gone();
      refuse_answer(std::string("connect: ") + std::strerror(error), error == EAGAIN ? ETIMEDOUT : error);
    }
    ucred answering{};
    socklen_t size = sizeof(answering);
    // Any process may bind an abstract name, so the peer has to be checked: it must be the process that the handle
    // names.
    if (getsockopt(connection.number(), SOL_SOCKET, SO_PEERCRED, &answering, &size) != 0 ||
        static_cast<std::uint32_t>(answering.pid) != owner_.pid) {
      refuse_answer("another process answers in its name", 0);
    }
    return connection;
  }

  void ask(int connection, std::span<const CarriedDescriptor> part) const {
    DescriptorRequest request{DescriptorRequest::right_magic, static_cast<std::uint32_t>(part.size()), {}};
    for (std::size_t i = 0; i < part.size(); ++i) request.numbers[i] = part[i].number;
    if (send(connection, &request, request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) return;
    const int error = errno;
    if (is_ending(owner_.process())) refuse_gone();
    // A server that refuses this user closes without reading, but its answer can still be received.
    if (error != EPIPE && error != ECONNRESET) refuse_answer(std::string("send: ") + std::strerror(error), error);
  }

  /// Waits for an answer. The process's descriptor (pidfd) reports at once when the process ends.
  void wait(int connection) const {
    const auto end = std::chrono::steady_clock::now() + most_wait;
    constexpr int look_ms = 100;  // how often the process is checked where it has no pidfd
    for (;;) {
      pollfd watched[2] = {{connection, POLLIN, 0}, {process_descriptor_.number(), POLLIN, 0}};
      if (poll(watched, 2, process_descriptor_ ? 1000 : look_ms) < 0 && errno != EINTR) return;
      if (watched[0].revents != 0) return;
      if (watched[1].revents != 0 || is_ending(owner_.process())) refuse_gone();
      if (std::chrono::steady_clock::now() >= end) refuse_answer("it doesn't answer", ETIMEDOUT);
    }
  }

  void hear(int connection, std::span<const CarriedDescriptor> part) {
    wait(connection);
    auto answer = DescriptorAnswer::not_offered;
    iovec payload{&answer, sizeof(answer)};
    DescriptorControl control{};
    msghdr message{};
    message.msg_iov = &payload;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    ssize_t length = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    // The error that the server closed without reading the question is received before its answer.
    if (length < 0 && errno == ECONNRESET) length = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const int error = errno;
    const std::size_t before = found_.size();
    for (cmsghdr* at = CMSG_FIRSTHDR(&message); length >= 0 && at != nullptr; at = CMSG_NXTHDR(&message, at)) {
      if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(at) + i * sizeof(int), sizeof(number));
        found_.emplace_back(number);
      }
    }
    if (length != sizeof(answer)) {
      if (is_ending(owner_.process())) refuse_gone();
      refuse_answer(length < 0 ? std::strerror(error) : "it closed the connection", length < 0 ? error : 0);
    }
    if (answer == DescriptorAnswer::other_user) refuse_answer("it is another user's", EPERM);
    if (answer != DescriptorAnswer::here) refuse_closed(part.front());
    // The system drops descriptors for which this process has no free number.
    if ((message.msg_flags & MSG_CTRUNC) != 0 || found_.size() - before != part.size()) refuse_shortage(EMFILE);
  }

  const DescriptorOwner owner_;
  const std::span<const CarriedDescriptor> wanted_;
  const std::string process_;
  Descriptor process_descriptor_;
  std::vector<Descriptor> found_;
};

}  // namespace detail

/// Fetches descriptors of another process, in their order. Thread-safe. It takes at most ten seconds. Throws Failure:
/// PEER_GONE if that process has ended, INVALID_ARGUMENT if a descriptor isn't offered or is another file by now,
/// OUT_OF_MEMORY, and BACKEND_FAILED, with advice, if neither way works or descriptors ran out.
inline std::vector<Descriptor> fetch_descriptors(const DescriptorOwner& owner,
                                                 std::span<const CarriedDescriptor> wanted,
                                                 DescriptorWay way = DescriptorWay::any) {
  detail::DescriptorFetch fetch(owner, wanted);
  const bool done = way != DescriptorWay::socket && fetch.by_pidfd();
  if (!done && way == DescriptorWay::pidfd) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "the system gives no descriptors of process " + std::to_string(owner.pid));
  }
  if (!done) fetch.by_socket();
  return fetch.result();
}

}  // namespace anyplace::backend
