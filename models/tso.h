/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of x86-TSO, for models of what rests on a fence: a store goes to the end of its processor's buffer, and from the
 * front of it to memory whenever it likes; a load takes the newest store of its own buffer, else what is in memory; a locked
 * operation, and so a sequentially consistent store or exchange, waits until the buffer is empty.
 *
 * Who includes it defines CPUS and VARIABLES before; a process that uses it has `byte cpu`. What only a lock's holder touches
 * may be an ordinary variable: the stores before the one that unlocks are in memory before it.
 */
#define DEPTH 2

typedef Buffer {
  byte used;
  byte variable[DEPTH];
  byte content[DEPTH]
};

Buffer buffer[CPUS];
byte memory[VARIABLES];

inline store(where, what) {
  atomic {
    buffer[cpu].used < DEPTH;
    buffer[cpu].variable[buffer[cpu].used] = where;
    buffer[cpu].content[buffer[cpu].used] = what;
    buffer[cpu].used++
  }
}

inline load(where, into) {
  d_step {
    into = memory[where];
    if
    :: buffer[cpu].used > 0 && buffer[cpu].variable[0] == where -> into = buffer[cpu].content[0]
    :: else
    fi;
    if
    :: buffer[cpu].used > 1 && buffer[cpu].variable[1] == where -> into = buffer[cpu].content[1]
    :: else
    fi
  }
}

inline exchange(where, what) {
  atomic { buffer[cpu].used == 0; memory[where] = what }
}

inline lock(where) {
  atomic { buffer[cpu].used == 0 && memory[where] == 0; memory[where] = 1 }
}
inline unlock(where) { store(where, 0) }

inline flush_one(whose) {
  memory[buffer[whose].variable[0]] = buffer[whose].content[0];
  buffer[whose].variable[0] = buffer[whose].variable[1];
  buffer[whose].content[0] = buffer[whose].content[1];
  buffer[whose].used--;
  buffer[whose].variable[buffer[whose].used] = 0; /* what is no longer there makes no two states of one */
  buffer[whose].content[buffer[whose].used] = 0
}

/* membarrier(2), private expedited: between its begin and its end there is for each processor a moment at which its buffer is
 * empty; not the same for all. */
inline membarrier() {
  byte whose = 0;
  do
  :: whose < CPUS -> buffer[whose].used == 0; whose++
  :: else -> whose = 0; break
  od
}

active [CPUS] proctype buffer_to_memory() {
end:
  do
  :: atomic { buffer[_pid].used > 0; flush_one(_pid) }
  od
}
