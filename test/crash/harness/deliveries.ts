/**
 * How a message or a record arrives: one entry per delivery, each the ms it takes beyond its due time. `[]` is lost,
 * `[0, 5000]` arrives twice.
 */
export type Deliveries = () => readonly number[];

export const prompt: Deliveries = () => [0];

/** Nothing ever arrives. */
export const lost: Deliveries = () => [];

/** Some are lost, some come twice or three times, some late, in any order; `rng` gives numbers in [0, 1). */
export function troubled(rng: () => number, longestMs: number): Deliveries {
  return () => {
    const copies = rng() < 0.2 ? 0 : rng() < 0.6 ? 1 : rng() < 0.7 ? 2 : 3;
    // Cubed: most are nearly prompt, so that what comes late meets what is long over.
    return Array.from({ length: copies }, () => Math.floor(rng() ** 3 * longestMs));
  };
}
