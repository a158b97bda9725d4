import { expect, test, vi } from 'vitest';
import type { Stage } from '../src/scene/stage';

const calls: string[] = []; // of the renderer, in order
let shadows = 0; // how often they were drawn

vi.mock('three', async (original) => {
  class WebGLRenderer {
    shadowMap = { needsUpdate: false };
    setPixelRatio(): void {
      calls.push('resize');
    }
    setSize(): void {
      calls.push('resize');
    }
    render(): void {
      calls.push('render');
      if (this.shadowMap.needsUpdate) ++shadows;
      this.shadowMap.needsUpdate = false;
    }
  }
  class PMREMGenerator {
    fromScene(): object {
      return { texture: null };
    }
    dispose(): void {}
  }
  return { ...(await original<typeof import('three')>()), WebGLRenderer, PMREMGenerator };
});

let observed = (): void => {};

// `renderer`: name of the graphics processor. `quality`: as in Stage.
async function makeStage(renderer: string, quality: number): Promise<Stage> {
  vi.stubGlobal('ResizeObserver', class {
    constructor(callback: () => void) {
      observed = callback;
    }
    observe(): void {}
  });
  const context = { getExtension: () => null, getParameter: () => renderer };
  vi.stubGlobal('document', { createElement: () => ({ getContext: () => context }) });
  vi.stubGlobal('window', { devicePixelRatio: 1 });
  const module = await import('../src/scene/stage');
  const canvas = Object.assign(new EventTarget(), {
    clientWidth: 800,
    clientHeight: 600,
    style: {},
    getRootNode: () => new EventTarget(),
  });
  return new module.Stage(canvas as unknown as HTMLCanvasElement, quality);
}

test('shadows are drawn when bodies change, and not when the view turns', async () => {
  const stage = await makeStage('A GPU', 0);
  stage.draw(0);
  shadows = 0;
  for (let k = 1; k <= 30; ++k) {
    stage.controls.dispatchEvent({ type: 'change' });
    expect(stage.draw(16 * k)).toBe(true);
  }
  expect(shadows).toBe(0);
  for (let k = 31; k <= 60; ++k) {
    stage.invalidate();
    stage.draw(16 * k);
  }
  expect(shadows).toBe(30);
});

test('in software, shadows are drawn five times a second, and once more at the end', async () => {
  const stage = await makeStage('SwiftShader', 0);
  stage.draw(0);
  shadows = 0;
  for (let k = 1; k <= 50; ++k) {
    stage.invalidate();
    stage.draw(20 * k);
  }
  expect(shadows).toBe(5);
  // nothing is drawn until those of the last change are due
  stage.invalidate();
  const drawn: number[] = [];
  for (let now = 1020; now < 2000; now += 20) if (stage.draw(now)) drawn.push(now);
  expect(drawn).toEqual([1020, 1200]);
  expect(shadows).toBe(6);
});

test('the drawing buffer changes its size only right before it is drawn', async () => {
  const stage = await makeStage('A GPU', 1);
  stage.draw(0);

  for (const change of [observed, () => stage.setCovered(0, 100, 0)]) {
    calls.length = 0;
    change();
    expect(calls).toEqual([]); // what is shown stays
    expect(stage.draw(16)).toBe(true);
    expect(calls).toContain('resize');
    expect(calls.at(-1)).toBe('render');
  }
});
