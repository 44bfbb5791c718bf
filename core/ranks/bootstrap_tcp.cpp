// SPDX-License-Identifier: Apache-2.0
//
// Ranks meet over TCP. Rank 0 listens; each other rank connects, says who it is, and gets rank 0's bytes once all have
// come, or is told what is wrong. A rank that makes a later communicator than rank 0 does is told to come again.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "ranks/bootstrap.h"
#include "ranks/engine_group.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr std::uint64_t magic = 0x314b4e4152594e41;  // "ANYRANK1", as bytes
constexpr std::chrono::milliseconds again_after{5};
constexpr std::uint32_t most_reply = 64 * 1024;

/// The first bytes that a rank sends. All machines are little-endian.
struct Hello {
  std::uint64_t magic = 0;
  std::uint32_t size = 0;
  std::uint32_t rank = 0;
  std::uint64_t number = 0;  ///< how many communicators it has made over this address, with this one
};
enum class Answer : std::uint32_t { bytes = 0, come_again = 1, wrong = 2 };
struct Reply {
  Answer answer = Answer::bytes;
  std::uint32_t size = 0;
};

class Socket {
 public:
  explicit Socket(int descriptor = -1) noexcept : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Socket(const Socket&) = delete;  // closed once
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// Waits until the socket has one of the events. Returns false if time ran out.
bool wait_for(const Socket& socket, short events, const Deadline& deadline) {
  pollfd one{socket.get(), events, 0};
  constexpr std::chrono::milliseconds longest{1000};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left(longest));
    const int ready = ::poll(&one, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (deadline.passed()) return false;
  }
}

/// Sends all bytes. Returns false if the other side has ended or time ran out.
bool send_all(const Socket& socket, const void* data, std::size_t size, const Deadline& deadline) {
  const auto* bytes = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t sent = ::send(socket.get(), bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!wait_for(socket, POLLOUT, deadline)) return false;
      continue;
    }
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(const Socket& socket, void* data, std::size_t size, const Deadline& deadline) {
  auto* bytes = static_cast<char*>(data);
  while (size != 0) {
    const ssize_t got = ::recv(socket.get(), bytes, size, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!wait_for(socket, POLLIN, deadline)) return false;
      continue;
    }
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

void reply(const Socket& socket, Answer answer, const void* data, std::size_t size, const Deadline& deadline) {
  const Reply head{answer, static_cast<std::uint32_t>(size)};
  if (send_all(socket, &head, sizeof(head), deadline)) send_all(socket, data, size, deadline);
}

/// Counts a communicator that this process makes over the plan's address. Returns how many those are now.
std::uint64_t next_number(const BootstrapPlan& plan) {
  struct Numbers {
    std::mutex mutex;  // guards of_address; a leaf
    std::map<std::string, std::uint64_t> of_address;
  };
  static NoDestructor<Numbers> numbers;
  const std::lock_guard lock(numbers.value.mutex);
  return ++numbers.value.of_address[fmt::format("{}:{}", plan.address, plan.port)];
}

// ---- Rank 0 --------------------------------------------------------------------------------------------------------

class Listener {
 public:
  Listener(const BootstrapPlan& plan, const Meeting& meeting, std::uint64_t number)
      : plan_(plan), meeting_(meeting), number_(number), deadline_(to_timeout_ns(meeting.timeout)) {}

  Bytes meet() {
    listen();
    const Bytes bytes = meeting_.make();
    std::string wrong;
    while (wrong.empty() && present_.size() + 1 < static_cast<std::size_t>(plan_.size)) wrong = take_one();
    const auto* const data = wrong.empty() ? static_cast<const void*>(bytes.data()) : wrong.data();
    for (const auto& [rank, socket] : present_) {
      reply(socket, wrong.empty() ? Answer::bytes : Answer::wrong, data, wrong.empty() ? bytes.size() : wrong.size(),
            deadline_);
    }
    if (!wrong.empty()) fail(ErrorCode::invalid_argument, meeting_.place, meeting_.operation, wrong);
    return bytes;
  }

 private:
  void listen() {
    listening_ = Socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(plan_.port);
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(plan_.port);
    if (listening_) {
      const int off = 0;
      ::setsockopt(listening_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
      if (bind(&six, sizeof(six))) return;
    }
    listening_ = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listening_ && bind(&four, sizeof(four))) return;
    const int error = errno;
    fail(ErrorCode::invalid_argument, meeting_.place, meeting_.operation,
         fmt::format("rank 0 can't listen on port {}: {}\ngive another MASTER_PORT, end what has it, or give one "
                     "process alone the rank 0\nsee docs/ranks.md",
                     plan_.port, std::strerror(error)));
  }
  template <class Address>
  bool bind(const Address* address, socklen_t size) {
    const int on = 1;
    ::setsockopt(listening_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    return ::bind(listening_.get(), reinterpret_cast<const sockaddr*>(address), size) == 0 &&
           ::listen(listening_.get(), SOMAXCONN) == 0;
  }

  /// Waits for what comes next, a connection or bytes of a connection's hello, and takes it. Returns what is wrong with
  /// a rank; "" if nothing is.
  std::string take_one() {
    std::vector<pollfd> all{{listening_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_) all.push_back({guest.socket.get(), POLLIN, 0});
    constexpr std::chrono::milliseconds longest{1000};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_.left(longest));
    const int ready = ::poll(all.data(), all.size(), static_cast<int>(left.count()));
    if (ready <= 0) {
      if (!deadline_.passed()) return "";
      throw timeout_error(meeting_.place, meeting_.operation,
                          fmt::format("meet at {}:{} ({} of {} ranks have, rank {} hasn't)", plan_.address, plan_.port,
                                      present_.size() + 1, plan_.size, first_missing()),
                          meeting_.timeout);
    }
    std::string wrong;
    for (std::size_t i = guests_.size(); i-- > 0 && wrong.empty();) {
      if (all[i + 1].revents != 0) wrong = listen_to(i);
    }
    if (all[0].revents != 0) {
      Socket socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket) guests_.push_back({std::move(socket), {}, 0});
    }
    return wrong;
  }

  struct Guest {
    Socket socket;
    Hello hello;
    std::size_t got = 0;
  };

  std::string listen_to(std::size_t index) {
    Guest& guest = guests_[index];
    const ssize_t got =
        ::recv(guest.socket.get(), reinterpret_cast<char*>(&guest.hello) + guest.got, sizeof(Hello) - guest.got, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return "";
    if (got > 0) guest.got += static_cast<std::size_t>(got);
    if (got > 0 && guest.got < sizeof(Hello)) return "";
    Guest said = std::move(guest);
    guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(index));
    if (got <= 0 || said.hello.magic != magic) return "";  // it is no rank of a communicator
    return seat(std::move(said));
  }

  std::string seat(Guest guest) {
    const Hello& hello = guest.hello;
    const int rank = static_cast<int>(hello.rank);
    std::string wrong;
    if (hello.size != static_cast<std::uint32_t>(plan_.size)) {
      wrong = fmt::format("rank 0 says that there are {} ranks, and rank {} says {}\nall are given the same size",
                          plan_.size, rank, hello.size);
    } else if (hello.number > number_) {
      reply(guest.socket, Answer::come_again, nullptr, 0, deadline_);
      return "";
    } else if (rank < 1 || rank >= plan_.size || present_.count(rank) != 0) {
      wrong = fmt::format("two processes are rank {}\ngive each a rank of its own, of 0 to {}", rank, plan_.size - 1);
    }
    if (wrong.empty()) {
      present_.emplace(rank, std::move(guest.socket));
    } else {
      reply(guest.socket, Answer::wrong, wrong.data(), wrong.size(), deadline_);
    }
    return wrong;
  }

  int first_missing() const {
    int rank = 1;
    while (present_.count(rank) != 0) ++rank;
    return rank;
  }

  const BootstrapPlan& plan_;
  const Meeting& meeting_;
  const std::uint64_t number_;
  const Deadline deadline_;
  Socket listening_;
  std::vector<Guest> guests_;  ///< the connections whose hello isn't complete yet
  std::map<int, Socket> present_;
};

// ---- The others ----------------------------------------------------------------------------------------------------

class Visitor {
 public:
  Visitor(const BootstrapPlan& plan, const Meeting& meeting, std::uint64_t number)
      : plan_(plan), meeting_(meeting), number_(number), deadline_(to_timeout_ns(meeting.timeout)) {}

  Bytes meet() {
    std::string last = "nobody listens there";
    while (true) {
      Bytes bytes;
      if (const Socket socket = connect(last)) {
        if (ask(socket, bytes)) return bytes;
        last = "it has ended the connection";
      }
      if (deadline_.passed()) {
        throw timeout_error(meeting_.place, meeting_.operation,
                            fmt::format("meet at {}:{} ({})", plan_.address, plan_.port, last), meeting_.timeout);
      }
      std::this_thread::sleep_for(again_after);
    }
  }

 private:
  Socket connect(std::string& last) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(plan_.address.c_str(), std::to_string(plan_.port).c_str(), &hints, &found);
    if (error != 0) {
      last = gai_strerror(error);
      return Socket();
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket) continue;
      if (::connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0 && errno != EINPROGRESS) {
        last = std::strerror(errno);
        continue;
      }
      if (!wait_for(socket, POLLOUT, deadline_)) continue;
      int failed = 0;
      socklen_t size = sizeof(failed);
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
      if (failed == 0) return socket;
      last = std::strerror(failed);
    }
    return Socket();
  }

  /// Returns false if the caller has to come again: rank 0 said so, or the connection has ended.
  bool ask(const Socket& socket, Bytes& bytes) const {
    const Hello hello{magic, static_cast<std::uint32_t>(plan_.size), static_cast<std::uint32_t>(plan_.rank), number_};
    Reply head;
    if (!send_all(socket, &hello, sizeof(hello), deadline_)) return false;
    if (!receive_all(socket, &head, sizeof(head), deadline_)) return false;
    if (head.answer == Answer::come_again || head.size > most_reply) return false;
    bytes.resize(head.size);
    if (!receive_all(socket, bytes.data(), bytes.size(), deadline_)) return false;
    if (head.answer == Answer::bytes) return true;
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    fail(ErrorCode::invalid_argument, meeting_.place, meeting_.operation, text);
  }

  const BootstrapPlan& plan_;
  const Meeting& meeting_;
  const std::uint64_t number_;
  const Deadline deadline_;
};

}  // namespace

Bytes meet_by_tcp(const BootstrapPlan& plan, const Meeting& meeting) {
  if (plan.port == 0 || plan.address.empty()) {
    fail(ErrorCode::invalid_argument, meeting.place, meeting.operation,
         fmt::format("{} is no address to meet at\ngive the name of the machine of rank 0, and a port of 1 to 65535",
                     in_quotes(fmt::format("{}:{}", plan.address, plan.port))));
  }
  const std::uint64_t number = next_number(plan);
  if (plan.rank == 0) return Listener(plan, meeting, number).meet();
  return Visitor(plan, meeting, number).meet();
}

}  // namespace anyplace::detail
