// SPDX-License-Identifier: Apache-2.0
//
// Handles: how objects cross the boundary that pending work may outlive. A handle is a shared pointer to its object;
// destroying the handle leaves the object to the others that share it. anyplace passes only handles that live, so no
// table of them is needed.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace newname_backend {

template <class T>
std::uint64_t make_handle(std::shared_ptr<T> object) {
  return anyplace::backend::to_handle(new std::shared_ptr<T>(std::move(object)));
}

template <class T>
const std::shared_ptr<T>& object_of(std::uint64_t handle) noexcept {
  return *anyplace::backend::from_handle<std::shared_ptr<T>>(handle);
}

template <class T>
void drop_handle(std::uint64_t handle) noexcept {
  delete anyplace::backend::from_handle<std::shared_ptr<T>>(handle);
}

}  // namespace newname_backend
