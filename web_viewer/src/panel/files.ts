// Opening files and examples: the buttons, the page as a drop target, and the card that shows the progress.
import { chosenFiles, droppedFiles, type GivenFile } from '../files/given';
import { sceneTitle, type Given, type OpeningInfo } from '../files/opening';
import { element, setHidden, setText } from './dom';

export interface FilesPort {
  open(given: Given): void;
  cancel(): void;
  refusal(): string; // reason for which no files can be opened now; '': they can
}

const kExamples = ['examples', 'examples-first'];
const kShowsAfterMs = 150; // faster openings show no card

export class FilesView {
  private working = false;
  private startedAt = 0;
  private scenes: string[] = [];
  private warnedOf = ''; // world whose warnings are shown

  constructor(private readonly port: FilesPort) {
    const input = element<HTMLInputElement>('files-input');
    for (const id of ['open-files', 'open-files-first']) {
      const button = element<HTMLButtonElement>(id);
      button.addEventListener('click', () => {
        button.blur();
        const refusal = this.refusal();
        if (refusal) return this.refuse(refusal);
        input.click();
      });
    }
    input.addEventListener('change', () => {
      this.open(Promise.resolve(chosenFiles(input.files ?? [])));
      input.value = ''; // so that choosing the same files again is a change
    });
    for (const id of kExamples) {
      const select = element<HTMLSelectElement>(id);
      select.addEventListener('change', () => {
        const scene = select.value;
        select.value = '';
        select.blur();
        const refusal = this.refusal();
        if (refusal) return this.refuse(refusal, sceneTitle(scene));
        port.open(scene);
      });
    }
    element('opening-end').addEventListener('click', () => {
      if (this.working) return port.cancel();
      setHidden('opening', true);
    });

    window.addEventListener('dragenter', (event) => this.over(event));
    window.addEventListener('dragover', (event) => this.over(event));
    window.addEventListener('dragleave', (event) => {
      if (!event.relatedTarget) setHidden('drop', true);
    });
    window.addEventListener('drop', (event) => {
      setHidden('drop', true);
      if (!event.dataTransfer || !hasFiles(event)) return;
      event.preventDefault();
      this.open(droppedFiles(event.dataTransfer));
    });
  }

  // `now` [ms]
  show({ state, title, text, share, world, warnings }: OpeningInfo, now: number): void {
    if (state === 'working' && !this.working) this.startedAt = now;
    this.working = state === 'working';
    const warned = state === 'done' && warnings.length > 0;
    this.warnedOf = warned ? world : '';
    if ((state === 'done' && !warned) || state === 'cancelled') return setHidden('opening', true);
    const failed = state === 'failed';
    element('opening').classList.toggle('failed', failed);
    element('opening').classList.toggle('warned', warned);
    setText('opening-title', failed ? `Cannot open ${title}` : warned ? `${title}: warnings` : title);
    setText('opening-text', text);
    setHidden('opening-text', warned);
    setHidden('opening-warnings', !warned);
    element('opening-warnings').replaceChildren(...warnings.map(listItem));
    setHidden('opening-share', !this.working);
    element<HTMLProgressElement>('opening-share').value = share;
    setText('opening-end', this.working ? 'Cancel' : 'Close');
    if (!this.working || now - this.startedAt >= kShowsAfterMs) setHidden('opening', false);
  }

  // Offers the scenes of the server.
  showScenes(names: string[]): void {
    if (names.join() === this.scenes.join()) return; // keep an open list open
    this.scenes = names;
    for (const id of kExamples) {
      const title = new Option('Examples…', '');
      title.hidden = title.disabled = true;
      element(id).replaceChildren(title, ...names.map((name) => new Option(sceneTitle(name), name)));
      element<HTMLSelectElement>(id).value = '';
      setHidden(id, names.length === 0);
    }
  }

  // Warnings about the files of one world are not shown beside another.
  showWorld(name: string): void {
    if (this.warnedOf === '' || this.warnedOf === name) return;
    this.warnedOf = '';
    setHidden('opening', true);
  }

  private over(event: DragEvent): void {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer!.dropEffect = 'copy';
    setText('drop-text', this.refusal() || 'Drop robots, meshes or a scene to create a world from them');
    setHidden('drop', false);
  }

  private refusal(): string {
    return this.working ? 'Other files are being opened. Wait for them, or cancel.' : this.port.refusal();
  }

  private open(files: Promise<GivenFile[]>): void {
    const refusal = this.refusal();
    if (refusal) return this.refuse(refusal);
    files.then(
      (given) => given.length > 0 && this.port.open(given),
      (error: Error) => this.refuse(error.message),
    );
  }

  private refuse(text: string, title = 'files'): void {
    if (this.working) return;
    this.show({ state: 'failed', title, text, share: 0, world: '', warnings: [] }, 0);
  }
}

function listItem(text: string): HTMLElement {
  const item = document.createElement('li');
  item.textContent = text;
  return item;
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') ?? false;
}
