// SPDX-License-Identifier: Apache-2.0
#include "shared_page.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "case.h"

namespace anyplace::conformance {
namespace {

SharedPage* current_page = nullptr;

/// 0 before the first step, otherwise 1 + the slot, or -1 if all were taken.
thread_local int slot_of_thread = 0;

}  // namespace

SharedPageMapping::SharedPageMapping() {
  void* const memory = mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  page_ = new (memory) SharedPage();
}

SharedPageMapping::~SharedPageMapping() { munmap(page_, sizeof(SharedPage)); }

void use_page(SharedPage* page) noexcept { current_page = page; }
SharedPage* page_in_use() noexcept { return current_page; }

void forget_slot() noexcept { slot_of_thread = 0; }

int own_slot() noexcept { return slot_of_thread > 0 ? slot_of_thread - 1 : -1; }

const char* source_name(const char* file) noexcept {
  constexpr std::string_view root = "conformance/";
  const std::string_view path = file;
  const std::size_t at = path.find("conformance/cases/");
  const std::size_t here = at != std::string_view::npos ? at : path.rfind(root);
  return here == std::string_view::npos ? file : file + here;
}

void step(const char* file, int line, const char* text) noexcept {
  SharedPage* const page = current_page;
  if (page == nullptr) return;
  if (slot_of_thread == 0) {
    const unsigned slot = page->slots_taken.fetch_add(1);
    slot_of_thread = slot < page->slots.size() ? static_cast<int>(slot) + 1 : -1;
  }
  if (slot_of_thread < 0) return;
  StepSlot& slot = page->slots[static_cast<std::size_t>(slot_of_thread - 1)];
  slot.line.store(0);
  slot.file.set(source_name(file));
  slot.text.set(text);
  slot.line.store(line);
}

std::string step_text(const SharedPage& page, std::size_t slot) {
  const StepSlot& at = page.slots[slot];
  const int line = at.line.load();
  if (line == 0) return "";
  return at.file.get() + ":" + std::to_string(line) + ": " + at.text.get();
}

}  // namespace anyplace::conformance
