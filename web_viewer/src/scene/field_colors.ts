// Colours of a field: a table, and the part of it that the latest values span.
import { DataTexture, LinearFilter, RGBAFormat, SRGBColorSpace } from 'three';
import { colorTable, divergingColor, kTableSize, sequentialColor } from './colormap';
import type { Range } from './range';

export class FieldColors {
  readonly table = new DataTexture(colorTable(sequentialColor), kTableSize, 1, RGBAFormat);
  private diverging = false;

  constructor() {
    this.table.colorSpace = SRGBColorSpace;
    this.table.minFilter = this.table.magFilter = LinearFilter;
    this.table.needsUpdate = true;
  }

  // Maps values that run from 0 at fieldMin to 1 at fieldMax onto the displayed range, by the texture's transform.
  setRange({ low, high }: Range, diverging: boolean, { fieldMin, fieldMax }: { fieldMin: number; fieldMax: number }): void {
    const width = Math.max(high - low, 1e-30);
    this.table.repeat.set((fieldMax - fieldMin) / width, 1);
    this.table.offset.set((fieldMin - low) / width, 0);
    if (diverging === this.diverging) return;
    this.diverging = diverging;
    this.table.image.data = colorTable(diverging ? divergingColor : sequentialColor);
    this.table.needsUpdate = true;
  }

  dispose(): void {
    this.table.dispose();
  }
}
