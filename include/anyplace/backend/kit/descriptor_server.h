// SPDX-License-Identifier: Apache-2.0
//
// DescriptorServer: offers file descriptors of this process to others, which fetch them with descriptors.h. Its thread
// sends them over a Unix socket to processes that the system doesn't allow to take them by pidfd_getfd. The first offer
// starts the thread, stop() ends it.
//
// Only offered descriptors are sent, and only to processes of the same user (SO_PEERCRED). A process that connects and
// sends nothing, or doesn't read, blocks no other.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include <map>
#include <mutex>
#include <thread>

#include "descriptors.h"
#include "start_thread.h"

namespace anyplace::backend {

/// Thread-safe. A backend has one: descriptor_server().
class DescriptorServer {
 public:
  DescriptorServer() noexcept = default;
  DescriptorServer(const DescriptorServer&) = delete;  // its thread points at it
  DescriptorServer& operator=(const DescriptorServer&) = delete;
  ~DescriptorServer() { stop(); }

  /// The address under which other processes find this server.
  DescriptorOwner owner() {
    const std::lock_guard lock(mutex_);
    return known_owner();
  }
  /// Lets others fetch the descriptor. The caller keeps owning it, and keeps it open until it was withdrawn as often as
  /// offered. Where no thread or socket can be had, only pidfd_getfd remains, and the next offer tries again.
  CarriedDescriptor offer(int descriptor) {
    const std::lock_guard lock(mutex_);
    ++offered_[descriptor];
    start();
    return {static_cast<std::uint32_t>(descriptor), inode_of(descriptor)};
  }
  /// Withdraws one offer. When it returns, the descriptor isn't being sent.
  void withdraw(int descriptor) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = offered_.find(descriptor);
    if (found != offered_.end() && --found->second == 0) offered_.erase(found);
  }
  /// Ends the thread and closes the socket. A later offer starts them again.
  void stop() noexcept {
    std::thread ended;
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable()) return;
      stopping_ = true;
      ended = std::move(thread_);
      const std::uint64_t one = 1;
      static_cast<void>(!write(wake_.number(), &one, sizeof(one)));
    }
    ended.join();
    const std::lock_guard lock(mutex_);
    listening_ = Descriptor();
    wake_ = Descriptor();
    stopping_ = false;
  }

 private:
  static constexpr int backlog = 64;
  static constexpr std::size_t most_clients = 32;

  // The caller holds the mutex, except for serve() and the functions it calls.

  const DescriptorOwner& known_owner() noexcept {
    if (owner_.pid != 0) return owner_;
    const ProcessIdentity self = this_process();
    std::uint64_t nonce = 0;
    if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) != sizeof(nonce)) {
      nonce = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    }
    return owner_ = {self.pid, 0, self.start, nonce};
  }
  void start() noexcept {
    if (thread_.joinable() || stopping_) return;
    Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    Descriptor listening(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un name{};
    const socklen_t length = detail::descriptor_socket_name(known_owner(), name);
    if (!wake || !listening || bind(listening.number(), reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
        listen(listening.number(), backlog) != 0) {
      return;
    }
    try {
      thread_ =
          start_thread("anyplace-share", [this, wake_number = wake.number(), listening_number = listening.number()] {
            serve(wake_number, listening_number);
          });
    } catch (const Failure&) {
      return;
    }
    wake_ = std::move(wake);
    listening_ = std::move(listening);
  }

  // ---- The thread

  void serve(int wake, int listening) noexcept {
    Descriptor clients[most_clients];
    // The slot of the next client. A client that has it already is the one that connected first, and is replaced.
    std::size_t next = 0;
    for (;;) {
      pollfd watched[most_clients + 2];
      watched[0] = {wake, POLLIN, 0};
      watched[1] = {listening, POLLIN, 0};
      for (std::size_t i = 0; i < most_clients; ++i) watched[i + 2] = {clients[i].number(), POLLIN, 0};
      if (poll(watched, most_clients + 2, -1) < 0) continue;  // a signal interrupted it
      if (watched[0].revents != 0) return;
      for (std::size_t i = 0; i < most_clients; ++i) {
        if (watched[i + 2].revents != 0 && !answer(clients[i].number())) clients[i] = Descriptor();
      }
      if (watched[1].revents == 0) continue;
      Descriptor client(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!client) {
        // accept() needs a descriptor: without one poll() would report the client again at once.
        constexpr int rest_ms = 10;
        if (is_shortage(errno) && poll(watched, 1, rest_ms) > 0) return;
        continue;
      }
      if (!may_have(client.number())) {
        reply(client.number(), detail::DescriptorAnswer::other_user, {});
        continue;
      }
      clients[next] = std::move(client);
      next = (next + 1) % most_clients;
    }
  }

  static bool may_have(int client) noexcept {
    ucred asking{};
    socklen_t size = sizeof(asking);
    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &asking, &size) == 0 && asking.uid == geteuid();
  }

  /// Returns false if the connection to the client is over.
  bool answer(int client) noexcept {
    detail::DescriptorRequest request;
    const ssize_t length = recv(client, &request, sizeof(request), MSG_DONTWAIT);
    if (length < 0) return errno == EAGAIN || errno == EINTR;
    const bool has_head = length >= static_cast<ssize_t>(offsetof(detail::DescriptorRequest, numbers));
    if (!has_head || request.magic != detail::DescriptorRequest::right_magic || request.count == 0 ||
        request.count > detail::DescriptorRequest::most || static_cast<std::size_t>(length) != request.size()) {
      return false;
    }
    int numbers[detail::DescriptorRequest::most];
    // The mutex is held until the descriptor is sent, because its owner closes it once it is withdrawn.
    const std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < request.count; ++i) {
      numbers[i] = static_cast<int>(request.numbers[i]);
      if (offered_.count(numbers[i]) == 0) return reply(client, detail::DescriptorAnswer::not_offered, {});
    }
    return reply(client, detail::DescriptorAnswer::here, {numbers, request.count});
  }

  static bool reply(int client, detail::DescriptorAnswer answer, std::span<const int> numbers) noexcept {
    iovec payload{&answer, sizeof(answer)};
    detail::DescriptorControl control{};
    msghdr message{};
    message.msg_iov = &payload;
    message.msg_iovlen = 1;
    if (!numbers.empty()) {
      message.msg_control = control.bytes;
      message.msg_controllen = CMSG_SPACE(numbers.size_bytes());
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(numbers.size_bytes());
      std::memcpy(CMSG_DATA(head), numbers.data(), numbers.size_bytes());
    }
    return sendmsg(client, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(answer));
  }

  std::mutex mutex_;            // guards all below; a leaf
  std::map<int, int> offered_;  // how often each descriptor is offered
  DescriptorOwner owner_;       // set once pid isn't 0
  std::thread thread_;
  bool stopping_ = false;
  Descriptor wake_, listening_;  // open while the thread runs
};

/// The backend's server. It is never destroyed, because its thread may run until the process ends.
inline DescriptorServer& descriptor_server() {
  static DescriptorServer& server = *new DescriptorServer;
  return server;
}

}  // namespace anyplace::backend
