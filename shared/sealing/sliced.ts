/** Payload of one item: DynamoDB allows 400 KB with keys and attribute names (design §4, sizes). */
export const SLICE_BYTES = 350_000;

/** One sealed value in slices of at most 350 KB, in order; at least one. They are views, not copies. */
export function sliceSealed(sealed: Uint8Array): Uint8Array[] {
  const slices: Uint8Array[] = [];
  for (let at = 0; at < sealed.length; at += SLICE_BYTES) slices.push(sealed.subarray(at, at + SLICE_BYTES));
  return slices.length === 0 ? [sealed] : slices;
}

/** A slice that is missing, doubled or out of order shows when the joined value is opened: `SealBroken`. */
export function joinSlices(slices: readonly Uint8Array[]): Uint8Array {
  const [only] = slices;
  if (slices.length === 1 && only !== undefined) return only;
  const joined = new Uint8Array(slices.reduce((size, slice) => size + slice.length, 0));
  let at = 0;
  for (const slice of slices) {
    joined.set(slice, at);
    at += slice.length;
  }
  return joined;
}
