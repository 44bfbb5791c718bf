// SPDX-License-Identifier: Apache-2.0
//
// What the operations do to bytes, one after the other.
#include <algorithm>
#include <cstring>

#include "model.h"

namespace stress {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::uint8_t* at(Bytes& bytes, Number offset) { return bytes.data() + offset; }
const std::uint8_t* at(const Bytes& bytes, Number offset) { return bytes.data() + offset; }

void write_pattern(Bytes& bytes, const Operation& operation) {
  for (Number i = 0; i < operation.bytes; ++i) *at(bytes, operation.offset + i) = pattern(operation.value, i);
}

void copy_rows(Bytes& to, const Bytes& from, const Operation& operation) {
  for (Number row = 0; row < operation.rows; ++row) {
    std::memcpy(at(to, operation.offset + row * operation.pitch),
                at(from, operation.from_offset + row * operation.from_pitch),
                static_cast<std::size_t>(operation.bytes));
  }
}

void mix(Bytes& to, const Bytes& from, const Operation& operation) {
  for (Number i = 0; i + 4 <= operation.bytes; i += 4) {
    std::uint32_t value = 0, more = 0;
    std::memcpy(&value, at(to, operation.offset + i), 4);
    std::memcpy(&more, at(from, operation.from_offset + i), 4);
    for (Number time = 0; time < operation.rows; ++time) {
      value = value * 1664525u + static_cast<std::uint32_t>(operation.value) + more;
    }
    std::memcpy(at(to, operation.offset + i), &value, 4);
  }
}

void fill(Bytes& to, const Operation& operation) {
  for (Number i = 0; i < operation.bytes; ++i) {
    *at(to, operation.offset + i) = static_cast<std::uint8_t>(operation.value >> (8 * (i % operation.option)));
  }
}

}  // namespace

void Model::take_bytes(const Operation& operation, Step& step) {
  const auto expect = [&](const Bytes& bytes) {
    step.expected.assign(at(bytes, operation.offset), at(bytes, operation.offset) + operation.bytes);
  };
  switch (operation.kind) {
    case Kind::make_buffer: {
      Buffer& buffer = buffers_[operation.buffer];
      buffer.there = true;
      buffer.stream = operation.stream;
      buffer.device = streams_.at(operation.stream).device;
      buffer.managed = operation.option == managed;
      buffer.bytes.resize(static_cast<std::size_t>(operation.bytes));
      break;
    }
    case Kind::end_buffer:
    case Kind::end_buffer_in_call: {
      Buffer& buffer = buffers_.at(operation.buffer);
      buffer.there = false;
      buffer.lives_on = operation.kind == Kind::end_buffer_in_call;
      Bytes().swap(buffer.bytes);
      break;
    }
    case Kind::make_host: {
      Host& host = hosts_[operation.host];
      host.there = host.whole = true;
      host.device = operation.device;
      host.kind = operation.option;
      host.bytes.assign(static_cast<std::size_t>(operation.bytes), 0);
      break;
    }
    case Kind::end_host: {
      Host& host = hosts_.at(operation.host);
      host.there = false;
      Bytes().swap(host.bytes);
      break;
    }
    case Kind::write_host:
      write_pattern(hosts_.at(operation.host).bytes, operation);
      break;
    case Kind::write_managed:
      write_pattern(buffers_.at(operation.buffer).bytes, operation);
      break;
    case Kind::check_host:
    case Kind::call_check:
      expect(hosts_.at(operation.host).bytes);
      break;
    case Kind::check_managed:
      expect(buffers_.at(operation.buffer).bytes);
      break;
    case Kind::call_write: {
      Bytes& bytes = hosts_.at(operation.host).bytes;
      for (Number i = 0; i < operation.bytes; ++i) {
        std::uint8_t& byte = *at(bytes, operation.offset + i);
        byte = static_cast<std::uint8_t>(byte * 5 + pattern(operation.value, i));
      }
      break;
    }
    case Kind::fill:
      fill(buffers_.at(operation.buffer).bytes, operation);
      buffers_.at(operation.buffer).whole = true;
      break;
    case Kind::mix:
      mix(buffers_.at(operation.buffer).bytes, buffers_.at(operation.from).bytes, operation);
      break;
    case Kind::upload:
    case Kind::upload_2d:
    case Kind::download:
    case Kind::download_2d:
    case Kind::copy:
    case Kind::copy_2d: {
      Operation rows = operation;
      const bool two =
          operation.kind == Kind::upload_2d || operation.kind == Kind::download_2d || operation.kind == Kind::copy_2d;
      if (!two) rows.rows = 1;
      const bool up = operation.kind == Kind::upload || operation.kind == Kind::upload_2d;
      const bool down = operation.kind == Kind::download || operation.kind == Kind::download_2d;
      Data& to = down ? static_cast<Data&>(hosts_.at(operation.host)) : buffers_.at(operation.buffer);
      const Data& from = up ? static_cast<const Data&>(hosts_.at(operation.host)) : buffers_.at(operation.from);
      copy_rows(to.bytes, from.bytes, rows);
      to.whole = true;
      break;
    }
    default:
      break;
  }
}

}  // namespace stress
