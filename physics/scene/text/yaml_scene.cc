#include "physics/scene/text/yaml_scene.h"

#include <cstdint>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

#include "physics/scene/text/scalar_text.h"

namespace pliant::physics {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

// limit for values repeated by aliases
constexpr int kMaxVisits = 1'000'000;

// Fields that are documented but not in this version's schema.
bool IsReserved(std::string_view message, std::string_view field) {
  return (message == "Body" && field == "shell") || (message == "Scene" && field == "cameras");
}

// A message that is only a list: { repeated … value = 1; }
const FieldDescriptor* FindOnlyList(const Descriptor* type) {
  if (type->field_count() != 1) return nullptr;
  const FieldDescriptor* field = type->field(0);
  return field->is_repeated() && field->name() == "value" ? field : nullptr;
}

std::vector<std::string> FieldNames(const Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return names;
}

// Describes what is expected for one value of a field.
std::string Expected(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrCat("a plain number", UnitPhrase(field));
    case FieldDescriptor::CPPTYPE_INT32:
      return "a whole number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "text";
    case FieldDescriptor::CPPTYPE_ENUM:
      return JoinWithOr(EnumNames(field));
    default:
      break;
  }
  const Descriptor* type = field->message_type();
  if (FindOnlyList(type) != nullptr) return "a list of numbers";
  if (type->field_count() == 0) return "{}";
  return absl::StrCat("a map of ", absl::StrJoin(FieldNames(type), ", "));
}

std::string ExpectedList(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrCat("a list of numbers", UnitPhrase(field));
    case FieldDescriptor::CPPTYPE_INT32:
      return "a list of whole numbers";
    case FieldDescriptor::CPPTYPE_STRING:
      return "a list of names";
    default:
      return absl::StrCat("a list, each entry ", Expected(field));
  }
}

// Appends a value as it was written, shortened.
void AppendText(const YamlNode& node, int depth, std::string* out) {
  constexpr std::size_t kMaxTextLength = 48;
  if (out->size() > kMaxTextLength) return;
  const bool deep = depth > 2;
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      out->append("null");
      break;
    case YamlNode::Kind::kScalar:
      out->append(node.text);
      break;
    case YamlNode::Kind::kList:
      out->append("[");
      for (std::size_t i = 0; i < node.items.size() && out->size() <= kMaxTextLength; ++i) {
        if (i > 0) out->append(", ");
        if (!deep) AppendText(*node.items[i], depth + 1, out);
      }
      out->append("]");
      break;
    case YamlNode::Kind::kMap:
      out->append("{");
      for (std::size_t i = 0; i < node.fields.size() && out->size() <= kMaxTextLength; ++i) {
        if (i > 0) out->append(", ");
        AppendText(*node.fields[i].first, depth + 1, out);
        out->append(": ");
        if (!deep) AppendText(*node.fields[i].second, depth + 1, out);
      }
      out->append("}");
      break;
  }
}

std::string Describe(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kNull) return "no value is given";
  std::string text;
  AppendText(node, 0, &text);
  return absl::StrCat(Quoted(text), node.kind == YamlNode::Kind::kList  ? " is a list"
                                    : node.kind == YamlNode::Kind::kMap ? " is a map"
                                                                        : " is a single value");
}

bool ParseBool(const YamlNode& node, bool* value) {
  if (!node.plain) return false;
  *value = node.text == "true" || node.text == "True" || node.text == "TRUE";
  return *value || node.text == "false" || node.text == "False" || node.text == "FALSE";
}

}  // namespace

std::string UnitPhrase(const FieldDescriptor* field) {
  static constexpr struct {
    const char* field;
    const char* unit;
  } kUnits[] = {
      {"gravity", "m/s²"},
      {"time_step", "seconds"},
      {"relaxation_time", "seconds"},
      {"margin", "metres"},
      {"position", "metres"},
      {"rpy_degrees", "degrees"},
      {"linear", "m/s"},
      {"angular", "rad/s"},
      {"density", "kg/m³"},
      {"mass", "kilograms"},
      {"inertia", "kg·m²"},
      {"size", "metres"},
      {"radius", "metres"},
      {"radii", "metres"},
      {"ring_radius", "metres"},
      {"alpha", "1/s"},
      {"edge_length", "metres"},
      {"tube_radius", "metres"},
      {"times", "seconds"},
      {"youngs_modulus", "pascals"},
      {"bulk_modulus", "pascals"},
      {"yield_stress", "pascals"},
      {"viscosity", "pascal seconds"},
      {"cell_size", "metres"},
      {"rate", "hertz"},
      {"c1", "pascals"},
      {"c2", "pascals"},
      {"point", "metres"},
      {"length", "metres"},
  };
  const std::string& type = field->containing_type()->name();
  if (field->name() == "stiffness" &&
      (type == "Shape" || type == "ContactDefaults" || type == "Pair")) {
    return " in N/m";
  }
  if (field->name() == "beta" && type == "RayleighDamping") return " in seconds";
  for (const auto& entry : kUnits) {
    if (field->name() == entry.field) return absl::StrCat(" in ", entry.unit);
  }
  return "";
}

std::vector<std::string> EnumNames(const FieldDescriptor* field) {
  const EnumDescriptor* type = field->enum_type();
  std::vector<std::string> names;
  const std::size_t prefix = type->value(0)->name().size() - std::string_view("UNSPECIFIED").size();
  for (int i = 1; i < type->value_count(); ++i)
    names.push_back(type->value(i)->name().substr(prefix));
  return names;
}

void YamlReader::Error(const YamlNode& node, const std::string& path, std::string text) {
  log_.ErrorAt({log_.file(), node.line, node.column}, path, std::move(text));
}

void YamlReader::Mark(const std::string& path, const YamlNode& node, const YamlNode* key) {
  // the position of a value is its beginning, but that of a block of lines is its key
  const bool block = node.kind != YamlNode::Kind::kScalar && !node.flow;
  const YamlNode& at = block && key != nullptr ? *key : node;
  log_.Mark(path, at.line, at.column);
}

bool YamlReader::SpendVisit(const YamlNode& node, const std::string& path) {
  if (exhausted_) return false;
  if (++visits_ <= kMaxVisits) return true;
  exhausted_ = true;
  Error(node, path,
        absl::StrCat("aliases expand to more than ", kMaxVisits,
                     " values; write less, or use `instances`"));
  return false;
}

std::vector<YamlReader::Entry> YamlReader::CollectEntries(const YamlNode& map,
                                                          const std::string& path) {
  std::vector<Entry> entries;
  std::vector<const YamlNode*> merged;
  absl::flat_hash_map<std::string_view, const YamlNode*> seen;
  for (const Entry& entry : map.fields) {
    const YamlNode& key = *entry.first;
    if (!SpendVisit(key, path)) return {};
    if (key.kind != YamlNode::Kind::kScalar) {
      Error(key, path, absl::StrCat(Describe(key), " where the name of a field is expected"));
      continue;
    }
    if (key.plain && key.text == "<<") {
      merged.push_back(entry.second);
      continue;
    }
    if (const auto [first, fresh] = seen.try_emplace(key.text, &key); !fresh) {
      Error(key, path.empty() ? key.text : absl::StrCat(path, ".", key.text),
            absl::StrCat("is given twice, first on line ", first->second->line, "; keep one"));
      continue;
    }
    entries.push_back(entry);
  }

  // merges fill in keys that the map does not have; of several, the first wins
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const YamlNode& from = *merged[i];
    if (from.kind == YamlNode::Kind::kMap) {
      for (const Entry& entry : CollectEntries(from, path)) {
        if (seen.try_emplace(entry.first->text, entry.first).second) entries.push_back(entry);
      }
    } else if (from.kind == YamlNode::Kind::kList && i < map.fields.size()) {
      for (const YamlNode* item : from.items) {
        if (item->kind == YamlNode::Kind::kMap) {
          for (const Entry& entry : CollectEntries(*item, path)) {
            if (seen.try_emplace(entry.first->text, entry.first).second) entries.push_back(entry);
          }
        } else {
          Error(*item, path, absl::StrCat(Describe(*item), "; `<<` merges maps"));
        }
      }
    } else {
      Error(from, path, absl::StrCat(Describe(from), "; `<<` merges maps"));
    }
  }
  return entries;
}

void YamlReader::ReadMessage(const YamlNode& node, const std::string& path, Message* message) {
  const Descriptor* type = message->GetDescriptor();
  const Reflection* reflection = message->GetReflection();
  for (const auto& [key, value] : CollectEntries(node, path)) {
    const std::string below = path.empty() ? key->text : absl::StrCat(path, ".", key->text);
    const FieldDescriptor* field = type->FindFieldByName(key->text);
    if (field == nullptr) {
      if (IsReserved(type->name(), key->text)) {
        Error(*key, below, "is reserved: it is not supported yet. Remove it");
        continue;
      }
      const std::vector<std::string> names = FieldNames(type);
      const std::string near = DidYouMean(key->text, names);
      const std::string known = names.empty() ? "no fields are allowed here; write {}"
                                              : "expected one of " + absl::StrJoin(names, ", ");
      Error(*key, below.size() > 200 ? path : below,
            absl::StrCat(Quoted(key->text), " is not a known field",
                         near.empty() ? absl::StrCat("; ", known) : near));
      continue;
    }

    // only one member of a oneof
    const OneofDescriptor* choice = field->real_containing_oneof();
    if (choice != nullptr && reflection->HasOneof(*message, choice)) {
      const FieldDescriptor* taken = reflection->GetOneofFieldDescriptor(*message, choice);
      std::vector<std::string> members;
      for (int i = 0; i < choice->field_count(); ++i) members.push_back(choice->field(i)->name());
      Error(*key, below,
            absl::StrCat("conflicts with `", taken->name(), "`; expected only one of ",
                         JoinWithOr(members)));
      continue;
    }

    Mark(below, *value, key);
    if (value->kind == YamlNode::Kind::kNull) {
      Error(*key, below,
            absl::StrCat("has no value; expected ", field->is_repeated() && !field->is_map()
                                                        ? ExpectedList(field)
                                                        : Expected(field)));
      continue;
    }
    ReadField(*value, below, field, message);
  }
}

void YamlReader::ReadField(const YamlNode& node, const std::string& path, const Field* field,
                           Message* message) {
  if (!SpendVisit(node, path) || log_.full()) return;
  message->GetReflection()->ClearField(message, field);
  if (field->is_map()) {
    ReadMap(node, path, field, message);
  } else if (field->is_repeated()) {
    ReadRepeated(node, path, field, message);
  } else {
    ReadItem(node, path, field, message);
  }
}

void YamlReader::ReadRepeated(const YamlNode& node, const std::string& path, const Field* field,
                              Message* message) {
  if (node.kind != YamlNode::Kind::kList) {
    Error(node, path, absl::StrCat(Describe(node), "; expected ", ExpectedList(field)));
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = *node.items[i];
    const std::string below = absl::StrCat(path, "[", i, "]");
    if (!SpendVisit(item, below) || log_.full()) return;
    Mark(below, item, nullptr);
    ReadItem(item, below, field, message);
  }
}

void YamlReader::ReadMap(const YamlNode& node, const std::string& path, const Field* field,
                         Message* message) {
  if (node.kind != YamlNode::Kind::kMap) {
    Error(node, path, absl::StrCat(Describe(node), "; expected a map from names to values"));
    return;
  }
  for (const auto& [key, value] : CollectEntries(node, path)) {
    const std::string below = absl::StrCat(path, ".", key->text);
    Mark(below, *value, key);
    Message* entry = message->GetReflection()->AddMessage(message, field);
    entry->GetReflection()->SetString(entry, field->message_type()->map_key(), key->text);
    ReadItem(*value, below, field->message_type()->map_value(), entry);
  }
}

void YamlReader::ReadMessageOrList(const YamlNode& node, const std::string& path,
                                   Message* message) {
  const Descriptor* type = message->GetDescriptor();
  if (const Field* list = FindOnlyList(type); list != nullptr) {
    if (node.kind == YamlNode::Kind::kList) {
      ReadRepeated(node, path, list, message);
      return;
    }
    if (node.kind == YamlNode::Kind::kScalar) {
      ReadItem(node, path, list, message);
      return;
    }
  }
  if (node.kind == YamlNode::Kind::kMap) {
    ReadMessage(node, path, message);
    return;
  }

  // `method: convex` is a common mistake for `method: {convex: {}}`
  const Field* member =
      node.kind == YamlNode::Kind::kScalar ? type->FindFieldByName(node.text) : nullptr;
  const bool choice = member != nullptr && member->cpp_type() == Field::CPPTYPE_MESSAGE;
  const std::string mend = choice ? absl::StrCat(". Write {", node.text, ": {}}") : "";
  const std::string expected =
      type->field_count() == 0 ? "{}"
                               : absl::StrCat("a map of ", absl::StrJoin(FieldNames(type), ", "));
  Error(node, path, absl::StrCat(Describe(node), "; expected ", expected, mend));
}

void YamlReader::ReadItem(const YamlNode& node, const std::string& path, const Field* field,
                          Message* message) {
  const Reflection* reflection = message->GetReflection();
  const bool repeated = field->is_repeated();
  if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
    ReadMessageOrList(node, path,
                      repeated ? reflection->AddMessage(message, field)
                               : reflection->MutableMessage(message, field));
    return;
  }
  if (node.kind != YamlNode::Kind::kScalar) {
    Error(node, path, absl::StrCat(Describe(node), "; expected ", Expected(field)));
    return;
  }

  const std::string& text = node.text;
  const auto refuse = [&](const std::string& why) {
    const std::string quoted = node.plain ? "" : " in quotes";
    Error(node, path, absl::StrCat(Quoted(text), quoted, " ", why, "; expected ", Expected(field)));
  };
  switch (field->cpp_type()) {
    case Field::CPPTYPE_DOUBLE: {
      double value = 0;
      const std::string why = node.plain ? ParseNumber(text, &value) : "is text";
      if (!why.empty()) refuse(why);
      // keep the list's length, to avoid follow-up errors
      if (repeated) reflection->AddDouble(message, field, value);
      if (!repeated && why.empty()) reflection->SetDouble(message, field, value);
      break;
    }
    case Field::CPPTYPE_INT32: {
      std::int32_t value = 0;
      const std::string why = node.plain ? ParseInteger(text, &value) : "is text";
      if (!why.empty()) refuse(why);
      if (repeated) reflection->AddInt32(message, field, value);
      if (!repeated && why.empty()) reflection->SetInt32(message, field, value);
      break;
    }
    case Field::CPPTYPE_BOOL: {
      bool value = false;
      if (!ParseBool(node, &value)) {
        refuse("is not a boolean");
        break;
      }
      reflection->SetBool(message, field, value);
      break;
    }
    case Field::CPPTYPE_STRING:
      if (repeated) {
        reflection->AddString(message, field, text);
      } else {
        reflection->SetString(message, field, text);
      }
      break;
    case Field::CPPTYPE_ENUM: {
      const std::vector<std::string> names = EnumNames(field);
      int number = 0;
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == text) number = field->enum_type()->value(static_cast<int>(i) + 1)->number();
      }
      if (number == 0) {
        const std::string near = FindNearest(text, names);
        refuse(near.empty() ? "is not a valid choice"
                            : absl::StrCat("is not a valid choice (did you mean ", near, "?)"));
        break;
      }
      reflection->SetEnumValue(message, field, number);
      break;
    }
    default:
      refuse("cannot be read");
  }
}

}  // namespace pliant::physics
