// SPDX-License-Identifier: Apache-2.0
//
// The links of this doubly linked list live in the objects, so that linking allocates nothing and can't fail: code that
// parks, readies and completes work has nobody to report a failure to.
//
// It isn't thread-safe: each list's comment says which mutex guards it and the links of its objects.
#pragma once

namespace anyplace::cpu_sim {

/// A Link is the membership of one object in one list.
template <class T>
class Link {
 public:
  explicit Link(T* owner) noexcept : owner_(owner) {}
  Link(const Link&) = delete;  // Neighbours hold its address.
  Link& operator=(const Link&) = delete;

  T* owner() const noexcept { return owner_; }
  bool linked() const noexcept { return next_ != this; }
  Link* next() const noexcept { return next_; }
  Link* previous() const noexcept { return previous_; }

  void insert_before(Link& position) noexcept {
    previous_ = position.previous_;
    next_ = &position;
    previous_->next_ = this;
    position.previous_ = this;
  }
  /// Does nothing if the object isn't linked.
  void unlink() noexcept {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }

 private:
  T* const owner_;
  Link* previous_ = this;
  Link* next_ = this;
};

template <class T>
class List {
 public:
  bool empty() const noexcept { return !end_.linked(); }
  void push_back(Link<T>& link) noexcept { link.insert_before(end_); }
  /// Unlinks the first object and returns it, or null if there is none.
  T* pop_front() noexcept {
    if (empty()) return nullptr;
    Link<T>* first = end_.next();
    first->unlink();
    return first->owner();
  }
  /// To walk the list, go from begin() by next() to end().
  Link<T>* begin() noexcept { return end_.next(); }
  Link<T>* end() noexcept { return &end_; }

 private:
  Link<T> end_{nullptr};
};

}  // namespace anyplace::cpu_sim
