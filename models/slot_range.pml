/* SPDX-License-Identifier: Apache-2.0
 *
 * A buffer's slot, which several buffers use one after the other, and a thread that reads address and size of one of them by its
 * handle alone.
 *
 * code:     core/handles/slots.h (publish, close, recycle, read_range)
 * abstract: a buffer is its generation, which is its handle, its address and its size; one thread closes it and makes the next one
 *           (the slot goes from the one to the other under a lock, or doesn't leave the thread)
 * checked:  what is read is of the handle's own buffer, or the handle is refused; of a buffer that is open throughout it isn't
 *
 * check: safety
 * fault: NO_SECOND_LOOK assertion    the reader doesn't compare the handle afterwards
 * fault: NO_FIRST_LOOK assertion     ... or doesn't before
 * fault: OPENS_EARLY assertion       the handle is opened before address and size are there
 * fault: STAYS_OPEN assertion        the handle isn't closed before the next buffer's address is written
 */
#define CLOSED 0
#define GENERATIONS 3

byte plain, address, bytes;
byte closed_up_to; /* for the assertions: the last generation that was closed */

active proctype owner() {
  byte generation = 1;
  do
  :: generation <= GENERATIONS ->
#ifdef OPENS_EARLY
     plain = generation;
#endif
     address = generation;
     bytes = generation;
     plain = generation;
     if
     :: generation == GENERATIONS -> break /* this one stays */
     :: else
     fi;
     closed_up_to = generation;
#ifndef STAYS_OPEN
     plain = CLOSED;
#endif
     generation++
  od
}

active [2] proctype reader() {
  byte handle, found_address, found_bytes;
  bool refused, was_open;
  select(handle : 1 .. GENERATIONS);
  was_open = (plain == handle);
  refused = false;
#ifndef NO_FIRST_LOOK
  if
  :: plain != handle -> refused = true
  :: else
  fi;
#endif
  found_address = address;
  found_bytes = bytes;
#ifndef NO_SECOND_LOOK
  if
  :: plain != handle -> refused = true
  :: else
  fi;
#endif
  if
  :: !refused -> assert(found_address == handle && found_bytes == handle)
  :: else -> assert(!was_open || closed_up_to >= handle)
  fi
}
