#include "server/serve/build_id.h"

#include <cstring>
#include <elf.h>
#include <link.h>

#include "absl/strings/escaping.h"

namespace pliant::server {
namespace {

constexpr std::size_t AlignNote(std::size_t size) {
  return (size + 3) & ~std::size_t{3};
}

// Finds the build id in the notes of a segment; returns its bytes.
std::string FindInNotes(const char* at, std::size_t size) {
  const char* const end = at + size;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* name = at + sizeof note;
    const char* value = name + AlignNote(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return {value, note.n_descsz};
    at = value + AlignNote(note.n_descsz);
  }
  return "";
}

// The first object of a process is the program itself.
int VisitProgram(dl_phdr_info* info, std::size_t, void* result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const std::string id = FindInNotes(notes, segment.p_memsz);
    if (id.empty()) continue;
    *static_cast<std::string*>(result) = id;
    break;
  }
  return 1;
}

}  // namespace

std::string FindBuildId() {
  std::string id;
  dl_iterate_phdr(VisitProgram, &id);
  return absl::BytesToHexString(id);
}

}  // namespace pliant::server
