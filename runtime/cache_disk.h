// The cache's folder: where it is, what its files are called, how they are read and published. Knows nothing
// of threads, of who makes entries, or of what to do when the disk fails: it reports, and cache.cpp decides.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/cache_entry.h"

namespace heddle::runtime {

// $HEDDLE_CACHE_DIR, else $XDG_CACHE_HOME/heddle, else $HOME/.cache/heddle. Empty if none of them names a
// folder. As the XDG rules ask, variables that are empty count as unset and a relative XDG_CACHE_HOME is
// ignored; a relative HEDDLE_CACHE_DIR is taken from the working folder of this moment. `variable` looks up
// the environment.
std::string cache_directory(const std::function<const char*(const char*)>& variable);

// Creates the folder (0700) where it is missing. False, with a reason, if that fails or if others could plant
// code in it: it belongs to someone who is neither this user nor root, or everybody may write to it. The
// root folder is refused too.
bool open_cache_directory(const std::string& directory, std::string& problem);

// <directory>/3f/<kernel name>-<key>.heddle, whatever characters and length the kernel's name has.
std::string cache_file_path(const std::string& directory, std::string_view kernel_name, const Key& key);

enum class CacheRead {
  hit,
  absent,
  damaged,    // something is there that is not this key's entry, or that others may have written: it may be
              // replaced
  unreadable  // the system refused: nobody knows what is there, it must stay
};
CacheRead read_cache_file(const std::string& path, std::string_view key_text, Entry& entry,
                          std::string& problem);

// Readers see the old file or the whole new one, never a part. Creates the fan-out folder, replaces what is
// there, and clears away what killed processes left beside it.
bool publish_cache_file(const std::string& path, std::string_view bytes, std::string& problem);

}  // namespace heddle::runtime
