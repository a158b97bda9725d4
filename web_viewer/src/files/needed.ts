// Chooses the files that a new world may need, so that not all files of a dropped package are uploaded. The server decides how
// to use them.
import type { GivenFile } from './given';

const kScenes = ['yaml', 'yml'];
const kRobots = ['urdf', 'sdf', 'mjcf', 'xml', 'xacro'];
const kMeshes = ['stl', 'obj', 'ply', 'glb', 'gltf', 'dae', 'msh', 'vtk', 'mesh', 'inp'];
const kManifests = ['package.xml', 'model.config'];
const kNameFiles = [...kScenes, ...kRobots, 'config', 'gltf', 'obj', 'mtl', 'dae']; // texts that may name other files
const kMaxUnknown = 10; // files of unknown kinds that are uploaded
const kMaxUnknownSize = 64 << 20; // of them together [B]
const kMaxText = 4 << 20; // of a file that is searched for names, which are at the beginning of large meshes [B]

// Returns scenes and robots, the files that they name directly or through others, and meshes that were given without a folder;
// all meshes if there is neither a scene nor a robot. If there are none of these, returns all files, for the server to judge by
// their content, or throws an error if they are many or large.
export async function neededFiles(given: GivenFile[]): Promise<GivenFile[]> {
  const texts = new Map<GivenFile, Promise<string>>();
  const textOf = (file: GivenFile): Promise<string> => {
    const known = texts.get(file) ?? file.content.slice(0, kMaxText).text();
    texts.set(file, known);
    return known;
  };

  const roots: GivenFile[] = [];
  for (const file of given) if (await isRoot(file, textOf)) roots.push(file);
  const meshes = given.filter(({ path }) => kMeshes.includes(extension(path)));
  const loose = meshes.filter(({ path }) => !path.includes('/'));
  const needed = new Set([...roots, ...(roots.length > 0 ? loose : meshes)]);
  if (needed.size === 0) return unknownFiles(given);

  // iteration over a set also visits elements that are added meanwhile
  for (const file of needed) {
    if (!kNameFiles.includes(extension(file.path))) continue;
    const text = await textOf(file);
    const hasPackages = /(package|model):\/\//.test(text);
    for (const other of given) {
      if (needed.has(other)) continue;
      const name = fileName(other.path);
      if ((hasPackages && kManifests.includes(name)) || mentions(text, name)) needed.add(other);
    }
  }
  return given.filter((file) => needed.has(file));
}

function unknownFiles(given: GivenFile[]): GivenFile[] {
  const size = given.reduce((sum, { content }) => sum + content.size, 0);
  if (given.length <= kMaxUnknown && size <= kMaxUnknownSize) return given;
  const what = given.length === 1 ? `${given[0].path} is no` : `None of the ${given.length} files is a`;
  throw new Error(
    `${what} scene (YAML), robot (URDF, SDF, MJCF) or mesh (OBJ, STL, PLY, glTF, COLLADA; Gmsh, legacy VTK, Medit, Abaqus), by ` +
      'its name. Drop one of these.',
  );
}

// True if the text has the name, plain or percent-encoded, and not as a part of a longer one.
export function mentions(text: string, name: string): boolean {
  return [...new Set([name, encodeURIComponent(name)])].some((form) => mentionsForm(text, form));
}

function mentionsForm(text: string, name: string): boolean {
  const continues = (letter: string | undefined): boolean => letter !== undefined && /[\w.-]/.test(letter);
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!continues(text[at - 1]) && !continues(text[at + name.length])) return true;
  }
  return false;
}

// True for scenes and robots. Packages also have other YAML and XML files.
async function isRoot(file: GivenFile, textOf: (file: GivenFile) => Promise<string>): Promise<boolean> {
  const kind = extension(file.path);
  if (kScenes.includes(kind)) return !file.path.includes('/') || /^(bodies|robots|instances):/m.test(await textOf(file));
  if (kind === 'xml') return /<(robot|sdf|mujoco)\b/.test(await textOf(file));
  return kRobots.includes(kind);
}

function extension(path: string): string {
  return /\.([^./]+)$/.exec(path)?.[1].toLowerCase() ?? '';
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
