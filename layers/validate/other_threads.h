// SPDX-License-Identifier: Apache-2.0
//
// The program's other threads, as a host function sees them. It may tell one of them that the work before it is done,
// so what they submit after its begin is taken as ordered behind that work. What a thread submits without having waited
// would be taken so, too, if the function began early by chance. So its begin is put off until the threads have nothing
// left to do without waiting.
#pragma once

#include <sys/types.h>
#include <time.h>

namespace anyplace::validate {

/// A thread of the program that calls the library, for as long as the object lives.
class CallingThread {
 public:
  CallingThread();
  CallingThread(const CallingThread&) = delete;  // the list has its address
  CallingThread& operator=(const CallingThread&) = delete;
  ~CallingThread();

 private:
  friend void wait_for_other_threads();
  /// Whether the thread runs, or would if it had a processor.
  bool is_running() const;
  timespec time_used() const;

  pid_t id_;
  clockid_t clock_ = -1;  ///< of the processor time that it uses; -1 if there is none
};

/// Waits until each other thread that calls the library sleeps, or has used the processor for 10 ms since. A second at
/// most.
void wait_for_other_threads();

}  // namespace anyplace::validate
