// SPDX-License-Identifier: Apache-2.0
//
// The tasks are run by the destructor of a pthread key. The C library keeps the values of the first keys in the thread
// itself; in a program that uses more than 31 keys, setting the value can fail.
#include "runtime/thread_end.h"

#include <pthread.h>

#include <utility>

namespace anyplace::detail {
namespace {

constinit thread_local ThreadEndTask* tasks = nullptr;
constinit thread_local bool ended = false;

void end_thread(void*) noexcept {
  ended = true;
  while (tasks != nullptr) {
    ThreadEndTask& task = *std::exchange(tasks, tasks->next);
    task.run();
  }
}

struct Key {
  pthread_key_t key{};
  bool made = false;

  Key() noexcept : made(pthread_key_create(&key, end_thread) == 0) {}
};

}  // namespace

bool at_thread_end(ThreadEndTask& task) noexcept {
  if (task.added) return !ended;
  static const Key key;
  if (ended || !key.made) return false;
  if (tasks == nullptr && pthread_setspecific(key.key, &tasks) != 0) return false;
  task.next = std::exchange(tasks, &task);
  return task.added = true;
}

}  // namespace anyplace::detail
