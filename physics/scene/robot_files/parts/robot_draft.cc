#include "physics/scene/robot_files/parts/robot_draft.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

constexpr std::size_t kNamesShown = 6;

std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", name, "\"");
}

// Finds the joint from each link to its parent; −1: none.
bool FindParents(const RobotDraft& draft, RobotLog* log, std::vector<int>* joint_of) {
  bool ok = true;
  joint_of->assign(draft.robot.links.size(), -1);
  for (std::size_t j = 0; j < draft.joints.size(); ++j) {
    const JointDraft& joint = draft.joints[j];
    int& taken = (*joint_of)[joint.child];
    if (taken < 0) {
      taken = static_cast<int>(j);
      continue;
    }
    const JointDraft& other = draft.joints[taken];
    log->Error(
        joint.place,
        absl::StrCat("joint ", Quoted(joint.joint.name), ": its child, link ",
                     Quoted(draft.robot.links[joint.child].name), ", is already attached by joint ",
                     Quoted(other.joint.name), " (line ", other.place.line,
                     "); expected one parent per link. Remove one, and close the "
                     "loop with a constraint in the scene"));
    ok = false;
  }
  return ok;
}

bool SayCycles(const RobotDraft& draft, const std::vector<int>& joint_of,
               const std::vector<bool>& reached, RobotLog* log) {
  std::vector<bool> said(joint_of.size(), false);
  for (std::size_t i = 0; i < joint_of.size(); ++i) {
    if (reached[i] || said[i]) continue;
    // go up until a link repeats: the links in between form the cycle
    std::vector<int> path;
    int at = static_cast<int>(i);
    while (!said[at]) {
      said[at] = true;
      path.push_back(at);
      at = draft.joints[joint_of[at]].parent;
    }
    std::size_t first = 0;
    while (first < path.size() && path[first] != at) ++first;
    if (first == path.size()) continue;  // below a cycle that has been reported
    std::string names;
    for (std::size_t k = first; k < path.size(); ++k) {
      if (k - first == kNamesShown) {
        absl::StrAppend(&names, " ← …");
        break;
      }
      absl::StrAppend(&names, k == first ? "" : " ← ", Quoted(draft.robot.links[path[k]].name));
    }
    const JointDraft& joint = draft.joints[joint_of[at]];
    log->Error(joint.place, absl::StrCat("joint ", Quoted(joint.joint.name), " closes a cycle of ",
                                         path.size() - first,
                                         path.size() - first == 1 ? " link: " : " links: ", names,
                                         "; expected a tree. Remove a joint, and close the loop "
                                         "with a constraint in the scene"));
  }
  return false;
}

void Renumber(const std::vector<int>& number, RobotDraft* draft) {
  const auto map = [&](int* link) {
    if (*link >= 0) *link = number[*link];
  };
  RobotDescription& robot = draft->robot;
  for (RobotFrame& frame : robot.frames) map(&frame.link);
  for (RobotCoupler& coupler : robot.couplers) {
    for (auto& term : coupler.terms) map(&term.first);
  }
  for (RobotLoop& loop : robot.loops) {
    map(&loop.link_a);
    map(&loop.link_b);
  }
  for (RobotActuator& actuator : robot.actuators) map(&actuator.link);
  for (RobotDeformable& deformable : robot.deformables) map(&deformable.pinned_to);
  for (auto& [a, b] : robot.excluded_contacts) {
    map(&a);
    map(&b);
  }
}

}  // namespace

std::vector<bool> FindFixedLinks(const RobotDraft& draft, bool fixed_base) {
  const std::size_t n = draft.robot.links.size();
  std::vector<int> joint_of(n, -1);
  for (std::size_t j = 0; j < draft.joints.size(); ++j)
    joint_of[draft.joints[j].child] = static_cast<int>(j);
  std::vector<bool> known(n, false), fixed(n, false);
  for (std::size_t i = 0; i < n; ++i) {
    // go up to the first link that is known or decides; links of a cycle, refused elsewhere, move
    std::vector<int> path;
    int at = static_cast<int>(i);
    bool result = false;
    while (path.size() <= n) {
      if (known[at]) {
        result = fixed[at];
        break;
      }
      path.push_back(at);
      if (joint_of[at] < 0) {
        result = fixed_base || (!draft.fixed.empty() && draft.fixed[at]);
        break;
      }
      const JointDraft& joint = draft.joints[joint_of[at]];
      if (joint.joint.type != JointType::kFixed || joint.parent < 0) {
        result = joint.joint.type == JointType::kFixed;
        break;
      }
      at = joint.parent;
    }
    for (const int link : path) {
      known[link] = true;
      fixed[link] = result;
    }
  }
  return fixed;
}

bool BuildLinkTree(const std::vector<RigidTransform>& X_WB, bool one_root, RobotDraft* draft,
                   RobotLog* log) {
  std::vector<RobotLink>& links = draft->robot.links;
  const int n = static_cast<int>(links.size());
  if (n > kMaxLinks) {
    log->Error(draft->places[0], absl::StrCat("has ", n, " links; expected at most ", kMaxLinks));
    return false;
  }
  std::vector<int> joint_of;
  if (!FindParents(*draft, log, &joint_of)) return false;

  std::vector<int> roots, loose;  // all roots, and those without a joint
  std::vector<std::vector<int>> children(links.size());
  for (int i = 0; i < n; ++i) {
    const int parent = joint_of[i] < 0 ? -1 : draft->joints[joint_of[i]].parent;
    if (parent < 0) roots.push_back(i);
    if (joint_of[i] < 0) loose.push_back(i);
  }
  // in the order of the joints in the file
  for (std::size_t j = 0; j < draft->joints.size(); ++j) {
    const JointDraft& joint = draft->joints[j];
    if (joint.parent >= 0) children[joint.parent].push_back(joint.child);
  }

  // depth first without recursion: chains may have tens of thousands of links
  std::vector<int> order;
  std::vector<int> stack(roots.rbegin(), roots.rend());
  std::vector<bool> reached(links.size(), false);
  while (!stack.empty()) {
    const int at = stack.back();
    stack.pop_back();
    reached[at] = true;
    order.push_back(at);
    stack.insert(stack.end(), children[at].rbegin(), children[at].rend());
  }
  if (static_cast<int>(order.size()) < n) return SayCycles(*draft, joint_of, reached, log);

  // roots with a joint to the world are connected to each other
  if (one_root && loose.size() + (loose.size() < roots.size()) > 1) {
    std::string names;
    for (std::size_t k = 0; k < loose.size() && k <= kNamesShown; ++k) {
      absl::StrAppend(&names, k == 0 ? "" : ", ",
                      k == kNamesShown ? "…" : Quoted(links[loose[k]].name));
    }
    const std::string other =
        loose.size() < roots.size() ? "the world" : "link " + Quoted(links[loose[0]].name);
    log->Error(draft->places[loose.back()],
               absl::StrCat("link ", Quoted(links[loose.back()].name), " is not connected to ",
                            other, ": no joint leads to ", names,
                            "; expected one tree. Connect them by joints, for example fixed ones"));
    return false;
  }

  std::vector<int> number(links.size());
  for (int k = 0; k < n; ++k) number[order[k]] = k;
  std::vector<RobotLink> sorted;
  std::vector<FilePlace> places;
  std::vector<bool> fixed;
  sorted.reserve(links.size());
  for (const int i : order) {
    RobotLink link = std::move(links[i]);
    const bool is_fixed = !draft->fixed.empty() && draft->fixed[i];
    if (joint_of[i] >= 0) {
      JointDraft& joint = draft->joints[joint_of[i]];
      link.parent = joint.parent < 0 ? -1 : number[joint.parent];
      link.joint = std::move(joint.joint);
    } else {
      link.parent = -1;
      link.joint = Joint();
      link.joint.type = is_fixed ? JointType::kFixed : JointType::kFree;
      link.joint.X_PF = X_WB[i];
    }
    sorted.push_back(std::move(link));
    places.push_back(draft->places[i]);
    fixed.push_back(is_fixed);
  }
  Renumber(number, draft);
  links = std::move(sorted);
  draft->places = std::move(places);
  draft->fixed = std::move(fixed);
  draft->joints.clear();
  draft->sorted = true;
  return true;
}

}  // namespace pliant::physics
