// Files that a user dropped onto the page or chose in a dialog, with their paths within the dropped folders.

export interface GivenFile {
  path: string; // within the dropped folders: a name, or folders and a name
  content: Blob;
}

const kMaxFiles = 20000; // in dropped folders

// Files chosen in a dialog.
export function chosenFiles(list: Iterable<File>): GivenFile[] {
  return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, content: file }));
}

// Dropped files, including those in folders. Call during the event, because access to them ends with it.
export function droppedFiles(transfer: Pick<DataTransfer, 'items' | 'files'>): Promise<GivenFile[]> {
  const entries = [...transfer.items].map((item) => (item.kind === 'file' ? item.webkitGetAsEntry?.() : null));
  if (!entries.some((entry) => entry)) return Promise.resolve(chosenFiles(transfer.files));
  return listEntries(entries.filter((entry) => entry !== null && entry !== undefined));
}

async function listEntries(entries: FileSystemEntry[]): Promise<GivenFile[]> {
  const files: GivenFile[] = [];
  const left = [...entries];
  for (let entry = left.shift(); entry; entry = left.shift()) {
    if (entry.name.startsWith('.')) continue;
    if (entry.isDirectory) {
      left.push(...(await readFolder(entry as FileSystemDirectoryEntry)));
      continue;
    }
    const file = entry as FileSystemFileEntry;
    const content = await new Promise<File>((resolve, reject) => file.file(resolve, reject));
    files.push({ path: file.fullPath.replace(/^\/+/, ''), content });
    if (files.length > kMaxFiles) {
      throw new Error(`The folder has more than ${kMaxFiles} files. Drop the folder of the robot or the part alone.`);
    }
  }
  return files;
}

// Reads all entries of a folder, which come in batches until one is empty.
async function readFolder(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return all;
    all.push(...part);
  }
}
