import type { Surroundings } from './surroundings.ts';

/** How far something is, for people at a terminal: one line that is written over. Elsewhere nothing is written. */
export interface Bar {
  /** `of` absent: not known yet. */
  show(done: number, of: number | undefined, says: string): void;
  /** Leaves the line as it stands. */
  end(): void;
}

const WIDTH = 24;
/** What was longer before is written over. */
const LINE = 100;

export function createBar(around: Surroundings, silent: boolean): Bar {
  if (silent || !around.terminal) return { show: () => {}, end: () => {} };
  let isShown = false;
  return {
    show(done, of, says) {
      const share = of === undefined ? 0 : of === 0 ? 1 : Math.min(1, done / of);
      const filled = Math.round(share * WIDTH);
      const bar = `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}]`;
      around.writeError(`\r${`${bar} ${done}/${of ?? '?'} ${says}`.padEnd(LINE)}`);
      isShown = true;
    },
    end() {
      if (isShown) around.writeError('\n');
      isShown = false;
    },
  };
}
