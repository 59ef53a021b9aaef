import type { AddressResolver } from '../../shared/guard/index.ts';

/** What the command line has around it; tests hand in their own. */
export interface Surroundings {
  /** Results, and with `--json` nothing else. */
  readonly write: (text: string) => void;
  /** Everything that is for people only. */
  readonly writeError: (text: string) => void;
  readonly readInput: () => Promise<string>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What relative paths start from. */
  readonly folder: string;
  /** Instead of this machine's name servers, for `guard check`. */
  readonly resolver?: AddressResolver;
  /** A person at a terminal, who may be asked and shown how far something is. */
  readonly terminal?: { confirm(question: string): Promise<boolean> };
  /** Instead of a timer's pause, ms. */
  readonly sleep?: (ms: number) => Promise<void>;
}
