#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "physics/scene/text/scene_log.h"
#include "physics/scene/text/yaml_tree.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace pliant::physics {

// Maps YAML onto a message, one to one: a map's keys are the fields' names, a member of a oneof is
// its own key, an enum value is its name without the enum's prefix, a vector is a list, and a
// message whose only field is the list `value` may be that list, or one number. `<<` merges maps.
// Errors go to `log`; valid fields are still set.
class YamlReader {
 public:
  explicit YamlReader(SceneLog* log) : log_(*log) {}

  // Sets the fields of `message`, located at `path`, from a map.
  void ReadMessage(const YamlNode& node, const std::string& path,
                   google::protobuf::Message* message);

  // Sets one field, replacing what it held. `path` is of the field itself.
  void ReadField(const YamlNode& node, const std::string& path,
                 const google::protobuf::FieldDescriptor* field,
                 google::protobuf::Message* message);

 private:
  using Field = google::protobuf::FieldDescriptor;
  using Message = google::protobuf::Message;

  // A key as written and its value.
  using Entry = std::pair<const YamlNode*, const YamlNode*>;

  std::vector<Entry> CollectEntries(const YamlNode& map, const std::string& path);
  void ReadRepeated(const YamlNode& node, const std::string& path, const Field* field,
                    Message* message);
  void ReadMap(const YamlNode& node, const std::string& path, const Field* field, Message* message);
  void ReadItem(const YamlNode& node, const std::string& path, const Field* field,
                Message* message);
  void ReadMessageOrList(const YamlNode& node, const std::string& path, Message* message);
  void Mark(const std::string& path, const YamlNode& node, const YamlNode* key);
  void Error(const YamlNode& node, const std::string& path, std::string text);
  bool SpendVisit(const YamlNode& node, const std::string& path);

  SceneLog& log_;
  int visits_ = 0;  // aliases visit a node more than once
  bool exhausted_ = false;
};

// "a positive number in metres" and the like are built from this: " in metres", or nothing for a
// pure number.
std::string UnitPhrase(const google::protobuf::FieldDescriptor* field);

// Short names of an enum's values, without the unspecified one.
std::vector<std::string> EnumNames(const google::protobuf::FieldDescriptor* field);

}  // namespace pliant::physics
