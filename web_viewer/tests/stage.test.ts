import { expect, test, vi } from 'vitest';

const calls: string[] = []; // of the renderer, in order

vi.mock('three', async (original) => {
  class WebGLRenderer {
    shadowMap = {};
    setPixelRatio(): void {
      calls.push('resize');
    }
    setSize(): void {
      calls.push('resize');
    }
    render(): void {
      calls.push('render');
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

test('the drawing buffer changes its size only right before it is drawn', async () => {
  let observed = (): void => {};
  vi.stubGlobal('ResizeObserver', class {
    constructor(callback: () => void) {
      observed = callback;
    }
    observe(): void {}
  });
  const { Stage } = await import('../src/scene/stage');
  const canvas = Object.assign(new EventTarget(), {
    clientWidth: 800,
    clientHeight: 600,
    style: {},
    getRootNode: () => new EventTarget(),
  });
  const stage = new Stage(canvas as unknown as HTMLCanvasElement, 1);
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
