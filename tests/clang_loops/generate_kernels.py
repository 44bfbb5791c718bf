#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate_kernels.py SEED COUNT FILE: writes random kernels random_0 ... random_COUNT-1, the same for the same seed.

They have barriers in loops, under conditions, in functions and in a switch, uniform and not; threads that leave early, local arrays,
shared arrays, dynamic shared memory and atomic operations. What a kernel writes doesn't depend on the order of threads: all
exchange goes through units of two barriers, of which the first parts writing from reading and the second reading from what comes
next, so every thread, wherever it is in the kernel, writes while all write and reads while all read.

Every fourth kernel has none of that, and mostly asks for nothing but a thread's number in the row, so that its blocks run as one.
"""
import random
import sys

HEADER = '''// Made by tests/clang_loops/generate_kernels.py {seed} {count}.
#include <anyplace/device_code.h>
#pragma GCC diagnostic ignored "-Wtype-limits"

struct Place {{
  unsigned t, n;
}};

/// Gives every thread the value of the one that is `by` further.
__device__ inline unsigned exchange(unsigned* own, Place at, unsigned value, unsigned by) {{
  own[at.t] = value;
  __syncthreads();
  const unsigned other = own[(at.t + by) % at.n];
  __syncthreads();
  return other;
}}
'''

BEGIN = '''
extern "C" __global__ void {name}(unsigned* to, const unsigned* from, unsigned count) {{
  [[maybe_unused]] __shared__ unsigned own[1024];
  [[maybe_unused]] __shared__ unsigned sums[8];
  ANYPLACE_DYNAMIC_SHARED(unsigned, most);
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  const unsigned i = blockIdx.x * n + t;
  [[maybe_unused]] const Place at{{t, n}};
  unsigned a = from[i % count], b = t, c = threadIdx.x * 3 + 1, d = count ^ n;
  float f = static_cast<float>(a & 255);
  unsigned array[4] = {{a, b, c, d}};
  own[t] = t;
  if (t == 0) {{
    for (unsigned k = 0; k < 8; ++k) sums[k] = most[k] = 0;
  }}
  __syncthreads();
'''
BEGIN_ROW = '''
extern "C" __global__ void {name}(unsigned* to, const unsigned* from, unsigned count) {{
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  [[maybe_unused]] const unsigned n = gridDim.x * blockDim.x;
  const unsigned t = threadIdx.y + blockDim.y * threadIdx.z;
  const unsigned i = x + n * t;
  unsigned a = from[i % count], b = t, c = x * 3 + 1, d = count ^ n;
  float f = static_cast<float>(a & 255);
  unsigned array[4] = {{a, b, c, d}};
'''
END = '''  to[i] = a + 3 * b + 5 * c + 7 * d + 11 * array[0] + 13 * array[1] + 17 * array[2] + 19 * array[3] + static_cast<unsigned>(f);
}
'''


class Kernel:
    def __init__(self, rng, row):
        self.rng = rng
        self.row = row
        asks_for_more = not row or rng.random() < 0.2
        self.positions = ['threadIdx.x', 'blockIdx.x'] if asks_for_more else ['x', '(x + 7)']
        self.lines = []
        self.loops = []  # the names of counters that can be read
        self.names = 0
        self.barriers = 0

    def say(self, depth, text):
        self.lines.append('  ' * (depth + 1) + text)

    def name(self):
        self.names += 1
        return f'r{self.names}'

    def variable(self):
        return self.rng.choice('abcd')

    def value(self, depth=2):
        r = self.rng
        if depth == 0 or r.random() < 0.3:
            return r.choice(['a', 'b', 'c', 'd', 't', 'n', 'i', 'threadIdx.y', str(r.randrange(9)),
                             'from[(i + %d) %% count]' % r.randrange(9), 'array[%s & 3]' % self.variable()] + self.positions + self.loops)
        operator = r.choice(['+', '-', '*', '^', '&', '|', '>>', '%'])
        right = str(r.randrange(1, 9)) if operator in ('>>', '%') else self.value(depth - 1)
        return f'({self.value(depth - 1)} {operator} {right})'

    def uniform_value(self):
        of_block = [] if self.row else ['blockIdx.x', 'from[blockIdx.x]']
        return self.rng.choice(['count', 'n', 'from[0]', 'blockDim.x'] + of_block + self.uniform)

    def condition(self):
        r = self.rng
        kind = r.random()
        if kind < 0.3:
            return f'{self.uniform_value()} % {r.randrange(2, 5)} == {r.randrange(3)}'
        if kind < 0.6:
            x = self.positions[0]
            left = r.choice([x, 't', 'i', f'{x} + 4294967290u', 'static_cast<int>(t) - 5'])
            if left.startswith('static'):
                return f'{left} < {r.randrange(-9, 9)}'
            return f'{left} {r.choice(["<", "<=", ">", ">=", "==", "!="])} {r.choice([str(r.randrange(20)), "count / 2"])}'
        return f'{self.value()} % {r.randrange(2, 5)} == {r.randrange(2)}'

    def unit(self, depth):
        """Two barriers."""
        r = self.rng
        self.barriers += 2
        kind = r.randrange(4)
        if kind == 0:
            self.say(depth, f'{self.variable()} ^= exchange(own, at, {self.value()}, {r.randrange(1, 9)});')
            return
        if kind == 1:
            self.say(depth, f'own[t] = {self.value()};')
            read = f'own[n - 1 - t] + own[({self.variable()} & 1023) % n]'
        elif kind == 2:
            self.say(depth, f'if ({self.condition()}) atomicAdd(&sums[{self.value()} & 7], {self.value()});')
            read = f'sums[{self.variable()} & 7]'
        else:
            self.say(depth, f'atomicMax(&most[{self.value()} & 7], {self.value()});')
            read = f'most[{r.randrange(8)}]'
        self.say(depth, '__syncthreads();')
        self.say(depth, f'{self.variable()} += {read};')
        self.say(depth, '__syncthreads();')

    def loop(self, depth):
        r = self.rng
        counter = self.name()
        uniform = r.random() < 0.6
        end = f'{self.uniform_value()} % 4 + 1' if uniform else f'{self.value(1)} % 4'
        bound = f'end_{counter}'
        self.say(depth, f'const unsigned {bound} = {end};')
        self.say(depth, f'for (unsigned {counter} = 0; {counter} < {bound}; ++{counter}) {{')
        self.loops.append(counter)
        self.uniform.append(counter) if uniform else None
        self.statements(depth + 1, True)
        self.loops.pop()
        self.uniform.pop() if uniform else None
        self.say(depth, '}')

    def statements(self, depth, in_loop):
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(depth, in_loop)

    def statement(self, depth, in_loop):
        r = self.rng
        kind = r.random()
        if depth > 3 or self.barriers > 14 or len(self.lines) > 60:
            kind *= 0.35
        if kind < 0.15:
            self.say(depth, f'{self.variable()} {r.choice(["=", "+=", "^="])} {self.value()};')
        elif kind < 0.22:
            self.say(depth, f'array[{self.value(1)} & 3] += {self.value(1)};')
        elif kind < 0.28:
            self.say(depth, f'f = f * 0.5f + static_cast<float>({self.value(1)} & 1023);')
        elif kind < 0.35:
            kept = self.name()
            self.say(depth, f'const unsigned {kept} = a; a = b; b = {kept};')
        elif kind < 0.60:
            if not self.row:
                self.unit(depth)
        elif kind < 0.74:
            self.say(depth, f'if ({self.condition()}) {{')
            self.statements(depth + 1, in_loop)
            if r.random() < 0.5:
                self.say(depth, '} else {')
                self.statements(depth + 1, in_loop)
            self.say(depth, '}')
        elif kind < 0.88:
            self.loop(depth)
        elif kind < 0.92:
            self.say(depth, f'switch ({self.value()} % 3) {{')
            for label in ('case 0: {', 'case 1: {', 'default: {'):
                self.say(depth + 1, label)
                self.statements(depth + 2, False)
                self.say(depth + 2, 'break;')
                self.say(depth + 1, '}')
            self.say(depth, '}')
        elif kind < 0.95:
            self.say(depth, f'if ({self.condition()}) {{')
            self.say(depth + 1, 'to[i] = a ^ d;')
            self.say(depth + 1, 'return;')
            self.say(depth, '}')
        elif in_loop:
            self.say(depth, f'if ({self.condition()}) {r.choice(["break", "continue"])};')

    def make(self, name):
        self.uniform = []
        for _ in range(self.rng.randrange(3, 8)):
            self.statement(0, False)
        return (BEGIN_ROW if self.row else BEGIN).format(name=name) + '\n'.join(self.lines) + '\n' + END


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    names = [f'random_{k}' for k in range(count)]
    text = HEADER.format(seed=seed, count=count) + ''.join(Kernel(rng, k % 4 == 3).make(name) for k, name in enumerate(names))
    for k in range(0, count, 32):
        text += f'ANYPLACE_EXPORT_KERNELS({", ".join(names[k:k + 32])});\n'
    with open(sys.argv[3], 'w', encoding='utf-8') as out:
        out.write(text)


if __name__ == '__main__':
    main()
