import type { Privacy } from '../ceilings/privacy.ts';
import type { Clock, Log, Metrics, Random } from '../runtime/ports.ts';
import type { Keyring, Sealer } from '../sealing/index.ts';
import type { Store } from '../storage/port.ts';

/** What the domain of tasks, runs and journal works with. A function that never opens content has no sealer. */
export interface StateServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface TaskServices extends StateServices {
  readonly sealer: Sealer;
  readonly keyring: Keyring;
  readonly privacy: Privacy;
}
