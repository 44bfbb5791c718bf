// SPDX-License-Identifier: Apache-2.0
#include "training_trace.h"

#include <utility>
#include <vector>

namespace anyplace::test {
namespace {

class Training {
 public:
  explicit Training(const TrainingShape& shape) : shape_(shape) {}

  std::string text() {
    for (int layer = 0; layer < shape_.layers; ++layer) {
      for (const std::uint64_t bytes : weights_of()) weights_.push_back(allocate(bytes, layer));
    }
    const Id embedding = allocate(50257 * shape_.width * 4, 0);
    for (int step = 0; step < shape_.steps; ++step) run_step(step, embedding);
    return std::move(text_);
  }

 private:
  struct Id {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    int stream = 0;
  };

  Id allocate(std::uint64_t bytes, int layer) {
    const Id id{next_++, bytes, layer % shape_.streams};
    add('a', id);
    return id;
  }
  void free(const Id& id) { add('f', id); }
  void add(char action, const Id& id) {
    text_ += action;
    text_ += "," + std::to_string(id.number) + "," + std::to_string(id.bytes);
    if (shape_.streams > 1) text_ += "," + std::to_string(id.stream);
    text_ += "\n";
  }

  std::vector<std::uint64_t> weights_of() const {
    const std::uint64_t w = shape_.width;
    return {3 * w * w * 4, 3 * w * 4, w * w * 4, w * 4, 4 * w * w * 4, 4 * w * 4, 4 * w * w * 4, w * 4, w * 4, w * 4};
  }

  void run_step(int step, const Id& embedding) {
    const std::uint64_t tokens = shape_.tokens - (shape_.vary ? static_cast<std::uint64_t>(step % 2) * 333 : 0);
    std::vector<std::vector<Id>> kept;
    for (int layer = 0; layer < shape_.layers; ++layer) kept.push_back(forward(layer, tokens));
    const Id logits = allocate(tokens * 50257 * 2, 0);
    const Id loss = allocate(4, 0);
    const Id logits_gradient = allocate(tokens * 50257 * 2, 0);
    free(logits);
    gradients_.push_back(allocate(embedding.bytes, 0));
    free(logits_gradient);
    free(loss);
    for (int layer = shape_.layers - 1; layer >= 0; --layer)
      backward(layer, tokens, kept[static_cast<std::size_t>(layer)]);
    update(embedding);
  }

  std::vector<Id> forward(int layer, std::uint64_t tokens) {
    const std::uint64_t row = tokens * shape_.width * 2;
    std::vector<Id> kept;
    for (const std::uint64_t bytes : {row, tokens * 8, 3 * row, row, tokens * 16 * 4, row, 4 * row, 4 * row, row}) {
      const Id workspace = allocate(bytes / 3 + 777, layer);
      kept.push_back(allocate(bytes, layer));
      free(workspace);
    }
    return kept;
  }

  void backward(int layer, std::uint64_t tokens, std::vector<Id>& kept) {
    const Id incoming = allocate(tokens * shape_.width * 2, layer);
    for (; !kept.empty(); kept.pop_back()) {
      const Id gradient = allocate(kept.back().bytes, layer);
      free(kept.back());
      free(gradient);
    }
    for (const std::uint64_t bytes : weights_of()) gradients_.push_back(allocate(bytes, layer));
    free(incoming);
  }

  void update(const Id& embedding) {
    if (states_.empty()) {
      for (const Id& weight : weights_) {
        states_.push_back(allocate(weight.bytes, weight.stream));
        states_.push_back(allocate(weight.bytes, weight.stream));
      }
      states_.push_back(allocate(embedding.bytes, 0));
    }
    for (const Id& gradient : gradients_) {
      free(allocate(gradient.bytes, gradient.stream));
      free(gradient);
    }
    gradients_.clear();
  }

  TrainingShape shape_;
  std::string text_;
  std::uint64_t next_ = 0;
  std::vector<Id> weights_;
  std::vector<Id> gradients_;
  std::vector<Id> states_;
};

}  // namespace

std::string training_trace(const TrainingShape& shape) { return Training(shape).text(); }

}  // namespace anyplace::test
