// SPDX-License-Identifier: Apache-2.0
//
// The standard headers that most sources include, compiled once for each target with many of them: reading them is a
// third of what a source costs the compiler. A source still includes what it uses; the clang preset builds without
// this, and sees where one doesn't.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>
