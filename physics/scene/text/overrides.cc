#include "physics/scene/text/overrides.h"

#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

#include "physics/scene/text/scalar_text.h"
#include "physics/scene/text/yaml_scene.h"
#include "physics/scene/text/yaml_tree.h"

namespace pliant::physics {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

// Name of a list entry, empty if its type has none.
std::string NameOf(const Message& entry) {
  const FieldDescriptor* name = entry.GetDescriptor()->FindFieldByName("name");
  if (name == nullptr || name->cpp_type() != FieldDescriptor::CPPTYPE_STRING) return "";
  return entry.GetReflection()->GetString(entry, name);
}

// Walks a path into a message, and sets the field at its end.
class Assignment {
 public:
  Assignment(std::string_view path, std::string_view value, SceneLog* log)
      : rest_(path), value_(value), log_(*log) {}

  void Apply(Message* message) {
    while (message != nullptr) message = Advance(message);
  }

 private:
  // Takes the next part of the path; null at the end, or after an error.
  Message* Advance(Message* message) {
    const Descriptor* type = message->GetDescriptor();
    const std::string name(rest_.substr(0, rest_.find_first_of(".[")));
    const std::string at = done_.empty() ? name : absl::StrCat(done_, ".", name);
    const FieldDescriptor* field = type->FindFieldByName(name);
    if (field == nullptr) {
      std::vector<std::string> names;
      for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
      const std::string near = DidYouMean(name, names);
      return Fail(at, absl::StrCat(
                          Quoted(name), " is not a known field",
                          near.empty() ? "; expected one of " + absl::StrJoin(names, ", ") : near));
    }
    rest_.remove_prefix(name.size());
    done_ = at;
    if (rest_.empty()) return Set(field, message);
    if (field->is_map() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return Fail(at, "has no fields of its own; expected `=` after it");
    }
    return field->is_repeated() ? FindEntry(field, message) : Enter(field, message);
  }

  Message* Enter(const FieldDescriptor* field, Message* message) {
    const Reflection* reflection = message->GetReflection();
    if (const OneofDescriptor* choice = field->real_containing_oneof(); choice != nullptr) {
      const FieldDescriptor* taken = reflection->GetOneofFieldDescriptor(*message, choice);
      if (taken != nullptr && taken != field) {
        return Fail(done_, absl::StrCat("the scene has `", taken->name(), "` here, not `",
                                        field->name(), "`"));
      }
    }
    rest_.remove_prefix(1);  // '.', or a '[' after which no field is found
    return reflection->MutableMessage(message, field);
  }

  // Finds an entry by number in brackets, or by its name.
  Message* FindEntry(const FieldDescriptor* field, Message* message) {
    const Reflection* reflection = message->GetReflection();
    const int count = reflection->FieldSize(*message, field);
    int index = -1;
    if (rest_.front() == '[') {
      const std::size_t close = rest_.find(']');
      if (close == std::string_view::npos) return Fail(done_, "has `[` without `]`");
      const std::string number(rest_.substr(1, close - 1));
      if (!absl::SimpleAtoi(number, &index) || index < 0 || index >= count) {
        return Fail(absl::StrCat(done_, "[", number, "]"),
                    count == 0 ? "is not a valid index; the list is empty"
                               : absl::StrCat("is not a valid index; expected a number from 0 to ",
                                              count - 1));
      }
      rest_.remove_prefix(close + 1);
    } else {
      rest_.remove_prefix(1);
      std::vector<std::string> names;
      std::size_t longest = 0;
      for (int i = 0; i < count; ++i) {
        names.push_back(NameOf(reflection->GetRepeatedMessage(*message, field, i)));
        const std::string& name = names.back();
        const bool whole =
            rest_.starts_with(name) && (rest_.size() == name.size() || rest_[name.size()] == '.');
        if (name.empty() || name.size() <= longest || !whole) continue;
        longest = name.size();
        index = i;
      }
      if (index < 0) {
        const std::string wanted(rest_.substr(0, rest_.find('.')));
        return Fail(absl::StrCat(done_, ".", wanted),
                    absl::StrCat("no entry is called ", Quoted(wanted), DidYouMean(wanted, names)));
      }
      rest_.remove_prefix(longest);
    }
    absl::StrAppend(&done_, "[", index, "]");
    Message* entry = reflection->MutableRepeatedMessage(message, field, index);
    if (rest_.empty() || rest_.front() != '.') {
      return Fail(done_, "cannot be set as a whole; expected `.` and the name of a field");
    }
    rest_.remove_prefix(1);
    return entry;
  }

  Message* Set(const FieldDescriptor* field, Message* message) {
    SceneLog value_log("--set");
    YamlTree tree;
    if (const auto fault = tree.Parse(value_); fault.has_value())
      return Fail(done_, fault->message);
    if (tree.root() == nullptr || tree.root()->kind == YamlNode::Kind::kNull) {
      return Fail(done_, "has no value; expected one after `=`");
    }
    YamlReader(&value_log).ReadField(*tree.root(), done_, field, message);
    for (const SceneMessage& found : value_log.TakeMessages()) {
      log_.ErrorAt({"--set", 0, 0}, found.path, found.message);
    }
    log_.MarkOverride(done_, "--set");
    return nullptr;
  }

  Message* Fail(const std::string& path, std::string text) {
    log_.ErrorAt({"--set", 0, 0}, path, std::move(text));
    return nullptr;
  }

  std::string_view rest_;  // of the path
  std::string_view value_;
  std::string done_;  // the path so far, entries by number
  SceneLog& log_;
};

}  // namespace

void ApplyOverride(const std::string& assignment, Message* message, SceneLog* log) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    log->ErrorAt({"--set", 0, 0}, "",
                 absl::StrCat(Quoted(assignment), "; expected field.path=value"));
    return;
  }
  const std::string_view text = assignment;
  Assignment(text.substr(0, equals), text.substr(equals + 1), log).Apply(message);
}

}  // namespace pliant::physics
