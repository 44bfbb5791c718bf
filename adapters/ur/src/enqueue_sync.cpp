// SPDX-License-Identifier: Apache-2.0
//
// Commands that only order others: waits, barriers, time stamps, and host tasks.
#include <anyplace/memory.h>

#include "command.h"
#include "entries.h"

namespace anyplace_ur {

namespace {

/// Lets everything that the queue gets later wait for what the submission's stream has now.
void hold_back_the_rest(ur_queue_handle_t_& queue, const Submission& submission) {
  if (queue.in_order()) return;
  const anyplace::Event barrier = submission.stream().record_event();
  for (std::size_t lane = 0; lane < queue.lanes.size(); ++lane) {
    if (lane != submission.lane()) queue.lanes[lane].stream.wait_event(barrier);
  }
}

void enqueue_barrier(ur_queue_handle_t queue, const WaitList& waits, ur_event_handle_t* event) {
  require_handle(queue);
  Submission submission(queue, UR_COMMAND_EVENTS_WAIT_WITH_BARRIER, waits, event, After::everything_before);
  hold_back_the_rest(*queue, submission);
  submission.end();
}

}  // namespace

ur_result_t urEnqueueEventsWait(ur_queue_handle_t queue, uint32_t count, const ur_event_handle_t* waits,
                                ur_event_handle_t* event) {
  return guarded("urEnqueueEventsWait", [&] {
    require_handle(queue);
    Submission submission(queue, UR_COMMAND_EVENTS_WAIT, {count, waits}, event, After::everything_before);
    submission.end();
  });
}

ur_result_t urEnqueueEventsWaitWithBarrier(ur_queue_handle_t queue, uint32_t count, const ur_event_handle_t* waits,
                                           ur_event_handle_t* event) {
  return guarded("urEnqueueEventsWaitWithBarrier", [&] { enqueue_barrier(queue, {count, waits}, event); });
}

ur_result_t urEnqueueEventsWaitWithBarrierExt(ur_queue_handle_t queue, const ur_exp_enqueue_ext_properties_t*,
                                              uint32_t count, const ur_event_handle_t* waits,
                                              ur_event_handle_t* event) {
  return guarded("urEnqueueEventsWaitWithBarrierExt", [&] { enqueue_barrier(queue, {count, waits}, event); });
}

ur_result_t urEnqueueTimestampRecordingExp(ur_queue_handle_t queue, bool blocking, uint32_t count,
                                           const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueTimestampRecordingExp", [&] {
    require_handle(queue);
    require_pointer(event);
    {
      Submission submission(queue, UR_COMMAND_TIMESTAMP_RECORDING_EXP, {count, waits}, event, After::everything_before);
      submission.end();
    }
    if (blocking) (*event)->wait();
  });
}

ur_result_t urEnqueueHostTaskExp(ur_queue_handle_t queue, ur_exp_host_task_function_t function, void* data,
                                 const ur_exp_host_task_properties_t*, uint32_t count, const ur_event_handle_t* waits,
                                 ur_event_handle_t* event) {
  return guarded("urEnqueueHostTaskExp", [&] {
    require_handle(queue);
    require_pointer(reinterpret_cast<const void*>(function));
    submit(queue, UR_COMMAND_HOST_TASK_EXP, {count, waits}, event,
           [&](anyplace::StreamView stream) { stream.launch_host_func([function, data] { function(data); }); });
  });
}

}  // namespace anyplace_ur
