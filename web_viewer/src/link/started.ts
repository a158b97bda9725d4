// The link of this page, which starts when this module is loaded.
import { Client } from './client';
import { Measure, type MeasureId } from './messages';

export const kFirstMeasure: MeasureId = Measure.strain;
export const client = new Client();
client.start(kFirstMeasure);
