#include "physics/rigid/compound_joint.h"

#include <iterator>

namespace pliant::physics {

// Registered kinds of compound joint, one line each; each is defined in its own file.
#define PLIANT_COMPOUND_JOINTS(ADD) \
  ADD(Universal)                    \
  ADD(Planar)

#define PLIANT_DECLARE(NAME) const CompoundJoint* NAME##Joint();
#define PLIANT_CALL(NAME) NAME##Joint(),
PLIANT_COMPOUND_JOINTS(PLIANT_DECLARE)

namespace {

// types of the first kinds; the others are numbered from kFirstAdded
constexpr JointType kNamed[] = {JointType::kUniversal, JointType::kPlanar};
constexpr int kNumNamed = static_cast<int>(std::size(kNamed));

}  // namespace

std::span<const CompoundJoint* const> AllCompoundJoints() {
  static const CompoundJoint* const kAll[] = {PLIANT_COMPOUND_JOINTS(PLIANT_CALL)};
  return kAll;
}
#undef PLIANT_DECLARE
#undef PLIANT_CALL
#undef PLIANT_COMPOUND_JOINTS

JointType TypeOfCompound(int index) {
  if (index < kNumNamed) return kNamed[index];
  return static_cast<JointType>(static_cast<int>(JointType::kFirstAdded) + index - kNumNamed);
}

const CompoundJoint* FindCompoundJoint(JointType type) {
  const auto all = AllCompoundJoints();
  for (int k = 0; k < static_cast<int>(all.size()); ++k) {
    if (TypeOfCompound(k) == type) return all[k];
  }
  return nullptr;
}

const CompoundJoint* FindCompoundJoint(std::string_view name, JointType* type) {
  const auto all = AllCompoundJoints();
  for (int k = 0; k < static_cast<int>(all.size()); ++k) {
    if (all[k]->name() != name) continue;
    *type = TypeOfCompound(k);
    return all[k];
  }
  return nullptr;
}

}  // namespace pliant::physics
